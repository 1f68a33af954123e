// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "porter/algo/algorithm.hpp"
#include "porter/algo/bounds.hpp"
#include "porter/comm/exchange.hpp"
#include "porter/io/npy.hpp"
#include "porter/run/config.hpp"
#include "porter/run/engine.hpp"
#include "porter/run/evaluator.hpp"
#include "porter/run/run_data.hpp"
#include "porter/run/run_privacy.hpp"

namespace porter {

/// What a config turns out to be once its data and graph are there.
struct RunFacts {
  std::string data_source;
  std::string data_warning;  ///< for the terminal of the data's owner, not for files that travel
  std::size_t agents = 0, samples_per_agent = 0, dim = 0, batch = 0;
  std::optional<std::size_t> kept;      ///< k of a sparsifier
  std::optional<double> rho, omega;     ///< of the compressor
  std::optional<double> alpha;          ///< mixing rate, where there is a graph
  double shift = 0;                     ///< soteriafl
  double sigma = 0;                     ///< standard deviation of the noise on each coordinate
  std::optional<double> majority_rate;  ///< of the test set, else of the training set
  std::vector<std::string> notes;       ///< what the user should know
  std::vector<std::uint32_t> evaluation_rounds;
  std::uint32_t output_round = 0, output_agent = 0;  ///< the paper's random x_out
};

/// One training run: everything that a config names, and the state after some rounds. Not copyable:
/// its parts refer to each other. With an engine this is one process's part of the run; what is
/// marked as collective is then done by all of them in the same order, and its results are those of
/// the whole run in process 0.
class Experiment {
 public:
  /// Loads the data, builds graph, model and algorithm. Error{usage} names the config key that does
  /// not fit.
  explicit Experiment(const Config& config);
  /// The same with data and a cache that other experiments may share.
  Experiment(const Config& config, RunData data, std::shared_ptr<AccountantCache> cache);
  /// One process of a run, with the journal that its secret noise needs where it may restart.
  Experiment(const Config& config, RunData data, const Engine& engine,
             ReleaseJournal* journal = nullptr);
  ~Experiment();
  Experiment(const Experiment&) = delete;
  Experiment& operator=(const Experiment&) = delete;

  const Config& config() const { return config_; }
  const RunFacts& facts() const { return facts_; }
  /// Null where the method has no graph.
  const Network* network() const { return network_.get(); }
  const Algorithm& algorithm() const { return *algorithm_; }
  const RunPrivacy& privacy() const { return *privacy_; }
  /// Views of what is trained, and of what travels.
  Problem problem() const { return {*model_, *data_.train, facts_.agents, data_.holder}; }
  const Compressor& compressor() const { return *compressor_; }

  std::uint32_t round() const { return round_; }
  bool finished() const { return round_ == config_.algorithm.rounds; }

  /// Noised gradients each agent has released. A ledger that knows of more (rounds done again after
  /// a crash) raises the number; nothing lowers it.
  std::uint64_t releases() const { return releases_; }
  void raise_releases(std::uint64_t releases) { releases_ = std::max(releases_, releases); }
  /// Whether the budget allows one more round.
  bool may_release() const { return releases_ < privacy_->most_releases(); }

  /// The agents that are computed here, ascending.
  std::vector<std::uint32_t> hosted() const;
  /// Null in simulation.
  Exchange* exchange() { return exchange_.get(); }
  Transport* transport() { return transport_.get(); }
  bool is_root() const { return !engine_ || engine_->process == 0; }

  /// One more round. Error{numeric} if a message leaves the public bounds.
  void step();
  /// Whether the schedule asks for metrics of this round and they have not been computed yet.
  bool evaluation_due() const;
  /// The metrics now; also remembers the best average so far. Once per round, in order. Collective.
  MetricsRow evaluate();
  /// The metrics now, remembering nothing: the run goes on as if nobody had looked.
  MetricsRow measure() const;

  /// Figures of the training data are measured although the noise is secret: no epsilon covers
  /// them. Before the first evaluation. Without secret noise they always are.
  void include_raw_metrics();
  bool has_raw_metrics() const { return raw_metrics_; }

  /// x_mean (d), X (n x d), x_out (d) and, unless the noise is secret, x_best (d), which the losses
  /// choose; x_out is the last average where its round has not come yet.
  void with_model(const std::function<void(const NpzParts&)>& use) const;

  /// All that a later restore needs to continue bit for bit. Collective; where processes cannot
  /// meet, it is what this one needs.
  Npz snapshot();
  /// Error{io} if the snapshot does not fit this experiment.
  void restore(const Npz& snapshot, const std::string& source);

  double training_seconds() const { return training_seconds_; }
  double evaluation_seconds() const { return evaluation_seconds_; }
  /// Of the whole run as of the last collective call, where processes can meet.
  Traffic traffic() const { return meets() ? gathered_traffic_ : algorithm_->traffic(); }
  const std::optional<MetricsRow>& best() const { return best_; }
  /// How many of the scheduled evaluations lie behind.
  std::size_t evaluations_done() const;

 private:
  void use_data();
  void build_network();
  void build_compressor();
  BatchSampler sampler() const;
  void build_privacy(std::shared_ptr<AccountantCache> cache);
  void build_algorithm(ReleaseJournal* journal);
  void join();
  void compare_ranks();
  // What is about other processes: experiment_engine.cpp.
  bool meets() const { return engine_ && engine_->session; }
  void gather();
  bool knows(std::uint32_t agent) const;  // its rows, after a gather
  void share(MetricsRow& row);
  std::optional<std::vector<std::uint32_t>> kept_agents(bool copied) const;
  std::vector<double> starting_point() const;
  double utility_sum(double grad_norm_sq) const;
  bool has_diverged(const MetricsRow& row) const;

  Config config_;
  RunFacts facts_;
  std::optional<Engine> engine_;
  ThreadPool pool_, one_thread_{1};
  RunData data_;
  std::unique_ptr<const Model> model_;
  std::unique_ptr<const Network> network_;
  std::unique_ptr<const Compressor> compressor_;
  std::unique_ptr<const RunPrivacy> privacy_;
  std::unique_ptr<const Hosting> hosting_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<Algorithm> algorithm_;
  std::unique_ptr<Evaluator> evaluator_;

  bool raw_metrics_ = true;
  PublicBounds bounds_;
  Traffic gathered_traffic_;
  std::uint32_t round_ = 0;
  std::uint64_t releases_ = 0;
  double training_seconds_ = 0, evaluation_seconds_ = 0;
  double utility_sum_ = 0;  // sum of grad_norm_sq over rounds 0..last evaluation
  std::optional<MetricsRow> previous_, best_;
  std::vector<double> x_best_, x_out_;
};

/// What the caller of train may watch and ask.
struct TrainHooks {
  /// Before anything of a round is released; its number.
  std::function<void(std::uint32_t)> before_round = [](std::uint32_t) {};
  std::function<void(const Experiment&)> after_round = [](const Experiment&) {};
  std::function<void(const MetricsRow&)> after_evaluation = [](const MetricsRow&) {};
  std::function<bool()> stop_requested = [] { return false; };
};

enum class TrainStatus { finished, interrupted, diverged, budget_spent };

/// Runs to the end, until a stop is requested, the privacy budget allows no further round, or the
/// run diverges: a loss is no longer finite, or an agent leaves the public bounds.
/// Metrics computed before the first round include round 0.
TrainStatus train(Experiment& experiment, const TrainHooks& hooks);

}  // namespace porter
