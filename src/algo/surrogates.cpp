// SPDX-License-Identifier: Apache-2.0
#include "surrogates.hpp"

#include <array>
#include <cmath>
#include <cstring>

#include "algo/gaps.hpp"
#include "comm/replica_digest.hpp"
#include "core/vector_math.hpp"
#include "core/vectors.hpp"
#include "mix_rows.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

// How far an incremental gap may be from its Q, relative to the sum of magnitudes, by rounding.
template <class Real>
constexpr double kRounding = sizeof(Real) < sizeof(double) ? 1e-4 : 1e-9;

// Brings values to the second-level cache, by reading them: memory answers plain loads, line after
// line, faster than prefetches.
template <class Real>
void touch(std::span<const Real> values) {
  const auto* const from = values.data();
  const std::size_t size = values.size();
  [[maybe_unused]] const volatile Real read = with_vectors([=]<Width lanes>() PORTER_INLINE {
    constexpr std::size_t kSize = lanes * sizeof(double) / sizeof(Real);
    Register<Real, kSize> sums = {}, part;
    for (std::size_t i = 0; i + kSize <= size; i += kSize) {
      std::memcpy(&part, from + i, sizeof part);
      sums += part;
    }
    Real sum = 0;
    for (std::size_t lane = 0; lane < kSize; ++lane) sum += sums[lane];
    return sum;
  });
}

}  // namespace

template <class Real>
Surrogates<Real>::Surrogates(const AlgorithmSetup& setup, const Team& team, MessageLink& link,
                             const std::vector<Channel>& channels)
    : team_(team),
      link_(link),
      dim_(setup.start.size()),
      forgets_(team.changing &&
               !(stays(*team.changing) && std::ranges::all_of(channels, &Channel::kept_on_arcs))),
      unproven_(team.agents) {
  require(!forgets_ || setup.compressor.rho(dim_) == 1.0, ErrorKind::usage,
          "in a network that changes messages are whole states, which a compressor does not send");
  for (const auto agent : team.hosted) incoming_to_hosted_.push_back(link.incoming(agent));
  const std::size_t kept = setup.compressor.kept(dim_).value_or(dim_);
  stores_gaps_ = !forgets_ && should_store_gaps<Real>(team.agents, kept, dim_);
  copies_lag_ = !stores_gaps_ || 16 * kept <= dim_;  // a long backlog must be smaller than the copy
  if (setup.exchange && are_few(team.agents)) share(*setup.exchange, channels.size(), kept);
  if (setup.exchange)
    for (const auto sender : setup.exchange->sources())
      shares(sender) ? link_.leave_unread(sender) : copied_.push_back(sender);
  if (shared_)
    for (const auto agent : setup.exchange->hosted())
      if (setup.exchange->all_listeners(agent, [&](auto other) { return shares(other); }))
        link_.announce_only(agent);
  auto known = team.hosted;  // whose Q are in the matrices
  known.insert(known.end(), copied_.begin(), copied_.end());
  for (const auto& channel : channels) {
    // Equal rows do not disagree: (W - I)^T 1 = 0, so the gap starts at zero whatever the start. On
    // arcs one way some receive more than they give, and theirs is that share of the start.
    BasicRows<Real> gap(stores_gaps_ ? team.agents : 0, dim_);
    if (stores_gaps_ && team.changing && !channel.start.empty())
      for (const auto agent : team.hosted) {
        double share = 0;
        for (const auto& [sender, weight] : link.incoming(agent)) share += weight;
        for (std::size_t j = 0; j < dim_; ++j)
          gap.row(agent)[j] = static_cast<Real>(share * channel.start[j]);
      }
    auto Q = channel.start.empty() ? BasicRows<Real>(team.agents, dim_)
                                   : repeat_row<Real>(channel.start, team.agents, known);
    auto& state = channels_.emplace_back();
    state.Q = std::move(Q);
    state.gap = std::move(gap);
    state.backlogs.resize(copied_.empty() ? 0 : team.agents);
    state.previous.resize(shared_ ? team.agents : 0);
    for (std::size_t i = 0; i < team.agents; ++i) state.rows.push_back(state.Q.row(i).data());
  }
}

