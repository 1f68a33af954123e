// SPDX-License-Identifier: Apache-2.0
#include "extension.hpp"

#include "config/difference.hpp"
#include "core/text.hpp"
#include "porter/core/error.hpp"
#include "report/text.hpp"

namespace porter {
namespace {

bool is_stated(const Config& config) {
  return config.privacy && config.privacy->calibration == Calibration::sigma;
}

// What so many rounds cost at a size of noise that does not depend on them.
std::string cost_of(const RunParts& now, double sigma) {
  auto config = now.config;
  config.privacy->calibration = Calibration::sigma;
  config.privacy->sigma = sigma;
  const auto rounds = config.algorithm.rounds;
  const auto epsilon = RunPrivacy(config, now.sampler(), now.facts.dim).interval(rounds);
  return concat("at its size ", rounds, " rounds cost ",
                epsilon ? concat("epsilon = ", rounded_up(epsilon->upper),
                                 " at delta = ", config.privacy->delta)
                        : "an epsilon that cannot be certified");
}

}  // namespace

bool has_more_rounds(const Config& before, const std::string& before_toml, const Config& config) {
  auto shorter = config;
  shorter.algorithm.rounds = before.algorithm.rounds;
  if (before.privacy && is_stated(config)) {
    shorter.privacy->calibration = before.privacy->calibration;
    shorter.privacy->sigma = before.privacy->sigma;
  }
  return config.algorithm.rounds > before.algorithm.rounds &&
         config_difference(before_toml, to_toml(shorter)).empty();
}

void require_same_noise(const Config& before, const RunParts& now, const std::string& folder) {
  if (!before.privacy) return;
  const double was = RunPrivacy(before, now.sampler(), now.facts.dim).sigma(), is = now.sigma();
  if (was == is) return;
  const auto given = shortest(was);
  require(!is_stated(now.config), ErrorKind::usage, "cannot extend: the noise of ", folder,
          " has sigma = ", given, ", found privacy.sigma = ", shortest(is), "; ",
          cost_of(now, was));
  fail(
      ErrorKind::usage, "cannot extend: the noise of ", folder, " was made for ",
      before.algorithm.rounds, " rounds, sigma = ", given, ", and privacy.calibration = \"",
      choice_text(now.config.privacy->calibration), "\" would change it to ", shortest(is), "; ",
      cost_of(now, was), ", where ", before.privacy->epsilon,
      " was asked for. To go on at this cost: --set privacy.calibration=sigma --set privacy.sigma=",
      given);
}

}  // namespace porter
