// SPDX-License-Identifier: Apache-2.0
#include "message_link.hpp"

#include <cassert>
#include <numeric>

#include "algo/gaps.hpp"
#include "core/small_subsets.hpp"

namespace porter {

std::vector<std::vector<MixingWeight>> incoming_weights(const Network& network) {
  std::vector<std::vector<MixingWeight>> incoming;
  const auto columns = network.mixing.weights.transposed();
  for (std::size_t i = 0; i < columns.nodes(); ++i) {
    auto& row = incoming.emplace_back();
    for (auto [j, weight] : columns.row(i)) {
      if (i == j) weight -= 1;
      if (weight != 0) row.push_back({j, weight});
    }
  }
  return incoming;
}

MessageLink::MessageLink(const AlgorithmSetup& setup, const Team& team, Mask mask,
                         const std::vector<Channel>& channels)
    : team_(team),
      compressor_(setup.compressor),
      seed_(setup.gradients.seed),
      dim_(setup.start.size()),
      changing_(setup.neighbours().changing),
      incoming_(incoming_weights(setup.neighbours())),
      mask_(mask),
      blocks_per_round_(setup.gossip),
      exchange_(setup.exchange),
      unread_(incoming_.size()),
      announced_(incoming_.size()) {
  const auto& graph = setup.neighbours().graph;
  for (std::size_t i = 0; i < graph.nodes(); ++i) receivers_.push_back(graph.degree(i));
  if (changing_ && stays(*changing_)) weigh(1);
  if (mask_ == Mask::sweep) {
    const auto kept = compressor_.kept(dim_);
    require(kept.has_value(), ErrorKind::usage,
            "a sweep needs a compressor that keeps a number of entries, such as random_k:0.05");
    sweep_.emplace(seed_, dim_, *kept, setup.dense);
    if (setup.acceleration != Acceleration::none) steps_per_block_ = setup.gossip;
    blocks_per_round_ = setup.gossip / steps_per_block_;
  }
  if (const auto& pace = setup.neighbours().pace)
    clock_.emplace(*pace, graph.nodes(), seed_, setup.gossip);
  const auto bounds = public_bounds(setup);
  for (const auto& channel : channels) {
    const double bound = channel.start.empty() ? bounds.tracker : bounds.iterate;
    ends_.push_back({channel.draw, bound, (1 - 1e-9) * bound * bound, channel.may_be_left_out,
                     std::vector<Message>(graph.nodes())});
  }
  const auto subset = compressor_.plain_subset(dim_);
  if (mask_ != Mask::own || exchange_ || !subset || *subset > kSmallSubset) return;
  subset_ = *subset;
  everyone_.resize(team_.agents);
  std::iota(everyone_.begin(), everyone_.end(), 0U);
  for (auto& end : ends_) end.drawn.resize(subset_ * everyone_.size());
}

void MessageLink::start(std::uint32_t step) {
  step_ = step;
  if (changing_ && !stays(*changing_)) weigh(step);
  if (sweep_) positions_ = sweep_->positions(block());
  if (subset_ > 0) draw_subsets();
}

void MessageLink::weigh(std::uint32_t step) {
  auto weights = changing_->weights(step);
  incoming_ = std::move(weights.incoming);
  receivers_ = std::move(weights.receivers);
}

void MessageLink::rest(std::uint32_t step) {
  if (clock_)
    traffic_.seconds =
        clock_->step(step, team_.hosted, {}, std::vector<std::uint64_t>(team_.agents));
}

// Of short messages the draw is most of the work, and costs a fraction for many agents together.
void MessageLink::draw_subsets() {
  constexpr std::size_t kPiece = 512;  // agents; more than one piece is worth handing out
  team_.pool.parallel_for((everyone_.size() + kPiece - 1) / kPiece, [&](std::size_t piece) {
    const std::size_t first = piece * kPiece, count = std::min(kPiece, everyone_.size() - first);
    for (auto& end : ends_)
      choose_each(subset_, dim_, seed_, end.draw, std::span(everyone_).subspan(first, count), step_,
                  std::span(end.drawn).subspan(first * subset_, count * subset_));
  });
}

RngStream MessageLink::stream(std::size_t channel, std::size_t sender, std::uint32_t step) const {
  const auto drawer = mask_ == Mask::own ? static_cast<std::uint32_t>(sender) : 0;
  return {seed_, ends_[channel].draw, drawer, step};
}

const Message& MessageLink::checked(std::size_t agent, std::size_t channel) const {
  const auto& sent = message(channel, agent);
  check_sent(sent.decoded, bound(channel), agent, step_);
  return sent;
}

void MessageLink::leave_out(std::size_t agent, std::size_t channel) {
  assert(ends_[channel].may_be_left_out);
  make_silent(message(channel, agent));
}

void MessageLink::send(std::size_t agent, Exchange::Outgoing outgoing) {
  if (!exchange_) return;
  std::vector<std::span<const std::byte>> vectors;
  for (const auto& end : ends_)
    vectors.push_back(travels(agent) ? std::span<const std::byte>(end.messages[agent].payload)
                                     : std::span<const std::byte>());
  outgoing.vectors = vectors;
  exchange_->post(step_, static_cast<std::uint32_t>(agent), outgoing);
}

void MessageLink::collect(const Arrived& arrived) {
  if (exchange_)
    exchange_->collect(step_, ends_.size(), [&](const Exchange::Incoming& incoming) {
      if (!unread_[incoming.sender]) decode(incoming);
      arrived(incoming);
    });
  count_traffic();
}

void MessageLink::count_traffic() {
  std::vector<std::uint64_t> sent(clock_ ? team_.agents : 0);  // by each agent, every copy
  for (const auto agent : team_.hosted) {
    if (changing_ && receivers_[agent] == 0) continue;  // who meets nobody does not send
    std::uint64_t bytes = bytes_beside_;
    for (const auto& end : ends_) bytes += end.messages[agent].bytes;
    traffic_.add(bytes, receivers_[agent]);
    if (clock_) sent[agent] = bytes * receivers_[agent];
  }
  if (clock_) traffic_.seconds = clock_->step(step_, team_.hosted, incoming_, sent);
}

void MessageLink::decode(const Exchange::Incoming& incoming) {
  for (std::size_t channel = 0; channel < ends_.size(); ++channel) {
    const auto bytes = incoming.vectors[channel];
    auto& taken = message(channel, incoming.sender);
    auto& decoded = taken.decoded;
    if (bytes.empty() && ends_[channel].may_be_left_out) {
      make_silent(taken);
    } else if (sweep_) {
      decoded.indices.assign(positions_.begin(), positions_.end());
      unseal_floats(bytes, dim_, decoded);
    } else {
      compressor_.decode(bytes, dim_, stream(channel, incoming.sender), decoded);
    }
    check_received(decoded, bound(channel), step_);
  }
}

}  // namespace porter
