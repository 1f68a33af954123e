// SPDX-License-Identifier: Apache-2.0
#include "run_size.hpp"

#include <algorithm>
#include <cmath>

#include "porter/core/error.hpp"

namespace porter {
namespace {

// Measured on one core of a 2.6 GHz server, in seconds. Evaluation, rounded up: per sample and
// parameter of one product, and per sample besides; of the average, in double, and of the agents'
// own points, which share a pass in float; and per value that is read. Training, rounded down: per
// agent of a round, per coordinate of its update and of its noise, per sample and parameter of its
// gradient; and loading a value.
constexpr double kProduct = 4e-11, kRow = 4e-8;
constexpr double kAgentProduct = 1.8e-11, kAgentRow = 1e-8;
constexpr double kRead = 3e-10;
constexpr double kAgent = 5e-7, kUpdate = 1.3e-9, kNoise = 1e-9, kGradient = 6e-11;
constexpr double kLoad = 1e-8;
constexpr double kMaxEvaluations = 1e7;    // which are rows of metrics, in memory
constexpr double kMaxOfTheRest = 1.0 / 9;  // a tenth of the run
// What nobody waits for: a short run on a small data set has a curve, too.
constexpr double kFreeSeconds = 0.2;

// Rows that the average and the agents visit, the average's gradient as one more product.
double evaluation_seconds(const RunSize& size) {
  const auto rows = static_cast<double>(size.train_rows + size.test_rows);
  const auto products = rows + static_cast<double>(size.train_rows);
  const auto by_agents = static_cast<double>(
      measured_agents(size.agents) *
      (measured_rows(size.train_rows, size.agents) +
       measured_test_rows(size.test_rows, size.train_rows, size.agents, size.dim)));
  const double values_per_row = static_cast<double>(size.values) / std::max(rows, 1.0);
  const double agent_product = size.agents_in_double ? kProduct : kAgentProduct;
  const double read = rows + by_agents / static_cast<double>(kPointsOfAReading);
  return products * (size.parameters_per_row * kProduct + kRow) +
         by_agents * (size.parameters_per_row * agent_product + kAgentRow) +
         read * values_per_row * kRead;
}

double training_seconds(const RunSize& size, std::uint32_t rounds) {
  const double gradient = static_cast<double>(size.batch) * size.parameters_per_row * kGradient;
  const double update = static_cast<double>(size.dim) * (kUpdate + (size.noised ? kNoise : 0));
  return rounds * static_cast<double>(size.agents) * (kAgent + gradient + update);
}

std::vector<std::uint32_t> log_spaced(std::size_t points, std::uint32_t rounds) {
  std::vector<std::uint32_t> at = {0};
  if (points < 3) return at;
  const auto steps = static_cast<double>(points - 2);
  for (double i = 0; i <= steps; ++i)
    at.push_back(static_cast<std::uint32_t>(std::lround(std::exp(std::log(rounds) * i / steps))));
  return at;
}

}  // namespace

std::vector<std::uint32_t> evaluation_rounds(const Schedule& schedule, std::uint32_t rounds,
                                             const RunSize& size) {
  const double most = schedule.kind == Schedule::Kind::every     ? rounds / double(schedule.count)
                      : schedule.kind == Schedule::Kind::log_all ? double(schedule.count)
                                                                 : 0;
  require(most <= kMaxEvaluations, ErrorKind::usage, "run.evaluate: expected at most ",
          kMaxEvaluations, " evaluations, found ", most);
  std::vector<std::uint32_t> at = {0};
  if (schedule.kind == Schedule::Kind::every) {
    for (std::uint32_t t = schedule.count; t < rounds; t += schedule.count) {
      at.push_back(t);
      if (rounds - t <= schedule.count) break;
    }
  } else if (schedule.kind == Schedule::Kind::log) {
    const double rest = static_cast<double>(size.values) * kLoad + training_seconds(size, rounds);
    const double allowed = std::max(kFreeSeconds, kMaxOfTheRest * rest);
    const auto affordable =
        static_cast<std::size_t>(std::min(kMaxEvaluations, allowed / evaluation_seconds(size)));
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
