// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "porter/comm/transport.hpp"
#include "porter/io/npy.hpp"
#include "porter/train/assemble.hpp"
#include "porter/train/metrics.hpp"

namespace porter {

class Evaluator;
class Exchange;
class MpiSession;
struct PublicBounds;

/// How far a run is, beside the state of its method.
struct RunState {
  std::uint32_t round = 0;
  std::uint64_t releases = 0;  ///< noised gradients of each agent
  double training_seconds = 0, evaluation_seconds = 0;
  double utility_sum = 0;  ///< of grad_norm_sq over rounds 0 .. last evaluation
  std::optional<MetricsRow> previous = {}, best = {};
  std::vector<double> x_best = {}, x_out = {};  ///< empty where there is none yet
};

/// All that a run needs to go on bit for bit. As a file: an .npz whose members have the names of
/// the fields, counts as arrays of one number.
struct Checkpoint {
  /// Raised when a file that an older porter reads would mean something else.
  static constexpr std::uint32_t kVersion = 2;

  std::string run;  ///< run_id
  /// Whose rows a matrix holds that neighbours have copies of; empty: everybody's.
  std::vector<std::uint32_t> agents = {};
  RunState now = {};
  Traffic traffic = {};
  std::map<std::string, NpyArray> matrices = {};  ///< of the method, by name
};

Npz to_npz(const Checkpoint& checkpoint);
/// From members that were read with ByteArrays::bytes. Error{io} naming `source` if they are of
/// another version, one is missing or holds impossible numbers.
Checkpoint to_checkpoint(const Npz& members, const std::string& source);

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);
Checkpoint load_checkpoint(const std::filesystem::path& path);

/// One of all agents from one of each: every agent's own rows; counts are summed up, or the
/// largest. `sources` are what errors call them.
Checkpoint merge(const std::vector<Checkpoint>& parts, const std::vector<std::string>& sources);

/// How a process takes part in a run that is spread over several: whose agents are where, and what
/// carries the messages.
struct Link {
  std::uint32_t process = 0;
  std::shared_ptr<const Hosting> hosting;
  std::shared_ptr<Transport> transport = nullptr;
  /// Where the processes can also meet outside the transport: process 0 then gets the rows of all
  /// agents for metrics and checkpoints. Outlives the trainer.
  MpiSession* session = nullptr;
  /// What errors call the agents; empty: by their numbers.
  std::vector<std::string> names = {};
  std::shared_ptr<RoundTrace> trace = nullptr;  ///< where one is wanted
  /// Told what went wrong and was repaired, one line each.
  std::function<void(const std::string&)> report = [](const std::string&) {};
  /// What secret noise needs where the process may restart. Outlives the trainer.
  ReleaseJournal* journal = nullptr;
};

/// Blocks of consecutive agents, one block per process. Error{usage} if there are more processes.
std::shared_ptr<const Hosting> host_agents(const RunParts& parts, std::size_t processes);
/// The end of the frames at this process. The link outlives it.
std::unique_ptr<Exchange> make_exchange(const Link& link, const RunParts& parts);

/// What processes must agree on: every key of the config that changes results, files by their
/// names, and what graph, weights and model turned out to be.
std::map<std::string, std::string> shared_facts(const Config& config, const Network& network,
                                                std::size_t dim);
/// Collective: Error{usage} at every rank, naming keys and ranks, unless all give the same facts.
void require_equal_facts(MpiSession& session, const std::map<std::string, std::string>& facts);

/// The ranks of a job are the processes. Collective: compares first what they are to train.
Link mpi_link(MpiSession& session, const RunParts& parts,
              std::function<void(const std::string&)> report);

/// One training run and its state after some rounds. With a link this is one process's part of the
/// run; what is marked as collective is then done by all of them in the same order, and its results
/// are those of the whole run in process 0.
class Trainer {
 public:
  /// Error{io} if there is no memory for the state.
  explicit Trainer(RunParts parts, std::optional<Link> link = std::nullopt);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  const RunParts& parts() const { return parts_; }
  const Config& config() const { return parts_.config; }
  const RunFacts& facts() const { return parts_.facts; }
  const RunPrivacy& privacy() const { return *parts_.privacy; }
  const Algorithm& algorithm() const { return *algorithm_; }
  /// The agents that are computed here, ascending.
  std::vector<std::uint32_t> hosted() const;
  Exchange* exchange() { return exchange_.get(); }  ///< null where all agents are here
  const std::optional<Link>& link() const { return link_; }
  bool is_root() const { return !link_ || link_->process == 0; }

