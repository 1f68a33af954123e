// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <memory>

#include "porter/core/error.hpp"
#include "privacy_commands.hpp"
#include "privacy_options.hpp"

namespace porter::cli {
namespace {

struct Options : AccountingOptions {
  double epsilon = 1;
};

double calibrated(const Options& options, const PrivacyEvent& event) {
  return calibrate_noise_multiplier(event, options.epsilon, options.delta.delta);
}

// What is asked for: sigma where there is a divisor b.
std::string noise_text(const MechanismOptions& mechanism, double multiplier) {
  if (const auto sigma = mechanism.sigma_of(multiplier))
    return fmt::format("sigma          {}\n", rounded_up(*sigma));
  return fmt::format("multiplier     {}\n", rounded_up(multiplier));
}

void run(Options options) {
  auto& mechanism = options.mechanism;
  require(options.epsilon > 0 && std::isfinite(options.epsilon), ErrorKind::usage,
          "--epsilon: expected a positive number, found ", options.epsilon);
  const double delta = options.delta.delta;
  const auto warnings = options.check([&](const PrivacyEvent& unamplified) {
    return fmt::format("sigma = {} for epsilon = {:g}",
                       rounded_up(*mechanism.sigma_of(calibrated(options, unamplified))),
                       options.epsilon);
  });
  mechanism.multiplier = calibrated(options, mechanism.event());
  const auto interval = epsilon(mechanism.event(), delta);
  if (!mechanism.json) {
    std::cout << mechanism.to_text()
              << fmt::format(
                     "delta          {:g}\n"
                     "epsilon        {}  (certified; asked for {:g})\n",
                     delta, rounded_up(interval.upper), options.epsilon)
              << noise_text(mechanism, *mechanism.multiplier);
    return;
  }
  options.print_json({{"epsilon", interval.upper},
                      {"epsilon_lower", interval.lower},
                      {"epsilon_target", options.epsilon},
                      {"delta", delta},
                      {"method", interval.method}},
                     warnings);
}

}  // namespace

void add_privacy_sigma(App& privacy) {
  auto* command = privacy.add_subcommand("sigma", "the least noise that keeps an epsilon");
  const auto options = std::make_shared<Options>();
  options->add_to(*command);
  command->add_option("--epsilon", options->epsilon, "Epsilon to keep")
      ->required()
      ->type_name("EPSILON");
  command->footer(
      "sigma is the standard deviation on the averaged gradient, to 1e-4 relative from above; "
      "with\n"
      "--q and no --batch the noise multiplier is given.\n"
      "Example: porter privacy sigma --m 3256 --batch 32 --rounds 3256 --delta 1e-5 --epsilon 1");
  command->callback([options] { run(*options); });
}

}  // namespace porter::cli
