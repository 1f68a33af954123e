// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "copy_watch.hpp"
#include "cut_ahead.hpp"
#include "message_link.hpp"
#include "surrogates.hpp"

namespace porter {

/// Compressed gossip with error feedback, for one or more vectors ("channels") that travel in one
/// message. A step is:
///
///   publish(S):   Q <- Q + C(S - Q)   at the agent and at its neighbours, from the same bytes
///   update:       gap(channel), the tile of (W - I)^T Q, moves the agent's tile
///
/// A method whose every step publishes what the update before it has left may hand that over tile
/// by tile (step_ahead): with many agents and long rows messages are then made while the states are
/// in the cache, and not a step later.
template <class Real = double>
class Gossip {
 public:
  /// The team outlives it.
  Gossip(const AlgorithmSetup& setup, const Team& team, const std::vector<Channel>& channels)
      : team_(team),
        link_(setup, team, setup.mask, channels),
        surrogates_(setup, team, link_, channels) {
    if (setup.exchange)
      watch_.emplace(*setup.exchange, link_, surrogates_, setup.rounds * setup.gossip);
  }

  /// Gossip step 1, 2, ...  For every hosted agent, on all threads, share(agent, publish), which
  /// calls publish({S of each channel}) once, or publish({}) to leave Q as it is where channels may
  /// be left out, and may then compute while the message travels; when the neighbours' messages are
  /// here, update(tile, gap) for every tile of every hosted agent.
  template <class Share, class Update>
  void step(std::uint32_t number, const Share& share, const Update& update) {
    start(number);
    team_.for_each([&](std::size_t agent) { share(agent, [&](States S) { publish(agent, S); }); });
    collect();
    mix(update);
  }

  /// Before the first of them: all steps of the method are those that follow.
  void allow_ahead(const AlgorithmSetup& setup) {
    if (CutAhead<Real>::suits(setup, team_, surrogates_))
      ahead_.emplace(setup, team_, link_, surrogates_);
  }
  /// As step with update(tile, gap, publish_next), which calls publish_next({tile of S of each
  /// channel}) with what the next step publishes. The message may be made then, and publish of the
  /// next step has nothing to do.
  template <class Share, class Update>
  void step_ahead(std::uint32_t number, const Share& share, const Update& update) {
    if (!ahead_)
      return step(number, share,
                  [&](const Tile& tile, const auto& gap) { update(tile, gap, [](States) {}); });
    start(number);
    const bool published = ahead_->start();
    if (!published) {
      team_.for_each([&](std::size_t agent) {
        share(agent, [&](States S) { ahead_->publish(agent, {S.begin(), S.size()}); });
      });
      ahead_->published();
    }
    collect();
    team_.for_each([&](std::size_t agent) {
      if (published) share(agent, [](States) {});
      ahead_->mix(agent, update);
    });
    ahead_->finish();
  }
  /// What to ask memory for while a tile is updated: the tile itself, or one that comes later.
  Tile fetched_with(const Tile& tile) const {
    if (ahead_) return ahead_->fetched_with(tile);
    return {tile.agent, tile.first, surrogates_.streams() ? 0 : tile.size};
  }
  /// Whether what update publishes in this step need not be stored: nobody asks for it before
  /// take_back. Its tiles then have kMostCut coordinates at most.
  static constexpr std::size_t kMostCut = CutAhead<Real>::kPart;
  bool cuts() const { return ahead_ && ahead_->cuts(); }
  /// Before anybody looks at Q or changes it, or the states. True: the next step publishes states
  /// that were not asked for after the last update, and that it may not have stored.
  bool take_back() { return ahead_ && ahead_->take_back(); }

  /// A step of which all know that nobody sends: no bytes, and nobody waits. Channels may be left
  /// out. Who is in another process gets an empty message, as that counts steps, too.
  void rest(std::uint32_t number) {
    if (!watch_) return link_.rest(number);
    step(
        number, [](std::size_t, const auto& publish) { publish({}); },
        [](const Tile&, const auto&) {});
  }

  /// The parts of a step, in this order; publish on any thread.
  using States = std::initializer_list<std::span<const Real>>;
  void start(std::uint32_t number) {
    if (watch_) watch_->start(number);
    link_.start(number);
    surrogates_.start(number);
  }
  void publish(std::size_t agent, States states) {
    for (std::size_t channel = 0; channel < link_.channels(); ++channel) {
      if (states.size() == 0)
        link_.leave_out(agent, channel);
      else
        link_.encode(agent, channel, states.begin()[channel], Q(channel, agent));
      surrogates_.move(channel, agent);
    }
    if (watch_) watch_->send(agent);
  }
  void collect() {
    link_.collect([&](const Exchange::Incoming& message) { watch_->take(message); });
    if (watch_) watch_->finish();
  }
  template <class Update>
  void mix(const Update& update) {
    surrogates_.mix(update);
    if (watch_) watch_->mixed();
  }

  /// After take_back.
  const BasicRows<Real>& Q(std::size_t channel) const { return surrogates_.Q(channel); }
  /// What neighbours hold of a hosted agent, also within a step.
  std::span<const Real> Q(std::size_t channel, std::size_t agent) const {
    return surrogates_.Q(channel, agent);
  }
  MessageLink& link() { return link_; }
  Traffic& traffic() { return link_.traffic(); }
  void append_state(std::vector<NamedRows>& state) {
    surrogates_.append_state(state);
    link_.append_state(state);
  }

 private:
  const Team& team_;
  MessageLink link_;
  Surrogates<Real> surrogates_;
  std::optional<CopyWatch<Real>> watch_;  // where agents are in other processes
  std::optional<CutAhead<Real>> ahead_;   // where messages are made ahead
};

}  // namespace porter
