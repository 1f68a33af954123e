// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "audit/audit.hpp"
#include "commands.hpp"
#include "io/json.hpp"
#include "porter/core/error.hpp"
#include "porter/train/assemble.hpp"
#include "privacy_options.hpp"
#include "progress.hpp"
#include "report/text.hpp"

namespace porter::cli {
namespace {

struct AuditArguments {
  std::string config;
  std::vector<std::string> overrides;
  std::int64_t m = 0, batch = 1, rounds = 0;
  double sigma = 0, clip = 1;
  DeltaOption delta;
  std::string clip_kind = "smooth";
  AskedSampler sampler = AskedSampler::fixed;
  Adjacency adjacency = Adjacency::replace;
  NoiseSource noise = NoiseSource::secret;

  std::vector<int> rungs;  // empty: all that there are for the method
  std::int64_t runs = 10'000, trainings = 1'000;
  std::optional<double> claim;
  std::string plant = "none";
  std::uint64_t seed = 1;
  std::size_t threads = 0;
  bool json = false;
  std::string left_out = {};
};

BatchSampler make_sampler(const AuditArguments& options, std::size_t m, std::size_t batch) {
  const auto kind = certified_sampler(options.sampler);
  require(kind.has_value(), ErrorKind::usage, "--sampler: there is no certified epsilon for ",
          choice_text(options.sampler), " to audit; expected fixed, poisson or full");
  return {*kind, m, *kind == Sampler::full ? m : batch};
}

AuditSetting common_setting(const AuditArguments& options, BatchSampler sampler) {
  return {.sampler = sampler,
          .adjacency = options.adjacency,
          .secure = options.noise == NoiseSource::secret,
          .claim = options.claim,
          .fault = parse_fault(options.plant),
          .seed = options.seed};
}

AuditSetting bare_setting(const AuditArguments& options) {
  const auto m = at_least_one("--m", options.m), batch = at_least_one("--batch", options.batch);
  auto setting = common_setting(options, make_sampler(options, m, batch));
  setting.clip = parse_clip(fmt::format("{}:{}", options.clip_kind, options.clip));
  setting.sigma = options.sigma;
  setting.rounds = static_cast<std::uint32_t>(at_least_one("--rounds", options.rounds));
  setting.delta = options.delta.delta;
  return setting;
}

AuditSetting config_setting(AuditArguments& options, const RunParts& parts) {
  const auto& [config, facts] = std::tie(parts.config, parts.facts);
  require(config.privacy.has_value(), ErrorKind::usage, options.config, ": algorithm.name = \"",
          config.algorithm.name, "\" without [privacy] promises nothing that could be audited");
  const auto& method = parts.algorithm();
  require(!method.several_points, ErrorKind::usage, options.config,
          ": algorithm.name: the audit is of agents that add noise to the mean of one clipped "
          "gradient of each sample, and those of \"",
          method.name, "\" release something else");
  require(!shares_noise(config), ErrorKind::usage, options.config,
          ": privacy.shape: the audit is of agents whose noise is independent, found \"",
          choice_text(config.privacy->shape), "\"");
  require(!agents_differ(config) && !rounds_differ(config), ErrorKind::usage, options.config,
          ": data.weigh, privacy.budgets, privacy.phases: the audit is of agents and rounds that "
          "are alike");
  require(parts.privacy->statistics().releases == 0, ErrorKind::usage, options.config,
          ": data.schema: the audit is of rounds, and statistics that are measured before them are "
          "releases of another kind; state them");
  options.adjacency = config.privacy->adjacency;
  options.noise = config.privacy->noise;
  auto setting =
      common_setting(options, {config.privacy->sampler, facts.samples_per_agent, facts.batch});
  setting.clip = config.algorithm.clip;
  setting.clip_target = config.algorithm.clip_target;
  setting.augment = config.algorithm.augment;
  setting.image = config.model.image;
  setting.sigma = parts.sigma();
  setting.rounds = config.algorithm.rounds;
  setting.delta = config.privacy->delta;
  return setting;
}

void check_options(const AuditArguments& options, const AuditSetting& setting) {
  check_setting(setting);
  if (options.config.empty()) options.delta.check(options.m);
  require(setting.fault != Fault::reused_noise || setting.secure, ErrorKind::usage,
          "--plant reused-noise: simulated noise repeats by design; it needs secure noise");
  for (const int rung : options.rungs)
    require(rung >= 1 && rung <= 5, ErrorKind::usage, "--rung: expected 1 to 5, found ", rung);
  require(options.runs >= 10 && options.trainings >= 10, ErrorKind::usage,
          "--runs and --trainings: expected at least 10");
}

// Before any rung is climbed, so that no results are lost.
void choose_rungs(AuditArguments& options, const AuditSetting& setting,
                  const AuditSubject& subject) {
  const bool all = options.rungs.empty();
  if (all) options.rungs = {1, 2, 3, 4, 5};
  if (std::ranges::count(options.rungs, 4) == 0 || can_listen(setting, subject)) return;
  const auto reason = fmt::format(
      "rung 4: it reads the gradient trackers in the messages of porter-dp between two agents or "
      "more, found {} of {}",
      subject.problem.agents, subject.algorithm);
  require(all, ErrorKind::usage, "--rung: ", reason);
  std::erase(options.rungs, 4);
  options.left_out = reason;
}

AuditRung climb(int rung, const AuditArguments& options, const AuditSetting& setting,
                const AuditSubject& subject, ThreadPool& pool) {
  StatusLine line;
  const auto report = [&](double share) {
    if (line.terminal() && line.due())
      line.show(fmt::format("rung {}  {:3.0f} %", rung, 100 * share));
    if (share >= 1) line.close(true);
  };
  if (rung == 1) {
    const auto gradients =
        setting.sampler.batch() * std::max<std::size_t>(1, setting.augment.copies);
    const auto trials = std::clamp<std::size_t>(50'000 / gradients, 32, 1000);
    return audit_replay(setting, subject, trials, report);
  }
  if (rung == 2) return audit_noise(setting, subject, pool, report);
  if (rung == 3)
    return audit_mechanism(setting, static_cast<std::size_t>(options.runs), pool, report);
  if (rung == 5) return audit_loader(setting, report);
  return audit_end_to_end(setting, subject, static_cast<std::size_t>(options.trainings), pool,
                          report);
}

std::string sampler_text(const BatchSampler& sampler) {
  if (sampler.kind() == Sampler::full) return fmt::format("all {} records", sampler.records());
  return fmt::format("{} {} of {} records", sampler.kind() == Sampler::fixed ? "exactly" : "about",
                     sampler.batch(), sampler.records());
}

bool any_caught(const std::vector<AuditRung>& rungs) {
  return std::ranges::any_of(rungs, &AuditRung::caught);
}

std::string audit_as_text(const AuditArguments& options, const AuditSetting& setting,
                          const EpsilonInterval& certified, const std::vector<AuditRung>& rungs) {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<11}{}\n", name, value);
  };
  line("setting",
       fmt::format("{}, {} neighbours, clip {}, sigma {:.6g}, {} rounds, delta {}",
                   sampler_text(setting.sampler), choice_text(options.adjacency),
                   to_string(setting.clip), setting.sigma, setting.rounds, setting.delta));
  if (setting.augment) line("copies", to_string(setting.augment) + " of each image");
  line("noise", setting.secure ? "secret" : "simulated: not private");
  line("certified", "epsilon " + rounded_up(certified.upper));
  if (setting.claim) line("claimed", fmt::format("epsilon {:.5g}", *setting.claim));
  if (setting.fault != Fault::none) line("planted", options.plant);
  if (!options.left_out.empty()) line("left out", options.left_out);
  for (const auto& rung : rungs) {
    text += fmt::format("\nrung {}: {} ({:.1f} s)\n", rung.rung, rung.title, rung.seconds);
    for (const auto& check : rung.checks)
      text += fmt::format("  {} {:<57} {:>8.4g}  limit {:<8.4g} {}\n", check.caught ? "!!" : "ok",
                          check.name, check.measured, check.limit, check.note);
  }
  return text + "\n" + audit_verdict(setting, rungs) + "\n";
}

std::string audit_as_json(const AuditArguments& options, const AuditSetting& setting,
                          const EpsilonInterval& certified, const std::vector<AuditRung>& rungs) {
  using Json = nlohmann::ordered_json;
  Json json = {
      {"sampler", choice_text(setting.sampler.kind())},
      {"adjacency", choice_text(options.adjacency)},
      {"level", "record"},
      {"m", setting.sampler.records()},
      {"batch", setting.sampler.batch()},
      {"sigma", setting.sigma},
      {"clip", to_string(setting.clip)},
      {"augment", to_string(setting.augment)},
      {"rounds", setting.rounds},
      {"delta", setting.delta},
      {"noise", choice_text(options.noise)},
      {"epsilon", certified.upper},
      {"epsilon_lower", certified.lower},
      {"claim", or_null(setting.claim)},
      {"planted", options.plant},
      {"confidence", kAuditConfidence},
      {"rungs", Json::array()},
      {"caught", any_caught(rungs)},
      {"verdict", audit_verdict(setting, rungs)},
  };
  for (const auto& rung : rungs) {
    Json checks = Json::array();
    for (const auto& check : rung.checks)
      checks.push_back({{"name", check.name},
                        {"measured", check.measured},
                        {"limit", check.limit},
                        {"caught", check.caught},
                        {"note", check.note}});
    json["rungs"].push_back({{"rung", rung.rung},
                             {"title", rung.title},
                             {"seconds", rung.seconds},
                             {"caught", rung.caught()},
                             {"checks", checks}});
  }
  return json_text(json, 2) + "\n";
}

int run_audit(AuditArguments options) {
  std::optional<const RunParts> parts;
  std::optional<const BareSubject> bare;
  if (!options.config.empty())
    parts.emplace(assemble(load_config(options.config, options.overrides)));
  const auto setting = parts ? config_setting(options, *parts) : bare_setting(options);
  check_options(options, setting);
  if (!parts) bare.emplace(setting);
  const auto subject = parts ? AuditSubject{.problem = parts->problem(),
                                            .network = parts->network.get(),
                                            .compressor = *parts->compressor,
                                            .algorithm = parts->config.algorithm.name,
                                            .eta = parts->config.algorithm.step,
                                            .gamma = parts->config.algorithm.consensus}
                             : bare->subject();
  choose_rungs(options, setting, subject);
  ThreadPool pool(options.threads);
  const auto certified = certified_epsilon(setting);
  std::vector<AuditRung> rungs;
  for (const int rung : options.rungs)
    rungs.push_back(climb(rung, options, setting, subject, pool));
  fmt::print("{}",
             (options.json ? audit_as_json : audit_as_text)(options, setting, certified, rungs));
  return any_caught(rungs) ? 1 : 0;
}

std::string help_of_faults() {
  std::string text = "\nFaults for --plant:\n";
  for (const auto& row : fault_table()) text += fmt::format("  {:<18}{}\n", row.name, row.help);
  return text;
}

void add_setting_options(App& command, AuditArguments& options) {
  auto* config =
      command.add_option("--config", options.config, "Audit this training", "CONFIG.toml");
  command
      .add_option("--set", options.overrides, "Change a key of the config, section.key=value",
                  "KEY=VALUE")
      ->needs(config);
  const auto bare = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->excludes(config);
  };
  bare("--m", options.m, "Or a bare mechanism: records of an agent");
  bare("--batch", options.batch, "Records in a batch, b");
  bare("--sigma", options.sigma, "Standard deviation of the noise on the averaged gradient");
  bare("--clip", options.clip, "Clipping threshold tau");
  bare("--clip-kind", options.clip_kind, "smooth or linear");
  bare("--rounds", options.rounds, "Rounds T");
  bare("--sampler", options.sampler, "fixed, poisson or full");
  bare("--adjacency", options.adjacency, "Neighbours: replace or add-remove");
  bare("--noise", options.noise,
       "secure: secret streams, different each time; simulated: repeatable from --seed");
  for (auto* option : options.delta.add_to(command)) option->excludes(config);
}

}  // namespace

