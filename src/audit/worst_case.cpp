// SPDX-License-Identifier: Apache-2.0
#include "worst_case.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/vector_math.hpp"

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

// Rounds whose factors are multiplied before one logarithm is taken. A factor 1 - q + q exp(a) is
// at least 1 - q, and at most kLargest or it goes by itself: no product leaves the range of double.
constexpr std::size_t kGroup = 8;
const double kLargest = std::exp(80.0);

// The sum of log_mixture over all s. Each factor is rounded to a unit, so a run of T rounds is off
// by about T units; in what is left of a difference from 1 nobody is interested.
double sum_of_log_mixtures(double q, double shift, std::span<const double> s) {
  constexpr std::size_t kBlock = 32 * kGroup;
  std::array<double, kBlock> buffer;
  double sum = 0;
  for (std::size_t first = 0; first < s.size(); first += kBlock) {
    const auto part = s.subspan(first, std::min(kBlock, s.size() - first));
    const auto x = std::span(buffer).first(part.size());
    for (std::size_t i = 0; i < part.size(); ++i) x[i] = shift * (part[i] - shift / 2);
    if (q == 1) {
      for (const double a : x) sum += a;
      continue;
    }
    exp_in_place(x);
    for (std::size_t i = 0; i < x.size(); i += kGroup) {
      const auto end = std::min(i + kGroup, x.size());
      double product = 1, largest = 0;
      for (std::size_t j = i; j < end; ++j) {
        const double factor = 1 - q + q * x[j];
        product *= factor;
        largest = std::max(largest, factor);
      }
      if (largest <= kLargest)
        sum += std::log(product);
      else
        for (std::size_t j = i; j < end; ++j) sum += log_mixture(q, shift, part[j]);
    }
  }
  return sum;
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

double WorstCase::run_score(std::span<double> released) const {
  for (double& y : released) y = (y - base_) / sigma_;
  const double with = sum_of_log_mixtures(rate_, shift_with_, released);
  return shift_without_ == 0 ? with : with - sum_of_log_mixtures(rate_, shift_without_, released);
}

}  // namespace porter
