// SPDX-License-Identifier: Apache-2.0
// porter privacy: of noise, epsilon and delta two are given, and the accountant says the third.
#include <fmt/format.h>

#include <cmath>

#include "commands.hpp"
#include "io/json.hpp"
#include "porter/core/error.hpp"
#include "privacy_options.hpp"

namespace porter::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PrivacyArguments {
  MechanismOptions mechanism;
  DeltaOption delta;
  double epsilon = 0;
};

// Samplers that are not accounted for. `worth` says what they are worth without amplification.
template <class Worth>
void refuse_uncertified(const MechanismOptions& mechanism, const Worth& worth) {
  if (const auto refused = mechanism.refused())
    fail(ErrorKind::usage, "--sampler ", choice_text(mechanism.sampler), ": ", refused->reason,
         ". Without amplification: ", worth(refused->unamplified));
}

// The mechanism and the answer, for people or for machines.
void print(const MechanismOptions& mechanism, const std::string& text, Json json,
           const std::vector<std::string>& warnings) {
  if (!mechanism.json) {
    fmt::print("{}{}", mechanism.to_text(), text);
    return;
  }
  json.update(mechanism.to_json());
  json["warnings"] = warnings;
  fmt::print("{}\n", json_text(json, 2));
}

Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : nullptr; }

void print_epsilon(const PrivacyArguments& options) {
  const auto& mechanism = options.mechanism;
  const double delta = options.delta.delta;
  mechanism.require_noise();
  const auto warnings = options.delta.check(mechanism.records);
  refuse_uncertified(mechanism, [delta](const PrivacyEvent& unamplified) {
    return concat("epsilon = ", rounded_up(privacy::epsilon(unamplified, delta).upper),
                  " at delta = ", delta);
  });
  const auto events = mechanism.events();
  const auto interval = privacy::epsilon(events, delta);
  const double renyi = renyi_epsilon(events, delta);
  auto text = fmt::format(
      "delta          {:g}\n"
      "epsilon        {}  (certified)\n"
      "at least       {}  (an explicit pair of data sets)\n",
      delta, rounded_up(interval.upper), rounded_down(interval.lower));
  if (std::isfinite(renyi))
    text += fmt::format("Renyi          {}  (independent and looser)\n", rounded_up(renyi));
  print(mechanism, text + fmt::format("method         {}\n", interval.method),
        {{"epsilon", finite_or_null(interval.upper)},
         {"epsilon_lower", finite_or_null(interval.lower)},
         {"epsilon_renyi", finite_or_null(renyi)},
         {"delta", delta},
         {"method", interval.method}},
        warnings);
}

void print_delta(const PrivacyArguments& options) {
  const auto& mechanism = options.mechanism;
  const double epsilon = options.epsilon;
  mechanism.require_noise();
  require(epsilon >= 0 && std::isfinite(epsilon), ErrorKind::usage,
          "--epsilon: expected a finite number >= 0, found ", epsilon);
  refuse_uncertified(mechanism, [epsilon](const PrivacyEvent& unamplified) {
    return concat("delta = ", rounded_up(privacy::delta(std::span(&unamplified, 1), epsilon)),
                  " at epsilon = ", epsilon);
  });
  const double value = privacy::delta(mechanism.events(), epsilon);
  print(mechanism,
        fmt::format("epsilon        {:g}\ndelta          {}  (certified)\n", epsilon,
                    rounded_up(value)),
        {{"delta", value}, {"epsilon", epsilon}}, {});
}

void print_sigma(PrivacyArguments options) {
  auto& mechanism = options.mechanism;
  const double target = options.epsilon, delta = options.delta.delta;
  require(target > 0 && std::isfinite(target), ErrorKind::usage,
          "--epsilon: expected a positive number, found ", target);
  const auto warnings = options.delta.check(mechanism.records);
  refuse_uncertified(mechanism, [&](const PrivacyEvent& unamplified) {
    const double multiplier = calibrate_noise_multiplier(unamplified, target, delta);
    return concat("sigma = ", rounded_up(*mechanism.sigma_of(multiplier)),
                  " for epsilon = ", target, " at delta = ", delta);
  });
  mechanism.multiplier = 1;
  const double multiplier = calibrate_noise_scale(mechanism.events(), target, delta);
  mechanism.multiplier = multiplier;
  const auto interval = privacy::epsilon(mechanism.events(), delta);
  const auto sigma = mechanism.sigma_of(multiplier);  // what is asked for, where there is a b
  print(mechanism,
        fmt::format("delta          {:g}\n"
                    "epsilon        {}  (certified; asked for {:g})\n"
                    "{:<15}{}\n",
                    delta, rounded_up(interval.upper), target, sigma ? "sigma" : "multiplier",
                    rounded_up(sigma.value_or(multiplier))),
        {{"epsilon", interval.upper},
         {"epsilon_lower", interval.lower},
         {"epsilon_target", target},
         {"delta", delta},
         {"method", interval.method}},
        warnings);
}

}  // namespace

void add_privacy_command(App& app) {
  auto* privacy = app.add_subcommand("privacy", "what clipping, sampling and noise promise");
  privacy->require_subcommand(1);
  privacy->footer(
      "A promise is (epsilon, delta)-differential privacy for the records of one agent against\n"
      "everybody else. Values are certified: they may be a little too large, never too small.");
  const auto options = std::make_shared<PrivacyArguments>();
  const auto add = [&](const char* name, const char* help, const char* footer) {
    auto* command = privacy->add_subcommand(name, help);
    options->mechanism.add_to(*command);
    command->footer(footer);
    return command;
  };

  auto* of_noise =
      add("epsilon", "the epsilon of a given noise",
          "Example: porter privacy epsilon --m 3256 --batch 32 --sigma 0.125 --rounds 3256 --delta "
          "1e-5");
  options->delta.add_to(*of_noise);
  options->mechanism.add_noise_to(*of_noise);
  of_noise->callback([options] { print_epsilon(*options); });

  auto* at_epsilon = add(
      "delta", "the delta of a given noise at an epsilon",
      "Example: porter privacy delta --m 3256 --batch 32 --sigma 0.125 --rounds 3256 --epsilon 1");
  options->mechanism.add_noise_to(*at_epsilon);
  at_epsilon->add_option("--epsilon", options->epsilon, "Epsilon of the promise", "EPSILON")
      ->required();
  at_epsilon->callback([options] { print_delta(*options); });

  auto* keeping = add(
      "sigma", "the least noise that keeps an epsilon",
      "sigma is the standard deviation on the averaged gradient, to 1e-4 relative from above; "
      "with\n"
      "--q and no --batch the noise multiplier is given. With --phases it is that of a factor of "
      "1.\n"
      "Example: porter privacy sigma --m 3256 --batch 32 --rounds 3256 --delta 1e-5 --epsilon 1");
  options->delta.add_to(*keeping);
  keeping->add_option("--epsilon", options->epsilon, "Epsilon to keep", "EPSILON")->required();
  keeping->callback([options] { print_sigma(*options); });

  for (const auto add_other :
       {add_privacy_table, add_privacy_plan, add_privacy_ledger, add_privacy_audit})
    add_other(*privacy);
}

}  // namespace porter::cli
