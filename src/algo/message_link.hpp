// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "algo/bounds.hpp"
#include "algo/sweep_mask.hpp"
#include "comm/exchange.hpp"
#include "message.hpp"
#include "porter/algo/algorithm.hpp"
#include "round_clock.hpp"
#include "team.hpp"

namespace porter {

/// One of the vectors that travel together in a message.
struct Channel {
  Draw draw;                           ///< the public stream of its compressor
  std::span<const double> start = {};  ///< of an iterate, at every agent; empty: a tracker, zero
  bool may_be_left_out = false;        ///< an agent may send nothing, which is zero
  bool kept_on_arcs = false;           ///< Q stays on a directed graph that stays, too
};

/// One message per agent and gossip step, the same bytes to every neighbour:
///
/// start(step)
/// encode(agent, channel, ...), each channel; then send(agent)   any order, on any thread
/// collect()            the messages of all neighbours are here
/// message(channel, sender)
///
/// The sender, too, works with what the bytes say. Every vector is held against the public bounds
/// before it leaves and when it comes. With an exchange only hosted agents send; messages of the
/// others come through it.
class MessageLink {
 public:
  /// Error{usage} where the setup has no network. The team outlives it.
  MessageLink(const AlgorithmSetup& setup, const Team& team, Mask mask,
              const std::vector<Channel>& channels);

  /// Gossip step 1, 2, ...: it addresses the random draws.
  void start(std::uint32_t step);
  /// In the place of all that: nobody sends, and only the seconds of a gradient pass.
  void rest(std::uint32_t step);
  std::uint32_t step() const { return step_; }

  /// C(a - b), the difference rounded to float once.
  template <class Real>
  const Message& encode(std::size_t agent, std::size_t channel, std::span<const Real> a,
                        std::span<const Real> b) {
    const auto difference = [&](std::uint32_t j) { return a[j] - b[j]; };
    if (sweep_) return encode_swept(agent, channel, difference);
    if (subset_ > 0) {
      const auto positions = drawn(channel, agent);
      auto& made = message(channel, agent);
      if (dim_ <= kTileSize && short_message_at(positions, difference, ends_[channel].safe, made))
        return made;
      return encode_at(positions, agent, channel, difference);
    }
    compress_difference(compressor_, a, b, stream(channel, agent), message(channel, agent),
                        travels(agent));
    return checked(agent, channel);
  }
  /// Where the agents sweep: value(j) at the step's coordinates j.
  template <class Value>
  const Message& encode_swept(std::size_t agent, std::size_t channel, const Value& value) {
    return encode_at(positions_, agent, channel, value);
  }

  /// In the place of encode, where the channel may be left out: no bytes, and zero.
  void leave_out(std::size_t agent, std::size_t channel);

  /// Where the agents sweep: the step's coordinates, ascending, those of the values of every
  /// message; and the walk that they are of.
  std::span<const std::uint32_t> positions() const { return positions_; }
  const SweepMask& sweep() const { return *sweep_; }
  /// How many rounds have gone by since an earlier one visited them, or since the start.
  std::uint32_t rounds_since_visit() const {
    return sweep_->rounds_since_visit(block(), blocks_per_round_);
  }

  /// Nobody here needs the sender's messages: they are collected, and not decoded.
  void leave_unread(std::size_t sender) { unread_[sender] = true; }
  /// Nobody elsewhere decodes the hosted agent's messages: they only say that there is one.
  void announce_only(std::size_t agent) { announced_[agent] = true; }
  /// Whether somebody does.
  bool travels(std::size_t agent) const { return exchange_ != nullptr && !announced_[agent]; }
  /// With what else the message shall hold; its vectors are filled in here.
  void send(std::size_t agent, Exchange::Outgoing message = {});
  using Arrived = std::function<void(const Exchange::Incoming&)>;
  /// `arrived` is called after the vectors of a message have been decoded, if they are.
  void collect(const Arrived& arrived = [](const Exchange::Incoming&) {});

  std::size_t channels() const { return ends_.size(); }
  /// What a sender draws its message of a step from, and everybody who decodes it.
  RngStream stream(std::size_t channel, std::size_t sender, std::uint32_t step) const;
  double bound(std::size_t channel) const { return ends_[channel].bound; }
  /// The sender's latest.
  Message& message(std::size_t channel, std::size_t sender) {
    return ends_[channel].messages[sender];
  }
  const Message& message(std::size_t channel, std::size_t sender) const {
    return ends_[channel].messages[sender];
  }
  /// Whose messages move the agent in this step, and by how much: row `agent` of (W - I)^T,
  /// ascending.
  const std::vector<MixingWeight>& incoming(std::size_t agent) const { return incoming_[agent]; }
  /// Every message holds so many bytes beside its vectors.
  void expect_beside(std::size_t bytes) { bytes_beside_ = bytes; }
  Traffic& traffic() { return traffic_; }
  void append_state(std::vector<NamedRows>& state) {
    if (clock_) clock_->append_state(state);
  }

 private:
  struct End {
    Draw draw;
    double bound;  // of a message's norm
    double safe;   // a square below which no rounding takes a norm beyond the bound
    bool may_be_left_out;
    std::vector<Message> messages;          // per sender
    std::vector<std::uint32_t> drawn = {};  // this step's positions, agent by agent; see subset_
  };

  template <class Value>
  const Message& encode_at(std::span<const std::uint32_t> positions, std::size_t agent,
                           std::size_t channel, const Value& value) {
    message_at(positions, dim_, value, message(channel, agent), travels(agent));
    return checked(agent, channel);
  }
  std::span<const std::uint32_t> drawn(std::size_t channel, std::size_t agent) const {
    return std::span(ends_[channel].drawn).subspan(agent * subset_, subset_);
  }
  std::uint32_t block() const { return (step_ - 1) / steps_per_block_ + 1; }
  void weigh(std::uint32_t step);
  void draw_subsets();
  RngStream stream(std::size_t channel, std::size_t sender) const {
    return stream(channel, sender, step_);
  }
  const Message& checked(std::size_t agent, std::size_t channel) const;
  void decode(const Exchange::Incoming& incoming);
  void count_traffic();

  const Team& team_;
  const Compressor& compressor_;
  std::uint64_t seed_;
  std::size_t dim_;
  const std::optional<ChangingNetwork>& changing_;
  std::vector<std::vector<MixingWeight>> incoming_;
  Mask mask_;
  std::optional<SweepMask> sweep_;
  std::uint32_t steps_per_block_ = 1, blocks_per_round_;  // of the sweep
  std::span<const std::uint32_t> positions_;              // of this step, where the agents sweep
  std::size_t subset_ = 0;  // positions in each message, where start() draws those of all agents
  std::vector<std::uint32_t> everyone_;  // who they are: also those that are absent
  std::uint32_t step_ = 0;
  std::vector<std::size_t> receivers_;  // per sender
  Exchange* exchange_;
  std::vector<End> ends_;        // per channel
  std::vector<bool> unread_;     // per sender
  std::vector<bool> announced_;  // per agent: its vectors stay here
  std::size_t bytes_beside_ = 0;
  Traffic traffic_;
  std::optional<RoundClock> clock_;  // where seconds are modelled
};

}  // namespace porter
