// SPDX-License-Identifier: Apache-2.0
#include "porter/run/schedule.hpp"

#include <algorithm>
#include <cmath>

#include "agent_sample.hpp"

namespace porter {
namespace {

// Measured on one core of a 2.6 GHz server: seconds per sample and touched parameter in matrix
// products, per sample besides, per agent and coordinate of a round, per sample and parameter of a
// stochastic gradient.
constexpr double kProduct = 2e-10, kRow = 5e-8, kUpdate = 2e-8, kGradient = 1e-9;
constexpr double kFreeSeconds = 2;
constexpr std::size_t kFewestPoints = 12;

// Rows that the average and the agents visit.
double visited_rows(std::size_t rows, std::size_t agents) {
  const auto by_agents = measured_agents(agents) * measured_rows(rows, agents);
  return static_cast<double>(rows + std::max(rows, by_agents));
}

double evaluation_seconds(const RunSize& size) {
  const double rows =
      visited_rows(size.train_rows, size.agents) + visited_rows(size.test_rows, size.agents);
  return rows * (size.parameters_per_row * kProduct + kRow);
}

double training_seconds(const RunSize& size, std::uint32_t rounds) {
  const double gradient = static_cast<double>(size.batch) * size.parameters_per_row * kGradient;
  const double update = static_cast<double>(size.dim) * kUpdate;
  return rounds * static_cast<double>(size.agents) * (gradient + update);
}

std::vector<std::uint32_t> log_spaced(std::size_t points, std::uint32_t rounds) {
  std::vector<std::uint32_t> at = {0};
  const double steps = static_cast<double>(std::max<std::size_t>(points, 3) - 2);
  for (double i = 0; i <= steps; ++i)
    at.push_back(static_cast<std::uint32_t>(std::lround(std::exp(std::log(rounds) * i / steps))));
  return at;
}

}  // namespace

std::vector<std::uint32_t> evaluation_rounds(const Schedule& schedule, std::uint32_t rounds,
                                             const RunSize& size) {
  std::vector<std::uint32_t> at = {0};
  if (schedule.kind == Schedule::Kind::every) {
    for (std::uint32_t t = schedule.count; t < rounds; t += schedule.count) {
      at.push_back(t);
      if (rounds - t <= schedule.count) break;
    }
  } else if (schedule.kind == Schedule::Kind::log) {
    const double allowed = std::max(kFreeSeconds, training_seconds(size, rounds));
    const auto affordable =
        static_cast<std::size_t>(std::min(1e9, allowed / evaluation_seconds(size)));
    const auto points = std::min<std::size_t>(schedule.count, std::max(kFewestPoints, affordable));
    at = log_spaced(points, rounds);
  }
  at.push_back(rounds);
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  return at;
}

}  // namespace porter
