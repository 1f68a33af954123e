// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "audit/statistics.hpp"
#include "core/vector_math.hpp"
#include "models.hpp"
#include "target.hpp"

namespace porter {
namespace {

using Vector = std::vector<double>;

constexpr double kTests = 5;  // variance, mean, lag, agents, restart share the allowed error

struct Size {
  std::size_t rounds, phantoms;
};

// About 1e5 noise values: the standard deviation is then known to 0.2 %.
Size size_of(const AuditSetting& setting, std::size_t agents) {
  const std::size_t copies = std::max<std::size_t>(1, setting.augment.copies);
  const std::size_t samples = agents * setting.sampler.batch() * copies;
  const std::size_t rounds = std::clamp<std::size_t>(2'000'000 / samples, 64, 1000);
  return {rounds, std::clamp<std::size_t>(100'000 / (agents * rounds) + 1, 8, 512)};
}

// One row per agent: what its phantom coordinates showed, round after round. `life` counts the
// starts of the process; the setting's seed is the same in all.
Rows phantom_noise(const AuditSetting& setting, const AuditSubject& subject, const Size& size,
                   std::uint32_t life, ThreadPool& pool, const AuditProgress& progress) {
  const auto& problem = subject.problem;
  const PaddedModel model(problem.model, size.phantoms);
  const bool shared = setting.fault == Fault::shared_noise;
  auto options = planted_options(setting, model.dim());
  if (shared) {
    options.noise_stddev = 0;
    options.secure.reset();
  }
  GradientEstimator gradients({model, problem.train, problem.agents}, options, pool);
  Vector same(shared ? model.dim() : 0);
  Rows X(problem.agents, model.dim()), G(problem.agents, model.dim());
  Rows noise(problem.agents, size.rounds * size.phantoms);
  for (std::size_t t = 0; t < size.rounds; ++t) {
    const auto round = static_cast<std::uint32_t>(t + 1);
    gradients.estimate(X, round, G);
    RngStream(run_seed(setting.seed, life, false), Draw::noise, 0, round).fill_normal(same);
    for (std::size_t agent = 0; agent < problem.agents; ++agent) {
      if (shared) axpy(setting.sigma, same, G.row(agent));
      const auto dead = G.row(agent).subspan(problem.model.dim());
      std::copy(dead.begin(), dead.end(),
                noise.row(agent).subspan(t * size.phantoms, size.phantoms).begin());
      axpy(-subject.eta, G.row(agent), X.row(agent));
    }
    progress(static_cast<double>(t + 1) / static_cast<double>(size.rounds));
  }
  return noise;
}

// Standard normal where a and b are independent and centred.
double correlation_deviation(std::span<const double> a, std::span<const double> b) {
  const double scale = std::sqrt(squared_norm(a) * squared_norm(b));
  return scale == 0 ? 0 : dot(a, b) / scale * std::sqrt(static_cast<double>(a.size()));
}

AuditCheck deviation_check(std::string name, double deviation, double comparisons,
                           std::string note) {
  const double limit = two_sided_quantile((1 - kAuditConfidence) / kTests / comparisons);
  return {std::move(name), std::abs(deviation), limit, !(std::abs(deviation) <= limit),
          std::move(note)};
}

AuditCheck variance_check(const AuditSetting& setting, const Rows& noise) {
  const auto values = noise.flat();
  const auto n = static_cast<double>(values.size());
  const double variance = setting.sigma * setting.sigma, sum = squared_norm(values);
  return deviation_check("noise level off by (deviations)", chi_square_deviation(sum / variance, n),
                         1,
                         fmt::format("standard deviation {:.5g}, promised {:.5g}, {:.0f} values",
                                     std::sqrt(sum / n), setting.sigma, n));
}

AuditCheck mean_check(const Rows& noise) {
  const auto values = noise.flat();
  const Vector ones(values.size(), 1.0);
  return deviation_check("noise mean off by (deviations)", correlation_deviation(values, ones), 1,
                         "promised 0");
}

AuditCheck lag_check(const Rows& noise, std::size_t phantoms) {
  const std::size_t length = noise.dim() - phantoms;
  Vector before, after;
  for (std::size_t agent = 0; agent < noise.agents(); ++agent) {
    const auto row = noise.row(agent);
    before.insert(before.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(length));
    after.insert(after.end(), row.end() - static_cast<std::ptrdiff_t>(length), row.end());
  }
  return deviation_check("correlation of successive rounds (deviations)",
                         correlation_deviation(before, after), 1, "promised independent");
}

AuditCheck agents_check(const Rows& noise) {
  double largest = 0, pairs = 0;
  for (std::size_t i = 0; i < noise.agents(); ++i)
    for (std::size_t j = 0; j < i; ++j, ++pairs) {
      const double deviation = correlation_deviation(noise.row(i), noise.row(j));
      if (std::abs(deviation) > std::abs(largest)) largest = deviation;
    }
  return deviation_check("correlation between agents (deviations)", largest, std::max(1.0, pairs),
                         fmt::format("the largest of {:.0f} pairs", pairs));
}

AuditCheck restart_check(const AuditSetting& setting, const Rows& noise, const Rows& again) {
  const double deviation = correlation_deviation(noise.flat(), again.flat());
  auto check = deviation_check("correlation with the rounds after a restart (deviations)",
                               deviation, 1, "promised independent");
  if (setting.secure) return check;
  check.caught = false;
  check.note = "not promised: simulated noise repeats by design, it protects nobody";
  return check;
}

}  // namespace

AuditRung audit_noise(const AuditSetting& setting, const AuditSubject& subject, ThreadPool& pool,
                      const AuditProgress& progress) {
  return climb_rung(setting, 2, "noise", [&]() -> std::vector<AuditCheck> {
    const auto size = size_of(setting, subject.problem.agents);
    const auto noise = phantom_noise(setting, subject, size, 1, pool, half_of(progress, false));
    const auto again = phantom_noise(setting, subject, size, 2, pool, half_of(progress, true));
    return {variance_check(setting, noise), mean_check(noise), lag_check(noise, size.phantoms),
            agents_check(noise), restart_check(setting, noise, again)};
  });
}

}  // namespace porter
