// SPDX-License-Identifier: Apache-2.0
#include "target.hpp"

#include <cmath>

#include "core/vector_math.hpp"

namespace porter {
namespace {

double planted_sigma(const AuditSetting& setting) {
  const double sigma = setting.sigma;
  if (setting.fault == Fault::sigma_over_b)
    return sigma / static_cast<double>(setting.sampler.batch());
  if (setting.fault == Fault::variance) return sigma < 1 ? sigma * sigma : std::sqrt(sigma);
  return sigma;
}

GradientOptions released_options(const AuditSetting& setting, std::size_t dim) {
  auto options = planted_options(setting, dim);
  if (setting.fault == Fault::shared_noise) {
    options.noise_stddev = 0;
    options.secure.reset();
  }
  return options;
}

}  // namespace

double promised_sensitivity(const AuditSetting& setting) {
  const double records = setting.adjacency == Adjacency::replace ? 2 : 1;
  return records * setting.clip.tau / static_cast<double>(setting.sampler.batch());
}

GradientOptions seeded_options(const AuditSetting& setting) {
  return {
      .sampler = setting.sampler,
      .clip = setting.clip,
      .clip_target = setting.fault == Fault::batch_clip ? ClipTarget::batch : setting.clip_target,
      .noise_stddev = planted_sigma(setting),
      .seed = setting.seed};
}

GradientOptions planted_options(const AuditSetting& setting, std::size_t dim) {
  auto options = seeded_options(setting);
  // Noise that a restart repeats is what a seed gives where secret noise was promised.
  if (setting.secure && setting.fault != Fault::reused_noise)
    options.secure.emplace(options.noise_stddev, promised_sensitivity(setting), dim);
  return options;
}

ReleasedGradients::ReleasedGradients(const AuditSetting& setting, const Problem& problem,
                                     std::uint32_t life, ThreadPool& pool)
    : estimator_(problem, released_options(setting, problem.model.dim()), pool),
      shared_(setting.fault == Fault::shared_noise),
      sigma_(setting.sigma),
      shared_seed_(run_seed(setting.seed, life, false)) {}

void ReleasedGradients::estimate(const Rows& X, std::uint32_t round, Rows& G) {
  estimator_.estimate(X, round, G);
  if (!shared_) return;
  std::vector<double> noise(G.dim());
  RngStream(shared_seed_, Draw::noise, 0, round).fill_normal(noise);
  for (std::size_t agent = 0; agent < G.agents(); ++agent) axpy(sigma_, noise, G.row(agent));
}

std::uint64_t run_seed(std::uint64_t seed, std::size_t run, bool with_canary) {
  return RngStream(seed, Draw::test, with_canary ? 1 : 0, static_cast<std::uint32_t>(run))
      .next_u64();
}

}  // namespace porter
