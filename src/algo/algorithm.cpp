// SPDX-License-Identifier: Apache-2.0
#include "porter/algo/algorithm.hpp"

#include <numeric>

#include "comm/exchange.hpp"
#include "porter/core/error.hpp"

namespace porter {

std::vector<std::uint32_t> AlgorithmSetup::hosted() const {
  if (exchange != nullptr) return exchange->hosted();
  std::vector<std::uint32_t> all(problem.agents);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

const Network& AlgorithmSetup::neighbours() const {
  require(network != nullptr, ErrorKind::usage,
          "a method whose agents talk to neighbours needs a network");
  return *network;
}

}  // namespace porter
