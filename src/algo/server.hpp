// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "message.hpp"
#include "porter/algo/algorithm.hpp"

namespace porter {

/// The server of a method with clients: its iterate, and the round's message of every client.
struct Server {
  Server(std::span<const double> start, std::size_t clients);

  std::vector<double> mean_message() const;
  /// The end of a round: clients get x, and what has travelled is counted.
  void answer();
  void append_state(std::vector<NamedRows>& state);

  Rows x, broadcast;  ///< in double, and as clients get it, in float
  std::vector<Message> messages;
  Traffic traffic;

 private:
  void round_x();
};

}  // namespace porter
