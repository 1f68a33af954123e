// SPDX-License-Identifier: Apache-2.0
#include "privacy_options.hpp"

#include <fmt/format.h>

#include <cmath>

#include "io/json.hpp"
#include "porter/core/error.hpp"
#include "porter/privacy/phases.hpp"
#include "privacy/paper.hpp"

namespace porter::cli {

std::optional<Sampler> certified_sampler(AskedSampler asked) {
  return find_choice<Sampler>(choice_text(asked));  // they have the same words
}

void MechanismOptions::add_to(App& command) {
  command.add_option("--sampler", sampler,
                     "How a round chooses its records: fixed (b of m), poisson or full", "NAME");
  command.add_option("--adjacency", adjacency,
                     "Neighbouring data sets: replace or add-remove (one record)", "NAME");
  command.add_option("--level", level,
                     "What a neighbour changes: one record, or all of the agent's", "record|agent");
  command.add_option("--m", records, "Records of the agent", "M");
  command.add_option("--batch", batch, "Records per round, the divisor b (full: m)", "B");
  command.add_option("--q", rate, "Rate of Poisson sampling (default: b / m)", "Q");
  command.add_option("--clip", clip, "Largest norm tau of a clipped gradient", "TAU");
  command.add_option("--rounds", rounds, "Rounds T", "T")->required();
  command.add_option("--phases", phases,
                     "Rounds that differ: factors of the noise multiplier (a factor of the clip, "
                     "which the noise follows, changes nothing)",
                     "ROUNDSxNOISE,...");
  command.add_flag("--json", json, "Print JSON");
}

void MechanismOptions::add_noise_to(App& command) {
  auto* deviation = command.add_option(
      "--sigma", sigma, "Standard deviation of the noise on the averaged gradient", "SIGMA");
  command
      .add_option("--noise-multiplier", multiplier,
                  "Instead of --sigma: z = sigma b / clip, the noise on the sum over one record",
                  "Z")
      ->excludes(deviation);
}

std::size_t MechanismOptions::divisor() const {
  return static_cast<std::size_t>(sampler == AskedSampler::full && batch == 0 ? records : batch);
}

PrivacyEvent MechanismOptions::event() const {
  const auto kind = certified_sampler(sampler);
  require(kind.has_value(), ErrorKind::usage, "--sampler ", choice_text(sampler),
          ": no certified amplification; expected fixed, poisson or full");
  return event_with(*kind);
}

std::vector<PrivacyEvent> MechanismOptions::events() const {
  if (phases.empty()) return {event()};
  const auto list = parse_phases(phases);
  require(total_rounds(list) == static_cast<std::uint64_t>(rounds), ErrorKind::usage,
          "--phases: expected --rounds = ", rounds, " rounds together, found ", total_rounds(list));
  std::vector<PrivacyEvent> events;
  for (const auto& [steps, noise] : like_rounds(list, total_rounds(list))) {
    events.push_back(event());
    events.back().steps = steps;
    events.back().noise_multiplier *= noise;
  }
  return events;
}

PrivacyEvent MechanismOptions::event_with(Sampler kind) const {
  check_sizes(kind);
  PrivacyEvent event;
  event.steps = at_least_one("--rounds", rounds);
  require(clip > 0 && std::isfinite(clip), ErrorKind::usage,
          "--clip: expected a positive number, found ", clip);
  check_noise();
  event.sampler = kind;
  event.adjacency = adjacency;
  event.level = level;
  event.records = static_cast<std::size_t>(records);
  event.batch = divisor();
  event.rate = rate;
  event.noise_multiplier = given_multiplier();
  return event;
}

// A rate needs neither m nor b, unless a sigma is to be understood or a whole agent protected.
void MechanismOptions::check_sizes(Sampler kind) const {
  require(!rate || kind == Sampler::poisson, ErrorKind::usage,
          "--q is the rate of Poisson sampling; found it with --sampler ", choice_text(sampler));
  require(!rate || (*rate > 0 && *rate <= 1), ErrorKind::usage,
          "--q: expected a number in (0, 1], found ", rate.value_or(0));
  require(records >= 1 || (rate && records == 0), ErrorKind::usage,
          "--m: expected at least 1 record, found ", records);
  const auto size = static_cast<std::int64_t>(divisor());
  const bool enough = size >= 1 || (rate && batch == 0 && !sigma && level == PrivacyLevel::record);
  require(enough && batch >= 0 && (size <= records || records == 0), ErrorKind::usage,
          "--batch: expected 1 to m = ", records, ", found ", batch,
          rate && batch == 0 ? "; with --q alone give --noise-multiplier in place of --sigma" : "");
  require(kind != Sampler::full || size == records, ErrorKind::usage,
          "--batch: a full batch has m = ", records, " records, found ", batch);
}

void MechanismOptions::check_noise() const {
  const auto check = [](const char* option, const std::optional<double>& value) {
    require(!value || (*value >= 0 && std::isfinite(*value)), ErrorKind::usage, option,
            ": expected a finite number >= 0, found ", value.value_or(0));
  };
  check("--sigma", sigma);
  check("--noise-multiplier", multiplier);
}

void MechanismOptions::require_noise() const {
  require(sigma || multiplier, ErrorKind::usage,
          "expected the noise: --sigma SIGMA or --noise-multiplier Z");
}

double MechanismOptions::given_multiplier() const {
  return multiplier ? *multiplier : noise_multiplier(sigma.value_or(0), divisor(), clip);
}

std::optional<double> MechanismOptions::sigma_of(double noise_multiplier) const {
  if (divisor() == 0) return std::nullopt;
  return noise_multiplier * clip / static_cast<double>(divisor());
}

bool MechanismOptions::is_zero_out() const {
  return adjacency == Adjacency::add_remove && (!rate || level == PrivacyLevel::agent);
}

std::string MechanismOptions::relation() const {
  return std::string(is_zero_out() ? "zero-out" : choice_text(adjacency));
}

std::optional<MechanismOptions::Refused> MechanismOptions::refused() const {
  if (certified_sampler(sampler)) return std::nullopt;
  require(phases.empty(), ErrorKind::usage,
          "--phases: expected sampler fixed, poisson or full, found ", choice_text(sampler));
  auto event = event_with(Sampler::fixed);
  if (sampler == AskedSampler::with_replacement) {
    // A record may be drawn b times, so that it decides the whole batch.
    event.level = PrivacyLevel::agent;
    return Refused{event,
                   "sampling with replacement has no certified amplification, and a record may be "
                   "drawn more than once in a batch"};
  }
  // Within a pass of at least floor(m / b) rounds a record is used at most once.
  const std::uint64_t pass = event.records / event.batch;
  if (event.level == PrivacyLevel::record) {
    event.sampler = Sampler::full;
    event.steps = (event.steps + pass - 1) / pass;
  }
  return Refused{event, fmt::format("shuffled passes have no certified amplification; a record is "
                                    "used in {} round{}",
                                    event.steps, event.steps == 1 ? "" : "s")};
}

nlohmann::ordered_json MechanismOptions::to_json() const {
  nlohmann::ordered_json out = {{"sampler", choice_text(sampler)},
                                {"adjacency", choice_text(adjacency)},
                                {"relation", relation()},
                                {"level", choice_text(level)},
                                {"m", records},
                                {"batch", divisor()},
                                {"clip", clip},
                                {"rounds", rounds}};
  if (rate) out["q"] = *rate;
  if (!phases.empty()) out["phases"] = phases;
  if (!sigma && !multiplier) return out;
  const auto deviation = sigma ? sigma : sigma_of(*multiplier);
  out["sigma"] = or_null(deviation);
  out["noise_multiplier"] = given_multiplier();
  return out;
}

std::string MechanismOptions::to_text() const {
  std::string text = "sampler        " + std::string(choice_text(sampler));
  if (divisor() > 0) text += fmt::format(", b = {}", divisor());
  if (records > 0) text += fmt::format(" of m = {}", records);
  if (rate) text += fmt::format(", q = {}", *rate);
  text += fmt::format(
      "\nneighbours     {}, {} level\n",
      is_zero_out() ? "add-remove for a public m, which is zero-out" : choice_text(adjacency),
      choice_text(level));
  const auto deviation = sigma || !multiplier ? sigma : sigma_of(*multiplier);
  if (deviation)
    text += fmt::format("noise          sigma {:g} on the mean, clip {:g}: z = {:g}\n", *deviation,
                        clip, given_multiplier());
  else if (multiplier)
    text += fmt::format("noise          z = {:g}\n", *multiplier);
  text += fmt::format("rounds         {}\n", rounds);
  return phases.empty() ? text : text + fmt::format("phases         {}\n", phases);
}

std::array<Option*, 2> DeltaOption::add_to(App& command) {
  return {
      command.add_option("--delta", delta, "Probability with which the promise may fail", "DELTA"),
      command.add_flag("--allow-large-delta", allow_large,
                       "Accept delta >= 1/m, as the paper has it")};
}

std::vector<std::string> DeltaOption::check(std::int64_t records) const {
  require(delta > 0 && delta < 1, ErrorKind::usage, "--delta: expected a number in (0, 1), found ",
          delta);
  if (records < 1) return {};
  const auto m = static_cast<double>(records);
  auto warning = delta_concern(delta, m);
  require(!allows_publishing(delta, m) || allow_large, ErrorKind::usage, "--", warning,
          " (--allow-large-delta overrides)");
  if (warning.empty()) return {};
  fmt::print(stderr, "porter: warning: {}\n", warning);
  return {std::move(warning)};
}

}  // namespace porter::cli
