// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "porter/algo/algorithm.hpp"
#include "porter/core/choice.hpp"
#include "porter/data/load.hpp"
#include "porter/model/model.hpp"
#include "porter/privacy/pair_noise.hpp"
#include "porter/privacy/phases.hpp"
#include "porter/privacy/statement.hpp"

namespace porter {

/// How often the metrics are computed.
struct Schedule {
  enum class Kind { every, log, log_all, end };
  Kind kind = Kind::log;
  std::uint32_t count = 60;  ///< every: the period; log, log_all: the largest number of evaluations
};

/// Where the size of the noise comes from.
enum class Calibration {
  accountant,  ///< what epsilon and delta need, certified
  paper,       ///< the formula of the paper's Theorem 1
  sigma,       ///< as given
};
template <>
struct Choices<Calibration> {
  static constexpr Choice<Calibration> table[] = {{"accountant", Calibration::accountant},
                                                  {"paper", Calibration::paper},
                                                  {"sigma", Calibration::sigma}};
};

/// What counts the same in what is minimised, where agents hold different numbers of records.
enum class CountedAlike {
  records,  ///< every record: an agent's part is as large as what it holds
  agents,   ///< every agent: the mean over agents of the mean over its own records
};
template <>
struct Choices<CountedAlike> {
  static constexpr Choice<CountedAlike> table[] = {{"records", CountedAlike::records},
                                                   {"agents", CountedAlike::agents}};
};

/// What carries messages, and what computes.
enum class EngineKind {
  simulate,  ///< nothing: all agents are in one process
  mpi,       ///< between the ranks of a job
  tls,       ///< between one process per agent
  cuda,      ///< nothing: all agents are on one GPU
};
template <>
struct Choices<EngineKind> {
  static constexpr Choice<EngineKind> table[] = {{"simulate", EngineKind::simulate},
                                                 {"mpi", EngineKind::mpi},
                                                 {"tls", EngineKind::tls},
                                                 {"cuda", EngineKind::cuda}};
};

/// A config, every choice resolved: writing it and reading it back gives the same run. Field by
/// field what the sections and keys of the file say; `parse_config` is the only place that knows
/// the defaults.
struct Config {
  DataOptions data;
  Split split;
  CountedAlike weigh = CountedAlike::records;
  ModelOptions model;

  struct {
    std::size_t agents = 10;
    std::string graph = "erdos-renyi:0.8";
    std::string mixing = "fdla";
    std::string schedule = "static";
    std::string dropout = "0";
    std::optional<double> latency, bandwidth, compute, straggling;  ///< of a modelled clock
  } network;

  struct {
    std::string name = "porter-dp";
    std::uint32_t rounds = 1000;
    double step = 0.01;       ///< 0: to be worked out ("auto")
    double consensus = 0.02;  ///< the same
    bool auto_step = false;  ///< no key: step was "auto" and is a number since the run is assembled
    bool auto_consensus = false;
    std::size_t batch = 1;  ///< 0: all of an agent's samples ("full")
    Clip clip;
    ClipTarget clip_target = ClipTarget::sample;
    Augmentation augment;
    std::string compressor;
    bool unbiased = false;
    std::string start = "normal:0.2";
    std::optional<double> shift;
    std::optional<double> trigger;
    double momentum = 1;
    std::uint32_t gossip = 1;
    std::uint32_t local_steps = 1;  ///< gradients per message
    Mask mask = Mask::own;
    Acceleration acceleration = Acceleration::none;
    std::string dense;  ///< parameters that travel in every message of a sweep, "W2,b2"
    std::optional<double> snapshot;
  } algorithm;

  struct Privacy {
    double epsilon = 1.0;         ///< with budgets the largest of them
    std::vector<double> budgets;  ///< one for each agent; none: epsilon is that of all
    double delta = 1e-5;
    Calibration calibration = Calibration::accountant;
    std::optional<double> sigma;
    Sampler sampler = Sampler::fixed;
    Adjacency adjacency = Adjacency::replace;
    NoiseSource noise = NoiseSource::simulated;
    bool allow_large_delta = false;  ///< accept delta >= 1/m
    double statistics = 0.1;         ///< share of epsilon for what the schema says is measured
    NoiseShape shape = NoiseShape::independent;
    std::size_t colluders = 1;       ///< whose secrets do not count, where noise is shared
    double pair_ratio = 1;           ///< c / s, deviations of shared and own noise; pairwise
    std::vector<NoisePhase> phases;  ///< none: all rounds are alike
  };
  std::optional<Privacy> privacy;  ///< present where noise is added

  struct {
    std::uint64_t seed = 1;
    std::size_t threads = 0;
    Schedule evaluate;
    Precision precision = Precision::wide;
    std::optional<double> ema;  ///< decay of the moving average of iterates
    EngineKind engine = EngineKind::simulate;
    std::uint32_t checkpoint_every = 0;  ///< 0: off
  } run;
};

/// Parses TOML text. `overrides` are "section.key=value" texts that win over it. Unknown keys,
/// wrong types and impossible combinations are Error{usage} that names `source`, the line, the key,
/// what was expected and what was found.
Config parse_config(std::string_view text, const std::string& source,
                    const std::vector<std::string>& overrides = {});
/// Paths inside the config are relative to the config's folder.
Config load_config(const std::filesystem::path& path,
                   const std::vector<std::string>& overrides = {});

/// Whether what leaves an agent is promised to be private: its noise is secret.
inline bool claims_guarantee(const Config& config) {
  return config.privacy && config.privacy->noise == NoiseSource::secret;
}

/// Whether neighbours are to share noise.
inline bool shares_noise(const Config& config) {
  return config.privacy && config.privacy->shape != NoiseShape::independent;
}

/// Whether agents may have rates or noise of their own.
inline bool agents_differ(const Config& config) {
  return config.weigh == CountedAlike::agents ||
         (config.privacy && !config.privacy->budgets.empty());
}
/// The same of rounds.
inline bool rounds_differ(const Config& config) {
  return config.privacy && !config.privacy->phases.empty();
}

/// Whether agents come and go, or meet others in every gossip step.
bool network_changes(const Config& config);

/// Whether seconds are modelled, not measured.
bool has_clock(const Config& config);

/// Whether the schema says that something is measured by the run: before the training, with noise
/// where the training has some.
inline bool measures_statistics(const Config& config) {
  return config.data.schema && config.data.schema->measures();
}

/// The resolved config as TOML.
std::string to_toml(const Config& config);

/// A name for what is computed, whatever the threads, the engine and the folders: 32 hexadecimal
/// digits.
std::string run_id(const Config& config);

std::string to_string(const Schedule& schedule);

/// A key, for people: what may stand there, what stands there unless a file says otherwise (empty:
/// nothing), and what it is.
struct KeyHelp {
  std::string section, name, type, standard, help;
  std::vector<std::string> words;  ///< values, where they are few and have names
};
std::vector<KeyHelp> config_help();

/// A value as the config's TOML has it.
struct KeyValue {
  std::string section, name, text;
};
std::vector<KeyValue> config_values(const Config& config);

}  // namespace porter