template <class Real>
void Surrogates<Real>::share(Exchange& exchange, std::size_t channels, std::size_t most) {
  const auto rows = SharedRows<Real>::bytes(channels, dim_);
  const auto messages = stores_gaps_ ? SharedMessages::bytes(channels, most, dim_) : 0;
  const auto memory = exchange.share(rows + messages);
  if (!memory) return;
  shared_.emplace(memory, dim_);
  if (stores_gaps_) shared_messages_.emplace(memory, rows, most, dim_);
}

template <class Real>
void Surrogates<Real>::start(std::uint32_t step) {
  rebuild_ = sizeof(Real) < sizeof(double) && step % kRebuildPeriod == 0;
  goes_on_ = step == step_ + 1;
  step_ = step;
  if (shared_) start_shared();
  if (forgets_) forget();
  for (std::size_t c = 0; c < channels_.size(); ++c)
    for (const auto sender : copied_) {  // the link's place is for the next message
      auto& backlog = channels_[c].backlogs[sender];
      if (!std::exchange(backlog.latest, false)) continue;
      backlog.kept.resize(std::max(backlog.kept.size(), backlog.older + 1));
      std::swap(backlog.kept[backlog.older++], link_.message(c, sender));
    }
}

// Q of the last step is where others read it, or in the matrix if it comes from outside: at the
// start, and after a restore.
template <class Real>
void Surrogates<Real>::start_shared() {
  const bool lent = std::exchange(lent_, false);
  for (std::size_t c = 0; c < channels_.size(); ++c)
    for (const auto agent : team_.hosted) {
      auto& state = channels_[c];
      std::swap(state.previous[agent], link_.message(c, agent));
      if (!lent) continue;
      // Others may still read the row; after a restore nobody does.
      const auto row = shared_->row(c, agent, step_ - 1);
      const auto given = state.Q.row(agent);
      if (state.rows[agent] == row.data() &&
          std::memcmp(row.data(), given.data(), row.size_bytes()) == 0)
        continue;
      std::ranges::copy(given, row.begin());
      state.rows[agent] = row.data();
      goes_on_ = false;
    }
}

template <class Real>
void Surrogates<Real>::move(std::size_t channel, std::size_t agent) {
  auto& state = channels_[channel];
  const auto& message = link_.message(channel, agent);
  if (!shared_) return add_decoded(1.0, message, state.Q.row(agent));
  const auto row = shared_->row(channel, agent, step_);
  if (!goes_on_) std::ranges::copy(Q(channel, agent), row.begin());
  // What was read by others is far away, and comes faster line after line.
  for (std::size_t first = 0; first < dim_; first += kCopyStretch) {
    const auto part = row.subspan(first, std::min(kCopyStretch, dim_ - first));
    touch<Real>(part);
    if (goes_on_) add_decoded(1.0, state.previous[agent], first, part);
    add_decoded(1.0, message, first, part);
  }
  state.rows[agent] = row.data();
  if (shared_messages_) shared_messages_->put(channel, agent, step_, message.decoded);
  shared_->sync();
}

template <class Real>
void Surrogates<Real>::arrived(std::size_t sender) {
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    if (shares(sender)) {
      channels_[c].rows[sender] = shared_->row(c, sender, step_).data();
      continue;
    }
    auto& backlog = channels_[c].backlogs[sender];
    backlog.latest = true;
    if (copies_lag_ && !rebuild_) continue;
    catch_up(c, sender, 0, dim_);
    backlog.clear();
  }
}

