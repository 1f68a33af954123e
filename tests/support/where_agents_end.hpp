// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/vector_math.hpp"
#include "toy_network.hpp"

namespace porter {

/// |the mean gradient| at the agents' average after so many rounds, and how far they are from it.
inline std::pair<double, double> where_agents_end(const ToyNetwork& network, std::uint32_t rounds) {
  const auto toy = network.build();
  for (std::uint32_t round = 1; round <= rounds; ++round) toy->algorithm->step(round);
  const auto& X = toy->algorithm->iterates();
  const auto mean = mean_row(X);
  std::vector<double> gradient(mean.size(), 0.0);
  toy->model->evaluate(mean, toy->data, 0, toy->data.rows(), gradient);
  double apart = 0;
  for (std::size_t i = 0; i < X.agents(); ++i)
    apart = std::max(apart, std::sqrt(squared_distance(X.row(i), mean)));
  return {std::sqrt(squared_norm(gradient)) / static_cast<double>(toy->data.rows()), apart};
}

}  // namespace porter
