// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <memory>

#include "io/json.hpp"
#include "porter/core/error.hpp"
#include "privacy_commands.hpp"
#include "privacy_options.hpp"

namespace porter::cli {
namespace {

struct Options {
  MechanismOptions mechanism;
  double epsilon = 1;
};

void run(const Options& options) {
  const auto& mechanism = options.mechanism;
  const double epsilon = options.epsilon;
  mechanism.require_noise();
  require(epsilon >= 0 && std::isfinite(epsilon), ErrorKind::usage,
          "--epsilon: expected a finite number >= 0, found ", epsilon);
  if (const auto refused = mechanism.refused())
    fail(ErrorKind::usage, "--sampler ", choice_text(mechanism.sampler), ": ", refused->reason,
         ". Without amplification: delta = ",
         rounded_up(delta(std::span(&refused->unamplified, 1), epsilon)),
         " at epsilon = ", epsilon);
  const auto event = mechanism.event();
  const double value = delta(std::span(&event, 1), epsilon);
  if (!mechanism.json) {
    std::cout << mechanism.to_text()
              << fmt::format("epsilon        {:g}\ndelta          {}  (certified)\n", epsilon,
                             rounded_up(value));
    return;
  }
  nlohmann::ordered_json json = {{"delta", value}, {"epsilon", epsilon}};
  json.update(mechanism.to_json());
  json["warnings"] = nlohmann::ordered_json::array();
  std::cout << json_text(json, 2) << '\n';
}

}  // namespace

void add_privacy_delta(App& privacy) {
  auto* command = privacy.add_subcommand("delta", "the delta of a given noise at an epsilon");
  const auto options = std::make_shared<Options>();
  options->mechanism.add_to(*command);
  options->mechanism.add_noise_to(*command);
  command->add_option("--epsilon", options->epsilon, "Epsilon of the promise")
      ->required()
      ->type_name("EPSILON");
  command->footer(
      "Example: porter privacy delta --m 3256 --batch 32 --sigma 0.125 --rounds 3256 --epsilon 1");
  command->callback([options] { run(*options); });
}

}  // namespace porter::cli