template <class Real>
std::span<const Real> Surrogates<Real>::stored_gap(std::size_t channel, const Tile& tile,
                                                   Gaps& gaps) {
  auto& state = channels_[channel];
  const auto gap = tile.of(state.gap.row(tile.agent));
  if (rebuild_ && !unproven_[tile.agent]) {
    rebuild(state.rows, tile, gap);
    return gap;
  }
  // Messages go to all places of the tile, time and again, so it is brought to a place of its own
  // first: memory is read in one go, and matrices whose rows have the same places in the caches do
  // not drive each other out.
  const auto near = streams() ? std::span(gaps).subspan(channel * kTileSize, tile.size) : gap;
  if (streams()) scaled_copy(Real{1}, gap, near);
  for (const auto& [sender, weight] : link_.incoming(tile.agent))
    if (shares(sender))
      add_decoded(weight, shared_messages_->get(channel, sender, step_), tile.first, near);
    else
      add_decoded(weight, link_.message(channel, sender), tile.first, near);
  if (streams()) scaled_copy(Real{1}, near, gap);
  return near;
}

template <class Real>
void Surrogates<Real>::sum_gaps(std::size_t first, std::size_t size, Gaps& gaps) {
  const std::size_t channel_size = team_.hosted.size() * whole_lines<Real>(size);
  gaps.resize(channels_.size() * channel_size);
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    for (std::size_t i = 0; i < copied_.size(); ++i) {
      catch_up(c, copied_[i], first, size);
      if (proving_)
        measured_[place_of(first / kCopyStretch, c, i)] = measure(c, copied_[i], first, size);
    }
    mix_rows<Real>(incoming_to_hosted_, channels_[c].rows, first, size,
                   std::span(gaps).subspan(c * channel_size, channel_size),
                   ahead_of(c, first + size));
  }
}

// The next channel's copies of a stretch, then those of the stretch that begins there.
template <class Real>
Ahead<Real> Surrogates<Real>::ahead_of(std::size_t channel, std::size_t end) const {
  if (copied_.empty()) return {};
  const bool last = channel + 1 == channels_.size();
  if (last && end == dim_) return {};
  const std::size_t begin = (end - 1) / kCopyStretch * kCopyStretch;
  return {channels_[last ? 0 : channel + 1].rows, last ? end : begin};
}

template <class Real>
void Surrogates<Real>::rebuild(std::span<const Real* const> rows, const Tile& tile,
                               std::span<Real> gap) const {
  std::array<double, kTileSize> sums{};
  const auto sum = std::span(sums).first(tile.size);
  for (const auto& [sender, weight] : link_.incoming(tile.agent))
    axpy(weight, tile.of(std::span(rows[sender], dim_)), sum);
  scaled_copy(1.0, sum, gap);
}

// Q <- Q + C(S - Q) for some tiles, message by message, so the copy has the bits of its original.
template <class Real>
void Surrogates<Real>::catch_up(std::size_t channel, std::size_t sender, std::size_t first,
                                std::size_t size) {
  const auto& backlog = channels_[channel].backlogs[sender];
  if (backlog.older == 0 && !backlog.latest) return;
  for (const std::size_t end = first + size; first < end; first += kCopyStretch) {
    const auto part =
        channels_[channel].Q.row(sender).subspan(first, std::min(kCopyStretch, end - first));
    touch<Real>(part);
    for (std::size_t i = 0; i < backlog.older; ++i) add_decoded(1.0, backlog.kept[i], first, part);
    if (backlog.latest) add_decoded(1.0, link_.message(channel, sender), first, part);
  }
}

template <class Real>
void Surrogates<Real>::caught_up() {
  for (auto& channel : channels_)
    for (const auto sender : copied_) channel.backlogs[sender].clear();
}

template <class Real>
void Surrogates<Real>::catch_up_all() {
  for (std::size_t c = 0; c < channels_.size(); ++c)
    for (const auto sender : copied_) catch_up(c, sender, 0, dim_);
  caught_up();
}

template <class Real>
std::uint64_t Surrogates<Real>::digest(std::size_t agent) const {
  std::uint64_t sum = 0;
  for (std::uint32_t c = 0; c < channels_.size(); ++c) sum += replica_digest(Q(c, agent), c);
  return sum;
}

