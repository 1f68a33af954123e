// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "porter/core/choice.hpp"
#include "porter/core/rows.hpp"
#include "porter/core/thread_pool.hpp"
#include "porter/data/augment.hpp"
#include "porter/data/dataset.hpp"
#include "porter/graph/changing_network.hpp"
#include "porter/graph/graph.hpp"
#include "porter/graph/mixing.hpp"
#include "porter/model/model.hpp"
#include "porter/privacy/batch_sampler.hpp"
#include "porter/privacy/clip.hpp"
#include "porter/privacy/pair_noise.hpp"

namespace porter {

/// What the agents minimise together: f(x) = mean over all rows of the model's loss, times the
/// weights of the rows where they have some. Agent i holds rows [i m, (i + 1) m) of the training
/// set; with `sizes` the first sizes[i] of them, and f is the mean over agents of the mean over
/// their rows. Views: the owner outlives them.
struct Problem {
  const Model& model;
  const Dataset& train;
  std::size_t agents;
  std::optional<std::uint32_t> holder = std::nullopt;  ///< the only agent whose rows these are
  /// Where every agent counts the same, and not every record: how many of its rows are an agent's.
  std::span<const std::size_t> sizes = {};

  std::size_t samples_per_agent() const { return holder ? train.rows() : train.rows() / agents; }
  std::size_t first_row(std::size_t agent) const {
    return holder ? 0 : agent * samples_per_agent();
  }
  Sample sample(std::size_t agent, std::size_t index) const {
    return train[first_row(agent) + index];
  }
  /// Whether that sample counts for nothing.
  bool is_void(std::size_t agent, std::size_t index) const {
    return train.is_void(first_row(agent) + index);
  }
};

/// How fast agents and links are, for a clock that turns rounds into seconds.
struct Pace {
  double latency = 0;     ///< seconds that a message takes whatever its size
  double bandwidth = 0;   ///< bytes an agent can send in a second; 0: any number
  double compute = 0;     ///< least seconds of a gradient
  double straggling = 0;  ///< a gradient takes compute (1 + straggling E), E exponential, mean 1
  bool overlaps = false;  ///< the first message of a round travels while the gradient is computed
};

/// Who talks to whom, and with what weights.
struct Network {
  Graph graph;
  Mixing mixing;
  /// Where agents come and go or meet others in every step, in the place of the mixing matrix.
  std::optional<ChangingNetwork> changing = std::nullopt;
  std::optional<Pace> pace = std::nullopt;  ///< where seconds are to be modelled
};

/// A matrix of an algorithm's state under the name it has in a checkpoint.
struct NamedRows {
  std::string name;
  std::variant<Rows*, BasicRows<float>*> rows;
  /// Neighbours hold copies of its rows, and a process has those of its agents' neighbours.
  bool copied = false;
};

/// Remembers what was released. A round that is done again after a restart must release the same
/// bits: fresh noise on the same gradient would be a second release, and neighbours may hold the
/// first one already.
class ReleaseJournal {
 public:
  virtual ~ReleaseJournal() = default;
  /// Whether the round was released before; `g` is then what was.
  virtual bool recall(std::size_t agent, std::uint32_t round, std::span<double> g) = 0;
  /// Before anything that depends on `g` may leave.
  virtual void record(std::size_t agent, std::uint32_t round, std::span<const double> g) = 0;
};

class SecureNoise;

/// Secret noise that an agent shares with agents of other processes.
class PairSteps {
 public:
  virtual ~PairSteps() = default;
  /// Adds what the agent's pairs share in the round, in steps of the grid and with the agent's
  /// signs. Error{privacy} for a round that was drawn before: a release under noise that another
  /// one has had would tell both.
  virtual void add(std::size_t agent, std::uint32_t round, const SecureNoise& noise,
                   std::span<double> steps) = 0;
};

/// What differs between agents or rounds. A list that is empty: nothing does.
struct ReleasePlan {
  std::vector<BatchSampler> samplers = {};  ///< of each agent
  std::vector<std::uint32_t> ends = {};     ///< the last round of each phase, ascending
  std::vector<Clip> clips = {};             ///< of each phase
  std::vector<double> noise = {};           ///< deviations of agent i: [i phases() + phase]
  std::vector<std::shared_ptr<const SecureNoise>> secure = {};  ///< the same, where it is secret

