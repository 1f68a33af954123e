// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "surrogates.hpp"

namespace porter {

/// Proves that both ends hold the same Q, and repairs copies that differ. In every eighth step and
/// in the last one messages carry a digest of the sender's Q. A copy that disagrees in step t is
/// reported; the messages of t + 1 ask for it, those of t + 2 bring it. Until then no stored gap is
/// built from that copy; gaps that are not stored have no other source, and the copies that they
/// are summed up from are compared on that way.
template <class Real>
class CopyWatch {
 public:
  /// All three outlive it. `last_step` of the run; 0: not known.
  CopyWatch(Exchange& exchange, MessageLink& link, Surrogates<Real>& surrogates,
            std::uint32_t last_step);

  /// Before the link and the surrogates start with it.
  void start(std::uint32_t step);
  /// A hosted agent's message, with what the others are to know or have asked for.
  void send(std::size_t agent);
  void take(const Exchange::Incoming& message);
  /// When the messages of a step are in.
  void finish();
  /// When the surrogates are mixed.
  void mixed();

 private:
  // A copy of Q that differs from its sender's.
  struct Dispute {
    std::uint32_t asked = 0;  // the last step whose message asks for it; 0: none yet
    std::uint32_t times = 0;
  };

  // What a neighbour asks for.
  struct Requests {
    std::uint32_t first = 0, times = 0;  // so often in the steps since the first
  };

  bool compares_copies() const;
  void count_request(std::uint32_t asker, std::uint32_t agent);
  void compare(std::uint32_t sender, std::uint64_t digest, std::uint64_t proof);
  void repair(const Exchange::Incoming& message);

  Exchange& exchange_;
  MessageLink& link_;
  Surrogates<Real>& surrogates_;
  std::uint32_t step_ = 0, last_step_;
  std::map<std::uint32_t, Dispute> wrong_;  // by sender
  std::vector<std::uint32_t> wanted_;       // of them, those that this step's messages ask for
  std::set<std::uint32_t> replies_, replies_next_;  // hosted agents that were asked for their Q
  std::map<std::pair<std::uint32_t, std::uint32_t>, Requests> requests_;  // by asker and agent
  std::set<std::uint32_t> repaired_;               // senders whose copies this step has replaced
  std::map<std::uint32_t, std::uint64_t> claims_;  // digests to compare when mixed, by sender
};

}  // namespace porter
