// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "porter/algo/algorithm.hpp"
#include "porter/config/config.hpp"
#include "porter/privacy/batch_sampler.hpp"
#include "porter/privacy/pair_noise.hpp"

namespace porter {

class AccountantCache;
class SecureNoise;

/// The data of a run. Nobody changes it, so runs may share it.
struct RunData {
  std::shared_ptr<const Dataset> train;  ///< the rows of agent 0, then those of agent 1, ...
  std::shared_ptr<const Dataset> test;   ///< null where there is none
  std::string source;                    ///< what it is and where it came from
  std::string warning = {};              ///< DataPair::warning
  FeatureScaling scaling = {};           ///< that the rows have been through
  /// Present: the training rows are those of this agent only.
  std::optional<std::uint32_t> holder = std::nullopt;
  /// Present: the rows are those of so many agents, and dealt already.
  std::optional<std::size_t> agents = std::nullopt;
  /// How many of its places were dealt to each agent, where they differ. It follows from the split
  /// and the number of all rows, which are public, and from nothing in a row.
  std::vector<std::size_t> sizes = {};
};

using MakeAlgorithm = std::function<std::unique_ptr<Algorithm>(const AlgorithmSetup&)>;

/// What a caller brings along; what is absent is made as the config says. A run's id and the facts
/// that agents compare are those of the config, so two programs that bring different things should
/// differ in a key, for example run.seed.
struct Sources {
  std::optional<RunData> data = {};         ///< in place of [data]; `join_agents` makes one
  std::shared_ptr<const Model> model = {};  ///< in place of [model]
  std::optional<Graph> graph = {};          ///< in place of network.graph
  std::optional<Mixing> mixing = {};        ///< in place of network.mixing
  std::vector<double> start = {};           ///< in place of algorithm.start
  std::shared_ptr<const Compressor> compressor = {};  ///< in place of algorithm.compressor
  /// In place of the method that algorithm.name says, whose row still tells what the config may ask
  /// for: clipping, noise, a graph.
  MakeAlgorithm algorithm = {};
  std::shared_ptr<AccountantCache> accounts = {};  ///< that runs share
  LoadProgress reading = {};  ///< hears how much of the files of [data] has been read
};

/// What is public about an agent: at what rate it draws, and its budget.
struct AgentTerms {
  BatchSampler sampler;
  double epsilon = 0;
};

/// The noise of a run and what it is worth to each agent: local differential privacy of its records
/// against everybody else, at the config's delta; where neighbours share noise, against whoever
/// reads all messages and so many colluders as the config says. A release is one round's noised
/// gradient of one agent. Where agents differ all figures are those of the agent whose records have
/// the largest epsilon, and `of` has each agent's own.
class RunPrivacy {
 public:
  /// Works out sigma. Error{usage} names the key that makes the request impossible. Runs of one
  /// process may share a cache. What neighbours share changes no figure of what the noise is worth.
  RunPrivacy(const Config& config, const BatchSampler& sampler, std::size_t dim,
             std::shared_ptr<AccountantCache> cache = nullptr,
             std::optional<SharedNoise> shared = std::nullopt);
  ~RunPrivacy();
  /// The same for agents that differ: one entry for each.
  static std::shared_ptr<const RunPrivacy> unlike(const Config& config,
                                                  std::span<const AgentTerms> terms,
                                                  std::size_t dim,
                                                  std::shared_ptr<AccountantCache> cache = nullptr);
  /// That of one agent; itself where all are alike.
  const RunPrivacy& of(std::size_t agent) const {
    return agents_.empty() ? *this : *agents_[agent];
  }
  bool agents_differ() const { return !agents_.empty(); }

  /// What the noise is worth: that of independent noise which protects as well.
  double sigma() const { return sigma_; }
  /// Of the noise that an agent adds alone; smaller where neighbours share some.
  double own_sigma() const;
  /// Of the noise of each pair, and the pairs; 0 and null where nothing is shared.
  double pair_sigma() const;
  std::shared_ptr<const NoisePairs> pairs() const;
  /// Null unless the noise is secret.
  const std::shared_ptr<const SecureNoise>& secure() const { return secure_; }
  /// The same in one of the config's phases, whose factors are in them; 0 where it has none.
  double own_sigma(std::size_t phase) const;
  /// The mean of its square over agents and rounds.
  double own_variance() const;
  const std::shared_ptr<const SecureNoise>& secure(std::size_t phase) const;
  /// What protects as well as the noise of a round does, at the config's clip and in a phase
  /// without factors: what is charged.
  double charged_sigma(std::uint64_t round) const;
  /// Of the phase with the least; what a charge is worth whose round nobody knows.
  double least_charged_sigma() const;
  /// What the records may cost.
  double budget() const { return config_.privacy ? config_.privacy->epsilon : 0; }
  const BatchSampler& sampler() const { return sampler_; }

  /// What was measured on the records before the first round: so many releases, each of the mean of
  /// a statistic over all of the agent's records, clipped like gradients. They are in all figures
  /// below that are no counts of releases.
  struct Statistics {
    std::uint64_t releases = 0;
    double sigma = 0;
  };
  const Statistics& statistics() const { return statistics_; }
  /// The share of the budget that calibrates the noise of one of them.
  static double statistic_epsilon(const Config& config);

  /// 1/m: a delta that is not below it permits publishing a record.
  double one_record() const { return 1 / static_cast<double>(sampler_.records()); }

