// SPDX-License-Identifier: Apache-2.0
#include "porter/run/schedule.hpp"

#include <algorithm>
#include <cmath>

#include "agent_sample.hpp"

namespace porter {
namespace {

// Measured on one core of a 2.6 GHz server, in seconds. Evaluation, rounded up: per sample and
// touched parameter of one product, and per sample besides. Training, rounded down: per agent of a
// round, per coordinate of its update, per sample and parameter of its gradient.
constexpr double kProduct = 4e-11, kRow = 2.5e-8;
constexpr double kAgent = 5e-7, kUpdate = 1e-9, kGradient = 6e-11;
constexpr double kFreeSeconds = 2, kMostOfTraining = 1.0 / 9;  // a tenth of the run

// Rows that the average and the agents visit, the average's gradient as one more product.
double evaluation_seconds(const RunSize& size) {
  const std::size_t by_agents = measured_agents(size.agents) *
                                (measured_rows(size.train_rows, size.agents) +
                                 measured_test_rows(size.test_rows, size.train_rows, size.agents));
  const auto rows = static_cast<double>(2 * size.train_rows + size.test_rows + by_agents);
  return rows * (size.parameters_per_row * kProduct + kRow);
}

double training_seconds(const RunSize& size, std::uint32_t rounds) {
  const double gradient = static_cast<double>(size.batch) * size.parameters_per_row * kGradient;
  const double update = static_cast<double>(size.dim) * kUpdate;
  return rounds * static_cast<double>(size.agents) * (kAgent + gradient + update);
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
    const double allowed = std::max(kFreeSeconds, kMostOfTraining * training_seconds(size, rounds));
    const auto affordable =
        static_cast<std::size_t>(std::min(1e9, allowed / evaluation_seconds(size)));
    at = log_spaced(std::min<std::size_t>(schedule.count, affordable), rounds);
  } else if (schedule.kind == Schedule::Kind::log_all) {
    at = log_spaced(schedule.count, rounds);
  }
  at.push_back(rounds);
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  return at;
}

}  // namespace porter