  std::size_t phases() const { return ends.empty() ? 1 : ends.size(); }
  /// Rounds after the last phase belong to it.
  std::size_t phase(std::uint32_t round) const;
};

struct GradientOptions {
  BatchSampler sampler;  ///< of every agent
  Clip clip = {};
  ClipTarget clip_target = ClipTarget::sample;
  /// Present: a sample's gradient is the mean of those at copies of its image, of shape `image`.
  Augmentation augment = {};
  ImageShape image = {};
  double noise_stddev = 0;  ///< of the Gaussian noise on each coordinate of the (clipped) mean
  /// Present: beside it pairs of agents share noise of `pair_stddev`, with opposite signs, to the
  /// last bit. Where it is secret it comes from `pair_steps`, or, without that, all agents are in
  /// this process.
  std::shared_ptr<const NoisePairs> pairs = nullptr;
  double pair_stddev = 0;
  /// beta in (0, 1]: what is handed out is M <- (1 - beta) M + beta G, a low-pass that costs no
  /// privacy, since it sees only what was released; 1: G itself.
  double momentum = 1;
  std::uint64_t seed = 1;
  /// Present: batches and noise come from secret streams, and the noise is added on its grid.
  /// Absent: both are simulated from the seed.
  std::shared_ptr<const SecureNoise> secure = nullptr;
  ReleaseJournal* journal = nullptr;  ///< of secret noise; null: a round is done once
  PairSteps* pair_steps = nullptr;
  /// Present: wins over sampler, clip, noise_stddev and secure, which then have the most places,
  /// the largest threshold and the largest deviation, and whether noise is secret.
  std::shared_ptr<const ReleasePlan> plan = nullptr;
};

/// The stochastic gradients of Algorithm 1, b the configured batch whatever was drawn; a record
/// that counts for nothing (Dataset::voids) is drawn like any other and adds zero:
///   sample:  G_i = (1/b) sum_z clip(grad l(x_i; z)) + N(0, noise_stddev^2 I)
///   batch:   G_i = clip((1/b) sum_z grad l(x_i; z)) + N(0, noise_stddev^2 I)
/// where l has the weight of its record in it (Dataset::weights), before anything is clipped, and
/// grad l is the mean over copies of its image with GradientOptions::augment; with
/// pairs, + v at the lower agent and - v at the higher one of each, v ~ N(0, pair_stddev^2 I).
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): its scratch keeps threads apart
class GradientEstimator {
 public:
  GradientEstimator(const Problem& problem, const GradientOptions& options, ThreadPool& pool);
  ~GradientEstimator();

  /// Row i of G from row i of X, or from the only row of X where all agents share one point.
  void estimate(const Rows& X, std::uint32_t round, Rows& G);
  /// The same for the given agents only.
  void estimate(std::span<const std::uint32_t> agents, const Rows& X, std::uint32_t round, Rows& G);

  /// Before a round's calls of `prepare`, with the x that they will have: computes the gradients of
  /// all these agents where the model wants them together (Model::joins_agents) or there is little
  /// to compute and it is faster that way (Model::sample_gradients), and draws what is secret and
  /// shared.
  template <class Real>
  void begin(std::span<const std::uint32_t> agents, const BasicRows<Real>& X, std::uint32_t round);
  /// The same for one agent, tile by tile. prepare: g becomes the (clipped) mean up to a factor;
  /// release, of every tile once: that factor, and the noise. Both on any thread; after the first
  /// rounds nothing is allocated.
  void prepare(std::size_t agent, std::span<const double> x, std::uint32_t round,
               std::span<double> g);
  void release(const Tile& tile, std::uint32_t round, std::span<double> g_tile);
  /// With x and g in float: the mean is computed in float where the model does that for a batch,
  /// else in double at x and rounded once (of a single sample not before release); the noise is
  /// added in float. With secret noise all is in double up to the release: rounding what is
  /// released costs no privacy, but errors of float products are not in the sensitivity that was
  /// promised. There is no momentum.
  void prepare(std::size_t agent, std::span<const float> x, std::uint32_t round,
               std::span<float> g);
  void release(const Tile& tile, std::uint32_t round, std::span<float> g_tile) const;
  /// Whether release needs nothing of g, where the agent's gradient was prepared: then it may be
  /// called again, anywhere, until the next one is prepared.
  bool releases_again(std::size_t agent) const {
    return !products_[agent].empty() && options_.momentum == 1;
  }

  /// prepare for methods whose term of a sample is not its gradient: term(sample, out) overwrites
  /// `out`, and has the sample's weight in it. What gradients are clipped to, secret noise and the
  /// journal are as with prepare, so one record moves the mean by as much.
  using SampleTerm = std::function<void(const Sample&, std::span<double>)>;
  void prepare_clipped(std::size_t agent, std::uint32_t round, const SampleTerm& term,
                       std::span<double> g);
  /// The same where `term` does the clipping, and may be longer than a clipped gradient:
  /// Error{privacy} with secret noise, which is made for one of those.
  void prepare_terms(std::size_t agent, std::uint32_t round, const SampleTerm& term,
                     std::span<double> g);
  /// `begin` for methods with such terms: draws what is secret and shared.
  void begin_terms(std::span<const std::uint32_t> agents, std::uint32_t round);

