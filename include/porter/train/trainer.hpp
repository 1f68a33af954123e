// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "porter/model/saved_model.hpp"
#include "porter/train/checkpoint.hpp"
#include "porter/train/link.hpp"

namespace porter {

class Evaluator;
class Exchange;
struct PublicBounds;

/// One training run and its state after some rounds. With a link this is one process's part of the
/// run; what is marked as collective is then done by all of them in the same order, and its results
/// are those of the whole run in process 0.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): its pools keep threads apart
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

  /// What run.ema asks for: a row per agent, of rows that are computed here, or after a collective
  /// call those of all; without the key no rows.
  const Rows& averages() const { return averages_; }

  /// x_mean (d), X (n x d), x_out (d), with run.ema x_ema (d), the mean of the averages, and,
  /// unless the noise is secret, x_best (d), which the losses choose; x_out is the last average
  /// where its round has not come yet. And `about`, the card.
  void with_model(const std::function<void(const NpzParts&)>& use) const;
  /// What others need to use the model; nothing where it is the caller's own.
  std::optional<ModelCard> card() const;
  /// Puts it into what becomes a model.npz, where there is one; `text` holds its bytes and outlives
  /// `model`.
  void add_card(NpzParts& model, std::string& text) const;

  /// Collective; where processes cannot meet, it is what this one needs.
  Checkpoint checkpoint();
  /// Error{io} naming `source` if the checkpoint is not one of this run.
  void restore(const Checkpoint& checkpoint, const std::string& source);
  /// The final checkpoint of a run with fewer rounds as one of this run, which goes on there. The
  /// caller answers for it that nothing else differs. Its x_out stays where the round of this run's
  /// lies behind.
  Checkpoint extended(Checkpoint checkpoint) const;
  /// The ids that this run had before it was extended.
  const std::vector<std::string>& earlier_runs() const { return earlier_runs_; }

 private:
  bool meets() const { return link_ && link_->session; }
  std::vector<NamedRows> state();  // of the method, and the averages
  void average_iterates();
  void measure_averages(MetricsRow& row) const;
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
  Rows averages_;                         // empty without run.ema
  RunState now_;
  std::vector<std::string> earlier_runs_;
  Traffic gathered_traffic_;
  bool raw_metrics_;
};

}  // namespace porter