template <class Real>
typename Surrogates<Real>::Measure Surrogates<Real>::measure(std::size_t channel,
                                                             std::size_t sender, std::size_t first,
                                                             std::size_t size) const {
  const auto part = Q(channel, sender).subspan(first, size);
  return {squared_norm(part), replica_digest(part, static_cast<std::uint32_t>(channel), first)};
}

// Stretch by stretch: a copy is read from memory once for all that is done to it.
template <class Real>
std::uint64_t Surrogates<Real>::proof(std::size_t sender) {
  Measure all;
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    all.squares = 0;
    for (std::size_t first = 0; first < dim_; first += kCopyStretch) {
      const std::size_t size = std::min(kCopyStretch, dim_ - first);
      catch_up(c, sender, first, size);
      all += measure(c, sender, first, size);
    }
    channels_[c].backlogs[sender].clear();
    check_received(std::sqrt(all.squares), link_.bound(c), link_.step());
  }
  return all.digest;
}

template <class Real>
std::uint64_t Surrogates<Real>::mixed_proof(std::size_t sender) const {
  const auto copy = static_cast<std::size_t>(std::ranges::find(copied_, sender) - copied_.begin());
  Measure all;
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    all.squares = 0;
    for (std::size_t stretch = 0; stretch < stretches(); ++stretch)
      all += measured_[place_of(stretch, c, copy)];
    check_received(std::sqrt(all.squares), link_.bound(c), link_.step());
  }
  return all.digest;
}

template <class Real>
void Surrogates<Real>::replace(std::size_t sender,
                               std::span<const std::span<const std::byte>> dense) {
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    ByteReader in(dense[c]);
    for (auto& q : channels_[c].Q.row(sender)) q = static_cast<Real>(in.get<double>());
    channels_[c].backlogs[sender].clear();  // it has them all
  }
}

template <class Real>
std::size_t Surrogates<Real>::mend_gaps(const std::set<std::uint32_t>& repaired) {
  if (repaired.empty() || !stores_gaps_) return 0;
  catch_up_all();
  std::size_t mended = 0;
  for (const auto agent : team_.hosted) {
    const auto hears = [&](const MixingWeight& w) { return repaired.contains(w.node); };
    if (std::ranges::none_of(link_.incoming(agent), hears)) continue;
    for (auto& channel : channels_)
      for (std::size_t j = 0; j < dim_; ++j) {
        double sum = 0, magnitude = 0;
        for (const auto& [sender, weight] : link_.incoming(agent)) {
          const double term = weight * double{channel.rows[sender][j]};
          sum += term;
          magnitude += std::abs(term);
        }
        auto& gap = channel.gap.row(agent)[j];
        if (std::abs(sum - double{gap}) <= kRounding<Real> * magnitude) continue;
        gap = static_cast<Real>(sum);
        ++mended;
      }
  }
  return mended;
}

template <class Real>
void Surrogates<Real>::forget() {
  incoming_to_hosted_.clear();
  for (const auto agent : team_.hosted) {
    incoming_to_hosted_.push_back(link_.incoming(agent));
    for (auto& channel : channels_) std::ranges::fill(channel.Q.row(agent), Real{0});
  }
}

template <class Real>
void Surrogates<Real>::append_state(std::vector<NamedRows>& state) {
  if (forgets_) return;
  catch_up_all();
  if (shared_ && !std::exchange(lent_, true))
    for (std::size_t c = 0; c < channels_.size(); ++c)
      for (const auto agent : team_.hosted)
        std::ranges::copy(Q(c, agent), channels_[c].Q.row(agent).begin());
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    state.push_back({.name = concat("Q", c), .rows = &channels_[c].Q, .copied = true});
    if (stores_gaps_) state.push_back({concat("gap", c), &channels_[c].gap});
  }
}

template class Surrogates<double>;
template class Surrogates<float>;

}  // namespace porter