  void append_state(std::vector<NamedRows>& state);

  /// The samples that an agent draws in a round, ascending; a secret draw is different each time.
  /// Among them may be some that count for nothing.
  std::vector<std::uint32_t> draw_batch(std::size_t agent, std::uint32_t round);

 private:
  struct Scratch;  // what a thread needs while it computes a gradient
  struct Secrets;  // an agent's streams
  struct SharedSecrets;
  struct Share {  // of an agent in the noise of a pair
    std::uint32_t pair;
    double stddev;  // negative at the higher agent
  };
  struct DrawsAhead;  // of each agent
  struct Together;    // of a small problem: the gradients of all agents, one sample each

  template <class Real>
  void compute_together(std::span<const std::uint32_t> agents, const BasicRows<Real>& X,
                        std::uint32_t round);
  void draw_together(std::uint32_t round);
  template <class Real>
  bool take_together(std::size_t agent, std::uint32_t round, std::span<Real> g);
  template <class Real>
  bool prepare_products(Scratch& scratch, std::size_t agent, std::span<const Real> x,
                        std::uint32_t round);
  void prepare_at(Scratch& scratch, std::size_t agent, std::span<const double> x,
                  std::uint32_t round, std::span<double> g);
  template <class Mean>
  void prepare_mean(Scratch& scratch, std::size_t agent, std::uint32_t round, std::span<double> g,
                    const Mean& mean);
  ScratchPool<Scratch>::Loan take_for_terms(std::size_t agent, std::uint32_t round);
  double sum_terms(Scratch& scratch, std::size_t agent, const std::function<double(double)>* factor,
                   const SampleTerm& term, std::span<double> g);
  void add_noise(const Tile& tile, std::uint32_t round, std::span<double> g) const;
  void list_shares();
  void draw_shared(std::span<const std::uint32_t> agents, std::uint32_t round);
  std::span<const double> shared_steps(Scratch& scratch, std::size_t agent, std::uint32_t round);
  // Both with the batch that `scratch` holds.
  bool clipped_mean_in_float(Scratch& scratch, std::size_t agent, std::span<const float> x,
                             std::uint32_t round, std::span<float> g);
  // Of the plan, or of all.
  const BatchSampler& sampler_of(std::size_t agent) const;
  double noise_of(std::size_t agent, std::uint32_t round) const;
  const SecureNoise& secure_of(std::size_t agent, std::uint32_t round) const;
  const std::function<double(double)>& factor_of(std::uint32_t round) const;
  BatchRequest request(std::span<const std::uint32_t> batch, std::size_t agent,
                       std::uint32_t round) const;
  double gradient_sum(Scratch& scratch, std::size_t agent, std::span<const double> x,
                      const BatchRequest& batch, std::span<double> g);
  void take_batch(std::size_t agent, std::uint32_t round, std::vector<std::uint32_t>& batch);
  double clipped_mean(Scratch& scratch, std::size_t agent, std::span<const double> x,
                      std::uint32_t round, std::span<double> g);
  double clipped_whole(const BatchRequest& batch, double scale, std::uint32_t round,
                       std::span<double> g) const;
  void copy_gradient_sum(Scratch& scratch, std::size_t agent, std::span<const double> x,
                         std::uint32_t round, const BatchRequest& batch, std::span<double> g);
  void draw_batch(std::size_t agent, std::uint32_t round, std::vector<std::uint32_t>& batch);
  void draw_next(std::size_t agent, std::uint32_t round, std::vector<std::uint32_t>& batch);
  void draw_counted(std::size_t agent, std::uint32_t round, std::vector<std::uint32_t>& batch);

  Problem problem_;
  GradientOptions options_;
  ThreadPool& pool_;
  std::vector<std::function<double(double)>> factors_;  // of the clip of each phase
  ScratchPool<Scratch> scratch_;
  std::vector<double> scales_;                     // per agent: the factor of its prepared gradient
  std::vector<OuterProducts> products_;            // per agent: that gradient, where it is not in g
  Rows M_;                                         // the low-pass; empty without momentum
  std::vector<Secrets> secrets_;                   // one per agent; empty where simulated
  std::vector<std::vector<Share>> shares_;         // one list per agent; empty without pairs
  std::unique_ptr<SharedSecrets> shared_secrets_;  // where the noise of pairs is secret
  std::unique_ptr<DrawsAhead> draws_ahead_;        // where simulated batches are small
  std::unique_ptr<Together> together_;
  // Of a model that computes for all agents at once: what `begin` has drawn and computed.
  struct Joined {
    std::uint32_t round = 0;
    std::vector<std::vector<std::uint32_t>> batches = {};
    Rows x = {}, sums = {};
  };
  std::optional<Joined> joined_;
};

}  // namespace porter