void add_privacy_audit(App& privacy) {
  auto* command = privacy.add_subcommand(
      "audit", "attack our own mechanism: is epsilon larger than what is promised?");
  const auto options = std::make_shared<AuditArguments>();
  add_setting_options(*command, *options);
  command->add_option("--rung", options->rungs, "Which rungs (see below; default: all that fit)",
                      "1..5");
  command->add_option("--runs", options->runs, "Rung 3: runs with and runs without the canary");
  command->add_option("--trainings", options->trainings, "Rung 4: trainings with and without it");
  command->add_option("--claim", options->claim, "Audit this epsilon, not the certified one",
                      "EPS");
  command->add_option("--plant", options->plant, "Plant a fault (see below), to see it caught",
                      "FAULT");
  command->add_option("--seed", options->seed, "Seed");
  command->add_option("--threads", options->threads, "Threads (default: all cores)");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "\nRungs:\n"
      "  1  replay      one step on neighbouring data with identical coins: is the clip kept?\n"
      "  2  noise       parameters that no data touch: is the noise as strong and fresh as said?\n"
      "  3  mechanism   the worst data, many runs, the best test: a lower bound on epsilon\n"
      "  4  end to end  the same, by a neighbour who sees the messages of a training\n"
      "  5  loader      data files that differ in one record: does anything else change?\n" +
      help_of_faults() +
      "\nThe last line says \"passed\" or \"CAUGHT\"; exit code 0 or 1. A finding is wrong with\n"
      "probability 0.001 at most per rung. Passing proves nothing: it is a failed attack.\n"
      "\nExample: porter privacy audit --m 100 --batch 100 --sampler full --sigma 0.2 --rounds 20\n"
      "         --delta 1e-3\n"
      "         porter privacy audit --config run.toml --set privacy.noise=secure");
  command->callback([options] { return run_audit(*options); });
}

}  // namespace porter::cli
