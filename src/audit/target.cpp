// SPDX-License-Identifier: Apache-2.0
#include "target.hpp"

#include <chrono>
#include <cmath>

#include "privacy/secure_noise.hpp"

namespace porter {
namespace {

double planted_sigma(const AuditSetting& setting) {
  const double sigma = setting.sigma;
  if (setting.fault == Fault::sigma_over_b)
    return sigma / static_cast<double>(setting.sampler.batch());
  if (setting.fault == Fault::variance) return sigma < 1 ? sigma * sigma : std::sqrt(sigma);
  return sigma;
}

}  // namespace

GradientOptions seeded_options(const AuditSetting& setting) {
  return {
      .sampler = setting.sampler,
      .clip = setting.clip,
      .clip_target = setting.fault == Fault::batch_clip ? ClipTarget::batch : setting.clip_target,
      .augment = setting.augment,
      .image = setting.image,
      .noise_stddev = planted_sigma(setting),
      .seed = setting.seed};
}

GradientOptions planted_options(const AuditSetting& setting, std::size_t dim) {
  auto options = seeded_options(setting);
  // Noise that a restart repeats is what a seed gives where secret noise was promised.
  if (setting.secure && setting.fault != Fault::reused_noise)
    options.secure = std::make_shared<SecureNoise>(
        options.noise_stddev, setting.sampler.sensitivity(setting.adjacency, setting.clip.tau),
        dim);
  return options;
}

std::unique_ptr<Algorithm> audited_algorithm(const AuditSubject& subject, const Model& model,
                                             const Dataset& data, const GradientOptions& options,
                                             ThreadPool& pool) {
  return make_algorithm(subject.algorithm, {.problem = {model, data, subject.problem.agents},
                                            .network = subject.network,
                                            .compressor = subject.compressor,
                                            .pool = pool,
                                            .start = std::vector<double>(model.dim(), 0.0),
                                            .eta = subject.eta,
                                            .gamma = subject.gamma,
                                            .gradients = options});
}

std::vector<std::uint64_t> message_bytes(const AuditSubject& subject, const Model& model,
                                         const Dataset& data, const GradientOptions& options,
                                         ThreadPool& pool) {
  const auto algorithm = audited_algorithm(subject, model, data, options, pool);
  std::vector<std::uint64_t> bytes;
  for (std::uint32_t round = 1; round <= 3; ++round) {
    algorithm->step(round);
    bytes.push_back(algorithm->traffic().message_bytes);
  }
  return bytes;
}

std::uint64_t run_seed(std::uint64_t seed, std::size_t run, bool with_canary) {
  return RngStream(seed, Draw::test, with_canary ? 1 : 0, static_cast<std::uint32_t>(run))
      .next_u64();
}

AuditRung climb_rung(const AuditSetting& setting, int number, const char* title,
                     const std::function<std::vector<AuditCheck>()>& find_checks) {
  check_setting(setting);
  const auto start = std::chrono::steady_clock::now();
  AuditRung rung{number, title, find_checks(), 0};
  rung.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return rung;
}

AuditProgress half_of(const AuditProgress& progress, bool second) {
  return [&progress, second](double share) { progress((second ? 0.5 : 0) + share / 2); };
}

}  // namespace porter
