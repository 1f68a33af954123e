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

std::string as_text(const AccountingOptions& options, const EpsilonInterval& epsilon,
                    double renyi) {
  auto text = options.mechanism.to_text() +
              fmt::format(
                  "delta          {:g}\n"
                  "epsilon        {}  (certified)\n"
                  "at least       {}  (an explicit pair of data sets)\n",
                  options.delta.delta, rounded_up(epsilon.upper), rounded_down(epsilon.lower));
  if (std::isfinite(renyi))
    text += fmt::format("Renyi          {}  (independent and looser)\n", rounded_up(renyi));
  return text + fmt::format("method         {}\n", epsilon.method);
}

void run(const AccountingOptions& options) {
  const auto& mechanism = options.mechanism;
  mechanism.require_noise();
  const double delta = options.delta.delta;
  const auto warnings = options.check([delta](const PrivacyEvent& unamplified) {
    return "epsilon = " + rounded_up(epsilon(unamplified, delta).upper);
  });
  const auto event = mechanism.event();
  const auto interval = epsilon(event, delta);
  const double renyi = renyi_epsilon(std::span(&event, 1), delta);
  if (!mechanism.json) {
    std::cout << as_text(options, interval, renyi);
    return;
  }
  options.print_json({{"epsilon", json_number(interval.upper)},
                      {"epsilon_lower", json_number(interval.lower)},
                      {"epsilon_renyi", json_number(renyi)},
                      {"delta", delta},
                      {"method", interval.method}},
                     warnings);
}

}  // namespace

void add_privacy_epsilon(App& privacy) {
  auto* command = privacy.add_subcommand("epsilon", "the epsilon of a given noise");
  const auto options = std::make_shared<AccountingOptions>();
  options->add_to(*command);
  options->mechanism.add_noise_to(*command);
  command->footer(
      "Example: porter privacy epsilon --m 3256 --batch 32 --sigma 0.125 --rounds 3256 --delta "
      "1e-5");
  command->callback([options] { run(*options); });
}

}  // namespace porter::cli
