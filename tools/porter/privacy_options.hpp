// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "porter/privacy/accountant.hpp"
#include "report/text.hpp"

namespace porter::cli {

/// How a round chooses its records, those ways included for which no amplification is certified.
enum class AskedSampler { fixed, poisson, full, with_replacement, shuffle };

/// The mechanism as the options of porter privacy describe it. Values stay as they were typed
/// until they are checked.
struct MechanismOptions {
  AskedSampler sampler = AskedSampler::fixed;
  Adjacency adjacency = Adjacency::replace;
  PrivacyLevel level = PrivacyLevel::record;
  std::int64_t records = 0, batch = 0, rounds = 0;
  std::optional<double> rate, sigma, multiplier;
  double clip = 1;
  std::string phases;  ///< rounds that differ, as privacy.phases of a config
  bool json = false;

  void add_to(App& command);
  /// --sigma and --noise-multiplier: one of them.
  void add_noise_to(App& command);

  /// Checked. The noise multiplier is 0 where there is no noise yet. Throws Error{usage} naming the
  /// option.
  PrivacyEvent event() const;
  /// The same, one for each phase of like rounds; only one where there are no phases.
  std::vector<PrivacyEvent> events() const;
  /// z tau / b; nothing where no b was given, with a rate alone.
  std::optional<double> sigma_of(double noise_multiplier) const;
  /// Throws Error{usage} unless some noise was given.
  void require_noise() const;
  /// What is accounted for: "replace", "add-remove", or "zero-out", which add-remove is where m is
  /// public: the rate or the divisor is made from it, so neighbours have the same m, and a record
  /// that contributes nothing takes the other's place.
  std::string relation() const;

  /// Samplers without a certified amplification are not accounted for. For those, the event that
  /// bounds them without amplification, and why; nothing for the others.
  struct Refused {
    PrivacyEvent unamplified;
    std::string reason;
  };
  std::optional<Refused> refused() const;

  /// The options as they were understood.
  nlohmann::ordered_json to_json() const;
  std::string to_text() const;

 private:
  bool is_zero_out() const;
  PrivacyEvent event_with(Sampler kind) const;
  void check_sizes(Sampler kind) const;
  void check_noise() const;
  std::size_t divisor() const;      // the configured b; 0 where there is none
  double given_multiplier() const;  // sigma b / tau, or the given one, or 0
};

/// delta, and what is said about values that are too large.
struct DeltaOption {
  double delta = 1e-5;
  bool allow_large = false;

  std::array<Option*, 2> add_to(App& command);
  /// A delta of 1/m permits publishing one record in full. Throws Error{usage} for delta >= 1/m
  /// unless allowed; returns warnings, which are printed to standard error as well.
  std::vector<std::string> check(std::int64_t records) const;
};

/// Nothing where no amplification is certified.
std::optional<Sampler> certified_sampler(AskedSampler asked);

}  // namespace porter::cli

template <>
struct porter::Choices<porter::cli::AskedSampler> {
  using Asked = cli::AskedSampler;
  static constexpr Choice<Asked> table[] = {{"fixed", Asked::fixed},
                                            {"poisson", Asked::poisson},
                                            {"full", Asked::full},
                                            {"with-replacement", Asked::with_replacement},
                                            {"shuffle", Asked::shuffle}};
};