  /// What so many releases have cost, certified; nothing where nothing can be certified (no noise,
  /// or no clipping of each sample). Before the last round it comes from the coarser grid of
  /// EpsilonCurve: mostly within 4 % above interval().upper, up to 20 % in the first ten rounds,
  /// and more where epsilon has just left 0. Simulated noise is accounted as if it were secret.
  std::optional<double> epsilon(std::uint64_t releases) const;
  /// Both bounds after so many releases; computed once.
  std::optional<EpsilonInterval> interval(std::uint64_t releases) const;
  /// How many releases the budget is known to allow, up to the config's rounds.
  std::uint64_t most_releases() const { return most_releases_; }
  /// Whether the budget allows so many releases. It is made for the config's rounds, and may have
  /// room for some more. Secret noise stops there, simulated noise never does.
  bool allows(std::uint64_t releases) const;

  /// What is, and is not, guaranteed after so many releases, as far as noise and config tell it:
  /// without rounds and warnings.
  PrivacyStatement statement(std::uint64_t releases) const;
  /// That in one sentence.
  std::string sentence(std::uint64_t releases) const;
  /// What the user should know about the request.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void calibrate();
  void note_shape();
  void check_delta();
  void account();
  void make_secure(std::size_t dim);
  void calibrate_statistics();
  double calibrated_sigma(const BatchSampler& sampler, double target, std::uint64_t steps) const;
  EpsilonInterval statistics_interval() const;
  bool two_gradients() const;  // whether a release has two clipped terms of a sample
  PrivacyEvent event(std::uint64_t steps, double noise) const;
  std::vector<PrivacyEvent> events(std::uint64_t releases) const;
  void check_grid(std::size_t phase) const;
  double exact_epsilon(std::uint64_t releases) const;
  const RunPrivacy& worst(std::uint64_t releases) const;
  void list_agents(std::uint64_t releases, PrivacyStatement& statement) const;
  EpsilonInterval computed_interval(std::uint64_t releases) const;
  std::string relation() const;
  std::vector<std::string> not_covered() const;

  Config config_;
  BatchSampler sampler_;
  double tau_ = 0, sigma_ = 0;
  std::optional<SharedNoise> shared_;
  double accounted_delta_ =
      0;  // a millionth below delta where the secure sampler's distance is charged
  bool accounted_ = false;  // whether anything can be certified
  Statistics statistics_;
  std::vector<PrivacyEvent> before_;  // the same for the accountant
  std::shared_ptr<const SecureNoise> secure_;
  std::vector<std::shared_ptr<const SecureNoise>> secure_phases_;  // of each, where there are any
  std::shared_ptr<AccountantCache> cache_;
  struct Stretch {  // of like rounds
    std::uint64_t start = 0;
    std::shared_ptr<const EpsilonCurve> curve;  // what was before is in it
  };
  const Stretch& stretch_at(std::uint64_t releases) const;
  void list_phases(PrivacyStatement& statement) const;

  std::vector<Stretch> stretches_;
  std::vector<std::shared_ptr<const RunPrivacy>> agents_;  // of each, where they differ
  std::uint64_t most_releases_ = 0;
  std::vector<std::string> notes_;
  struct Intervals;
  std::unique_ptr<Intervals> intervals_;
};

/// What a config turns out to be once its data are there.
struct RunFacts {
  std::string data_source;
  std::string data_warning;  ///< for the terminal of the data's owner, not for files that travel
  std::size_t agents = 0, samples_per_agent = 0, dim = 0, batch = 0;
  struct Compression {
    std::optional<std::size_t> kept;   ///< k of a sparsifier
    std::optional<double> rho, omega;  ///< as a contraction; as an unbiased operator
    double shift = 0;                  ///< soteriafl
  } compression;
  std::optional<double> majority_rate;  ///< of the test set, else of the training set
  std::vector<std::string> notes;       ///< what the user should know
  std::vector<std::uint32_t> evaluation_rounds;
  std::uint32_t output_round = 0, output_agent = 0;  ///< the paper's random x_out
};

/// Everything that a run is made of, ready to be trained.
struct RunParts {
  Config config;
  RunFacts facts;
  RunData data;
  std::shared_ptr<const Model> model;
  bool own_model = false;                  ///< the caller's, which no file can describe
  bool own_method = false;                 ///< the same of the method
  bool own_compressor = false;             ///< the same of the compressor
  bool on_device = false;                  ///< `make` computes on a device (porter/cuda/cuda.hpp)
  std::shared_ptr<const Network> network;  ///< null where agents do not talk to neighbours
  std::shared_ptr<const Compressor> compressor;
  std::shared_ptr<const RunPrivacy> privacy;
  std::vector<double> start;         ///< x0, the same at all agents
  std::vector<std::uint32_t> dense;  ///< what algorithm.dense names, ascending
  MakeAlgorithm make;

  const AlgorithmInfo& algorithm() const { return find_algorithm(config.algorithm.name); }
  Problem problem() const;
  BatchSampler sampler() const;  ///< of the agent with the most records
  /// How many records each agent draws from; none where all hold as many or every record counts the
  /// same.
  std::span<const std::size_t> own_sizes() const;
  /// The mixing rate.
  std::optional<double> alpha() const {
    return network ? std::optional(network->mixing.alpha) : std::nullopt;
  }
  double sigma() const { return privacy->sigma(); }  ///< of the noise on each coordinate
};

/// Loads the data, builds graph, model, compressor and noise, and puts numbers in the place of
/// steps that are "auto". Error{usage} names the config key that does not fit.
RunParts assemble(const Config& config, Sources sources = {});

/// The method's own view of them; `parts` and `pool` outlive what is made from it.
AlgorithmSetup algorithm_setup(const RunParts& parts, ThreadPool& pool);

/// The data of a run from what each agent holds; all hold the same number of rows.
RunData join_agents(std::span<const Dataset> agents, std::shared_ptr<const Dataset> test = nullptr);

}  // namespace porter
