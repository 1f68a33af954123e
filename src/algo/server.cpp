// SPDX-License-Identifier: Apache-2.0
#include "server.hpp"

namespace porter {

Server::Server(std::span<const double> start, std::size_t clients)
    : x(repeat_row(start, 1)), broadcast(x), messages(clients) {
  round_x();
}

std::vector<double> Server::mean_message() const {
  std::vector<double> mean(x.dim(), 0.0);
  const double weight = 1.0 / static_cast<double>(messages.size());
  for (const auto& message : messages) add_decoded(weight, message, mean);
  return mean;
}

void Server::answer() {
  round_x();
  for (const auto& message : messages) {
    traffic.message_bytes += message.bytes;
    traffic.link_bytes += message.bytes + sizeof(float) * x.dim();
  }
}

void Server::append_state(std::vector<NamedRows>& state) {
  state.push_back({"x", &x});
  state.push_back({"broadcast", &broadcast});
}

void Server::round_x() {
  for (std::size_t j = 0; j < x.dim(); ++j) broadcast.row(0)[j] = static_cast<float>(x.row(0)[j]);
}

}  // namespace porter
