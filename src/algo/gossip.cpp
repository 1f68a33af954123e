// SPDX-License-Identifier: Apache-2.0
#include "gossip.hpp"

#include <array>
#include <string>

#include "mix_rows.hpp"
#include "porter/algo/bounds.hpp"
#include "porter/core/error.hpp"
#include "porter/core/vector_math.hpp"

namespace porter {
namespace {

constexpr std::uint32_t kRebuildPeriod = 64;

// Whether additions at single positions are cheaper than sums over whole rows. Measured: a position
// takes about four cycles, a coordinate of a row a quarter of one if the rows of all agents fit the
// caches, and stored gaps are two more matrices to read and write.
bool should_store_gaps(std::size_t agents, std::size_t kept, std::size_t dim) {
  constexpr std::size_t kFewAgents = 32, kSparse = 32;
  return agents > kFewAgents || kept * kSparse < dim;
}

}  // namespace

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

template <class Real>
BasicGossip<Real>::BasicGossip(const AlgorithmSetup& setup, const Compressor& compressor,
                               std::vector<Channel> channels)
    : compressor_(compressor),
      seed_(setup.gradients.seed),
      mask_(setup.mask),
      last_step_(setup.rounds * setup.gossip),
      incoming_(incoming_weights(setup.neighbours())),
      hosted_(setup.hosted()),
      exchange_(setup.exchange) {
  const std::size_t agents = setup.neighbours().graph.nodes(), dim = setup.start.size();
  for (std::size_t i = 0; i < agents; ++i) degrees_.push_back(setup.neighbours().graph.degree(i));
  for (const auto agent : hosted_) incoming_to_hosted_.push_back(incoming_[agent]);
  if (mask_ == Mask::sweep) sweep_.emplace(seed_, dim, compressor.kept(dim).value());
  const std::size_t kept = compressor.kept(dim).value_or(dim);
  stores_gaps_ = should_store_gaps(agents, kept, dim);
  copies_lag_ = !stores_gaps_ || 16 * kept <= dim;  // a long backlog must be smaller than the copy
  const auto bounds = public_bounds(setup);
  auto known = hosted_;  // whose Q are here
  if (exchange_)
    known.insert(known.end(), exchange_->sources().begin(), exchange_->sources().end());
  for (const auto& channel : channels) {
    // Equal rows do not disagree: (W - I)^T 1 = 0, so the gap starts at zero whatever the start.
    BasicRows<Real> gap(stores_gaps_ ? agents : 0, dim);
    auto Q = channel.start.empty() ? BasicRows<Real>(agents, dim)
                                   : repeat_row<Real>(channel.start, agents, known);
    const double bound = channel.start.empty() ? bounds.tracker : bounds.iterate;
    lines_.push_back({channel.use, bound, std::move(Q), std::move(gap),
                      std::vector<Message>(agents), std::vector<Backlog>(exchange_ ? agents : 0)});
  }
}

template <class Real>
void BasicGossip<Real>::start(std::uint32_t step) {
  if (exchange_) start_exchange(step);
  step_ = step;
  rebuild_ = sizeof(Real) < sizeof(double) && step % kRebuildPeriod == 0;
  if (sweep_) positions_ = sweep_->positions(step);
}

template <class Real>
void BasicGossip<Real>::publish(std::size_t agent,
                                std::initializer_list<std::span<const Real>> states) {
  const auto* state = states.begin();
  for (auto& line : lines_) {
    const auto Q = line.Q.row(agent);
    const auto S = *state++;
    if (sweep_) {
      message_at(
          positions_, S.size(), [&](std::uint32_t j) { return S[j] - Q[j]; }, line.messages[agent]);
    } else {
      compress_difference(compressor_, S, Q, stream(line, agent), line.messages[agent]);
    }
    check_sent(line.messages[agent].decoded, line.bound, agent, step_);
    add_decoded(1.0, line.messages[agent], Q);  // Q <- Q + C(S - Q)
  }
  if (exchange_) send(agent);
}

// What a sender draws from, and everybody who decodes its message.
template <class Real>
RngStream BasicGossip<Real>::stream(const Line& line, std::size_t sender) const {
  const auto drawer = mask_ == Mask::own ? static_cast<std::uint32_t>(sender) : 0;
  return {seed_, line.use, drawer, step_};
}

template <class Real>
void BasicGossip<Real>::collect() {
  if (exchange_) receive();
  for (const auto& line : lines_)
    for (const auto agent : hosted_)
      traffic_.add(line.messages[agent].payload.size(), degrees_[agent]);
}

template <class Real>
std::span<const Real> BasicGossip<Real>::stored_gap(std::size_t channel, const Tile& tile) {
  auto& line = lines_[channel];
  const auto gap = tile.of(line.gap.row(tile.agent));
  if (rebuild_ && (unproven_.empty() || !unproven_[tile.agent])) {
    rebuild(line.Q, tile, gap);
    return gap;
  }
  for (const auto& [sender, weight] : incoming_[tile.agent])
    add_decoded(weight, line.messages[sender], tile.first, gap);
  return gap;
}

template <class Real>
void BasicGossip<Real>::sum_gaps(std::size_t first, std::size_t size, Gaps& gaps) const {
  const std::size_t channel_size = hosted_.size() * whole_lines<Real>(size);
  gaps.resize(lines_.size() * channel_size);
  for (std::size_t c = 0; c < lines_.size(); ++c)
    mix_rows<Real>(incoming_to_hosted_, lines_[c].Q, first, size,
                   std::span(gaps).subspan(c * channel_size, channel_size));
}

template <class Real>
void BasicGossip<Real>::rebuild(const BasicRows<Real>& Q, const Tile& tile,
                                std::span<Real> gap) const {
  std::array<double, kTileSize> sums{};
  const auto sum = std::span(sums).first(tile.size);
  for (const auto& [sender, weight] : incoming_[tile.agent])
    axpy(weight, tile.of(Q.row(sender)), sum);
  scaled_copy(1.0, sum, gap);
}

template <class Real>
void BasicGossip<Real>::append_state(std::vector<NamedRows>& state) {
  if (exchange_) catch_up_all();
  for (std::size_t c = 0; c < lines_.size(); ++c) {
    state.push_back({.name = concat("Q", c), .rows = &lines_[c].Q, .copied = true});
    if (stores_gaps_) state.push_back({concat("gap", c), &lines_[c].gap});
  }
}

template class BasicGossip<double>;
template class BasicGossip<float>;

}  // namespace porter