  /// Counts, times and the best so far.
  const RunState& now() const { return now_; }
  std::uint32_t round() const { return now_.round; }
  bool finished() const { return now_.round == config().algorithm.rounds; }
  /// Of the whole run as of the last collective call, where processes can meet.
  Traffic traffic() const { return meets() ? gathered_traffic_ : algorithm_->traffic(); }

  /// Noised gradients each agent has released. A ledger that knows of more (rounds done again after
  /// a crash) raises the number; nothing lowers it.
  std::uint64_t releases() const { return now_.releases; }
  void raise_releases(std::uint64_t n) { now_.releases = std::max(now_.releases, n); }
  bool may_release() const { return privacy().allows(now_.releases + 1); }

  /// One more round. Error{numeric} if a message leaves the public bounds.
  void step();

  /// Whether the schedule asks for metrics of this round and they have not been computed yet.
  bool evaluation_due() const;
  /// The metrics now; also remembers the best average so far. Once per round, in order. Collective.
  MetricsRow evaluate();
  /// The metrics now, remembering nothing: the run goes on as if nobody had looked.
  MetricsRow measure() const;
  /// How many of the scheduled evaluations lie behind.
  std::size_t evaluations_done() const;
  /// Figures of the training data are measured although the noise is secret: no epsilon covers
  /// them. Before the first evaluation. Without secret noise they always are.
  void include_raw_metrics();
  bool has_raw_metrics() const { return raw_metrics_; }

  /// x_mean (d), X (n x d), x_out (d) and, unless the noise is secret, x_best (d), which the losses
  /// choose; x_out is the last average where its round has not come yet.
  void with_model(const std::function<void(const NpzParts&)>& use) const;

  /// Collective; where processes cannot meet, it is what this one needs.
  Checkpoint checkpoint();
  /// Error{io} naming `source` if the checkpoint is not one of this run.
  void restore(const Checkpoint& checkpoint, const std::string& source);

 private:
  bool meets() const { return link_ && link_->session; }
  void gather();
  bool knows(std::uint32_t agent) const;  // its rows, after a gather
  void share(MetricsRow& row);
  std::optional<std::vector<std::uint32_t>> kept_agents(bool copied) const;
  double utility_sum(double grad_norm_sq) const;
  bool has_diverged(const MetricsRow& row) const;

  RunParts parts_;
  std::optional<Link> link_;
  ThreadPool pool_, one_thread_{1};
  std::unique_ptr<const PublicBounds> bounds_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<Algorithm> algorithm_;
  std::unique_ptr<Evaluator> evaluator_;  // null where some of the data are elsewhere
  RunState now_;
  Traffic gathered_traffic_;
  bool raw_metrics_;
};

/// Watches a training, and may end it. Folders, ledgers, progress displays, ranks and networked
/// agents are observers.
struct Observer {
  /// Before anything of a round is released; its number.
  std::function<void(std::uint32_t)> before_round = [](std::uint32_t) {};
  std::function<void(const MetricsRow&)> after_evaluation = [](const MetricsRow&) {};
  std::function<void()> after_round = [] {};
  std::function<bool()> stop_requested = [] { return false; };
};

enum class TrainStatus { finished, interrupted, diverged, budget_spent };

/// Runs to the end, until an observer asks for a stop, the privacy budget allows no further round,
/// or the run diverges: a loss is no longer finite, or an agent leaves the public bounds. Metrics
/// computed before the first round include round 0. Observers are called in their order.
TrainStatus train(Trainer& trainer, const std::vector<Observer>& observers = {});

/// Trains in a folder, which gets config.toml, metrics.csv, summary.json, privacy.json, graph.svg,
/// model.npz, checkpoint/ and, where the noise is secret, ledger/: begins a run there, or goes on
/// where one of the same config was.
TrainStatus train_in(const std::filesystem::path& folder, Trainer& trainer,
                     std::vector<Observer> observers = {});

/// What to do when the folder exists.
enum class ExistingRun { refuse, resume, replace };

/// The same for a trainer whose processes are the ranks of a job; called by all of them. Rank 0 has
/// the folder, with checkpoints of the whole run as a simulation writes them (so a run may be
/// resumed with another number of ranks). Each rank keeps the ledgers of its agents in a folder of
/// the same name. The observers are called on every rank; a stop that any rank is asked for stops
/// all within a second or a round.
TrainStatus train_on_ranks(Trainer& trainer, MpiSession& session,
                           const std::filesystem::path& folder, ExistingRun existing,
                           std::vector<Observer> observers);

}  // namespace porter
