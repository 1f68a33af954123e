// SPDX-License-Identifier: Apache-2.0
#include "worst_case.hpp"

#include <cmath>

namespace porter {
namespace {

// The smooth clip of this many tau is tau (1 - 1e-9).
constexpr double kFar = 1e9;

// log(1 - q + q exp(a)), a = shift s - shift^2 / 2
double log_mixture(double q, double shift, double s) {
  const double a = shift * (s - shift / 2);
  if (q == 1) return a;
  if (a > 0) return a + std::log(q + (1 - q) * std::exp(-a));
  return std::log1p(q * std::expm1(a));
}

}  // namespace

WorstCase::WorstCase(const AuditSetting& setting)
    : records_(setting.sampler.records()), sigma_(setting.sigma) {
  const auto b = static_cast<double>(setting.sampler.batch());
  const auto far = static_cast<float>(kFar * setting.clip.tau);
  const double unit = setting.clip.tau / b / sigma_;
  const bool fixed = setting.sampler.kind() == Sampler::fixed;
  const bool replace = setting.adjacency == Adjacency::replace;
  rate_ = b / static_cast<double>(records_);
  canary_with_ = far;
  canary_without_ = replace ? -far : 0;  // a zero adds nothing to a sum with a fixed divisor
  other_ = fixed ? -far : 0;
  base_ = fixed ? -setting.clip.tau : 0;
  shift_with_ = fixed ? 2 * unit : unit;
  shift_without_ = fixed || !replace ? 0 : -unit;
}

Dataset WorstCase::data(std::size_t agents, std::size_t canary, bool with) const {
  Dataset data;
  data.features = 1;
  data.values.assign(agents * records_, other_);
  data.values[canary] = this->canary(with);
  data.labels.assign(agents * records_, 0.0F);
  return data;
}

double WorstCase::score(double released) const {
  const double s = (released - base_) / sigma_;
  const double with = log_mixture(rate_, shift_with_, s);
  return shift_without_ == 0 ? with : with - log_mixture(rate_, shift_without_, s);
}

}  // namespace porter
