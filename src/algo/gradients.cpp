// SPDX-License-Identifier: Apache-2.0
#include "porter/algo/gradients.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/small_subsets.hpp"
#include "core/vector_math.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "privacy/draw_batch.hpp"
#include "privacy/secure_noise.hpp"

namespace porter {

namespace {

constexpr std::size_t kFewSamples = 4;  // their rows wait in the cache for a round

// Whether it pays to compute all agents' gradients in one go: one thread has all of them, and they
// stay in its cache until they are used.
bool is_small(const Problem& problem, const ThreadPool& pool) {
  constexpr std::size_t kSmall = 20'000;
  return pool.threads() == 1 && problem.agents * problem.model.dim() <= kSmall;
}

}  // namespace

// Some of it is as long as x, so there is none per agent.
struct GradientEstimator::Scratch {
  std::vector<std::uint32_t> batch;
  Workspace workspace;
  std::vector<double> term;  // of one sample
  std::vector<float> image;
  std::vector<ImageMove> moves;
  Dataset copies;
  std::vector<double> x, g;   // of an agent whose rows are float
  std::vector<double> steps;  // that the agent shares with those of other processes
};

struct GradientEstimator::Secrets {
  SamplingStream sampling;
  NoiseStream noise;
};

// What pairs of agents share in a round, in steps of the noise's grid, added up for each agent.
struct GradientEstimator::SharedSecrets {
  NoiseStream noise;
  std::uint32_t round = 0;
  Rows steps;
};

struct GradientEstimator::DrawsAhead {
  struct Batch {
    std::uint32_t round = 0;
    std::vector<std::uint32_t> samples;
  };
  std::vector<Batch> of;  // an agent
};

struct GradientEstimator::Together {
  Together(std::size_t agents, std::size_t dim)
      : everyone(agents), drawn(agents), next(agents), x(agents, dim), sums(agents, dim) {
    std::iota(everyone.begin(), everyone.end(), 0U);
  }

  std::vector<std::uint32_t> everyone;
  std::uint32_t next_round = 0;
  std::vector<std::uint32_t> drawn, next;  // per agent: the sample of this round, of the next one
  std::uint32_t round = 0;                 // of what follows
  Rows x, sums;
  std::vector<AgentBatch> batches;
  std::vector<double> scales;  // of the batches
};

GradientEstimator::GradientEstimator(const Problem& problem, const GradientOptions& options,
                                     ThreadPool& pool)
    : problem_(problem),
      options_(options),
      pool_(pool),
      scales_(problem.agents, 1.0),
      products_(problem.agents) {
  const auto& clips = options_.plan ? options_.plan->clips : std::vector<Clip>{};
  for (const auto& clip : clips.empty() ? std::vector{options_.clip} : clips)
    factors_.emplace_back([clip](double norm) { return clip.factor(norm); });
  if (options_.momentum != 1) M_ = Rows(problem.agents, problem.model.dim());
  if (problem.model.joins_agents())
    joined_ = {.batches = std::vector<std::vector<std::uint32_t>>(problem.agents),
               .x = Rows(problem.agents, problem.model.dim()),
               .sums = Rows(problem.agents, problem.model.dim())};
  if (options_.secure)
    secrets_ = std::vector<Secrets>(problem.agents);
  else if (options_.sampler.batch() <= kFewSamples)
    draws_ahead_ =
        std::make_unique<DrawsAhead>(DrawsAhead{std::vector<DrawsAhead::Batch>(problem.agents)});
  if (options_.pairs) list_shares();
  const auto& [augment, image] = std::tie(options_.augment, options_.image);
  require(!augment || (!joined_ && problem.train.features == image.pixels()), ErrorKind::usage,
          "algorithm.augment: expected images, found records of ", problem.train.features,
          " features", joined_ ? " and a model that computes for all agents at once" : "");
  if (is_small(problem, pool) && !joined_ && !options_.secure && !options_.plan && !augment &&
      problem.train.voids.empty() && options_.sampler.kind() == Sampler::fixed &&
      options_.sampler.batch() == 1)
    together_ = std::make_unique<Together>(problem.agents, problem.model.dim());
}

GradientEstimator::~GradientEstimator() = default;

void GradientEstimator::estimate(const Rows& X, std::uint32_t round, Rows& G) {
  std::vector<std::uint32_t> all(problem_.agents);
  std::iota(all.begin(), all.end(), 0U);
  estimate(all, X, round, G);
}

void GradientEstimator::estimate(std::span<const std::uint32_t> agents, const Rows& X,
                                 std::uint32_t round, Rows& G) {
  begin(agents, X, round);
  for_each_agent(pool_, agents, [&](std::size_t agent) {
    prepare(agent, X.row(X.agents() == 1 ? 0 : agent), round, G.row(agent));
  });
  for_each_tile(pool_, agents, G.dim(),
                [&](const Tile& tile) { release(tile, round, tile.of(G.row(tile.agent))); });
}

template <class Real>
void GradientEstimator::begin(std::span<const std::uint32_t> agents, const BasicRows<Real>& X,
                              std::uint32_t round) {
  begin_terms(agents, round);
  // An agent that is here alone computes while its message travels.
  if (together_ && agents.size() > 1) compute_together(agents, X, round);
  if (!joined_) return;
  joined_->round = round;
  std::vector<AgentBatch> all;
  for (const auto agent : agents) {
    draw_counted(agent, round, joined_->batches[agent]);
    const auto x = joined_->x.row(agent);
    std::ranges::copy(X.row(X.agents() == 1 ? 0 : agent), x.begin());
    all.push_back({x, request(joined_->batches[agent], agent, round), joined_->sums.row(agent)});
  }
  problem_.model.gradient_sums(all);
}
template void GradientEstimator::begin(std::span<const std::uint32_t>, const BasicRows<double>&,
                                       std::uint32_t);
template void GradientEstimator::begin(std::span<const std::uint32_t>, const BasicRows<float>&,
                                       std::uint32_t);

void GradientEstimator::begin_terms(std::span<const std::uint32_t> agents, std::uint32_t round) {
  if (shared_secrets_) draw_shared(agents, round);
}

template <class Real>
void GradientEstimator::compute_together(std::span<const std::uint32_t> agents,
                                         const BasicRows<Real>& X, std::uint32_t round) {
  auto& all = *together_;
  draw_together(round);
  all.batches.clear();
  for (const auto agent : agents) {
    auto x = X.row(X.agents() == 1 ? 0 : agent);
    if constexpr (std::is_same_v<Real, float>) widen(x, all.x.row(agent));
    all.batches.push_back({all.x.row(agent),
                           request(std::span(all.drawn).subspan(agent, 1), agent, round),
                           all.sums.row(agent)});
    if constexpr (std::is_same_v<Real, double>) all.batches.back().x = x;
  }
  all.scales.resize(agents.size());
  all.round = round;
  if (!problem_.model.sample_gradients(all.batches, all.scales)) return together_.reset();
  for (std::size_t i = 0; i < agents.size(); ++i) scales_[agents[i]] = all.scales[i];
}

// The samples of this round, and those of the next, whose rows then travel to the cache.
void GradientEstimator::draw_together(std::uint32_t round) {
  auto& all = *together_;
  const auto draw = [&](std::uint32_t of_round, std::span<std::uint32_t> samples) {
    choose_each(1, options_.sampler.records(), options_.seed, Draw::batch, all.everyone, of_round,
                samples);
  };
  if (all.next_round == round)
    std::swap(all.drawn, all.next);
  else
    draw(round, all.drawn);
  all.next_round = round + 1;
  draw(all.next_round, all.next);
  for (const auto agent : all.everyone)
    problem_.train.prefetch_place(problem_.first_row(agent) + all.next[agent]);
}

// Whether `begin` has computed g up to its scale. The rows of the next round are asked for here,
// agent by agent: many lines at once would have to wait for each other.
template <class Real>
bool GradientEstimator::take_together(std::size_t agent, std::uint32_t round, std::span<Real> g) {
  if (!together_ || together_->round != round) return false;
  products_[agent].clear();
  problem_.train.prefetch(problem_.first_row(agent) + together_->next[agent]);
  if constexpr (std::is_same_v<Real, float>)
    scaled_copy(std::exchange(scales_[agent], 1.0), together_->sums.row(agent), g);
  else
    std::ranges::copy(together_->sums.row(agent), g.begin());
  return true;
}

void GradientEstimator::list_shares() {
  const auto& [agents, pairs] = *options_.pairs;
  require(agents == problem_.agents, ErrorKind::usage, "expected pairs of ", problem_.agents,
          " agents, found those of ", agents);
  shares_.resize(agents);
  for (std::uint32_t pair = 0; pair < pairs.size(); ++pair) {
    shares_[pairs[pair].first].push_back({pair, options_.pair_stddev});
    shares_[pairs[pair].second].push_back({pair, -options_.pair_stddev});
  }
  if (options_.secure && !options_.pair_steps)
    shared_secrets_ = std::make_unique<SharedSecrets>(
        SharedSecrets{.noise = NoiseStream(), .steps = Rows(agents, problem_.model.dim())});
}

// Noise of a pair that only one of the two has would not cancel, and hide less than was promised.
void GradientEstimator::draw_shared(std::span<const std::uint32_t> agents, std::uint32_t round) {
  require(agents.size() == problem_.agents, ErrorKind::privacy,
          "secret noise that agents share is for those of one process: expected all ",
          problem_.agents, ", found ", agents.size());
  auto& [noise, drawn_for, steps] = *shared_secrets_;
  for (const auto agent : agents) std::ranges::fill(steps.row(agent), 0.0);
  for (const auto& [lower, higher] : options_.pairs->pairs)
    options_.secure->share(steps.row(lower), steps.row(higher), noise);
  drawn_for = round;
}

std::span<const double> GradientEstimator::shared_steps(Scratch& scratch, std::size_t agent,
                                                        std::uint32_t round) {
  if (options_.pairs && options_.pair_steps) {
    scratch.steps.assign(problem_.model.dim(), 0.0);
    options_.pair_steps->add(agent, round, *options_.secure, scratch.steps);
    return scratch.steps;
  }
  if (!shared_secrets_) return {};
  require(shared_secrets_->round == round, ErrorKind::privacy,
          "a method that calls prepare with noise that agents share calls begin before it");
  return shared_secrets_->steps.row(agent);
}

// What `begin` has drawn, or a draw.
void GradientEstimator::take_batch(std::size_t agent, std::uint32_t round,
                                   std::vector<std::uint32_t>& batch) {
  if (!joined_) return draw_counted(agent, round, batch);
  require(joined_->round == round, ErrorKind::usage, "a method that calls prepare for a model ",
          "that computes for all agents at once calls begin before it");
  batch = joined_->batches[agent];
}

void GradientEstimator::prepare(std::size_t agent, std::span<const double> x, std::uint32_t round,
                                std::span<double> g) {
  if (take_together(agent, round, g)) return;
  const auto scratch = scratch_.take();
  take_batch(agent, round, scratch->batch);
  if (prepare_products(*scratch, agent, x, round)) return;
  prepare_at(*scratch, agent, x, round, g);
}

void GradientEstimator::prepare(std::size_t agent, std::span<const float> x, std::uint32_t round,
                                std::span<float> g) {
  if (take_together(agent, round, g)) return;
  const auto scratch = scratch_.take();
  take_batch(agent, round, scratch->batch);
  if (prepare_products(*scratch, agent, x, round)) return;
  scales_[agent] = 1;
  if (clipped_mean_in_float(*scratch, agent, x, round, g)) return;
  scratch->x.resize(x.size());
  scratch->g.resize(x.size());
  widen(x, scratch->x);
  prepare_at(*scratch, agent, scratch->x, round, scratch->g);
  scaled_copy(std::exchange(scales_[agent], 1.0), scratch->g, g);
}

// One sample's gradient is written when its noise is there, so it does not go to memory and back.
// A secret stream is drawn from in order, so it needs the whole row at once.
template <class Real>
bool GradientEstimator::prepare_products(Scratch& scratch, std::size_t agent,
                                         std::span<const Real> x, std::uint32_t round) {
  products_[agent].clear();
  if (joined_ || options_.secure || options_.journal || options_.augment ||
      sampler_of(agent).batch() != 1 || scratch.batch.size() != 1)
    return false;
  const auto scale = problem_.model.sample_gradient(x, request(scratch.batch, agent, round),
                                                    products_[agent], scratch.workspace);
  if (scale)
    scales_[agent] = *scale;
  else
    products_[agent].clear();
  return scale.has_value();
}

void GradientEstimator::prepare_at(Scratch& scratch, std::size_t agent, std::span<const double> x,
                                   std::uint32_t round, std::span<double> g) {
  prepare_mean(scratch, agent, round, g, [&] { return clipped_mean(scratch, agent, x, round, g); });
}

// `mean` makes g the clipped mean up to the factor that it returns, unless it was released before.
template <class Mean>
void GradientEstimator::prepare_mean(Scratch& scratch, std::size_t agent, std::uint32_t round,
                                     std::span<double> g, const Mean& mean) {
  scales_[agent] = 1;
  if (options_.journal && options_.journal->recall(agent, round, g)) return;
  scales_[agent] = mean();
  // A secret stream is drawn from in order, so its noise is added to the whole row at once.
  if (!options_.secure || noise_of(agent, round) == 0) return;
  scale(std::exchange(scales_[agent], 1.0), g);
  secure_of(agent, round).release(g, secrets_[agent].noise, shared_steps(scratch, agent, round));
  if (options_.journal) options_.journal->record(agent, round, g);
}

void GradientEstimator::prepare_clipped(std::size_t agent, std::uint32_t round,
                                        const SampleTerm& term, std::span<double> g) {
  const auto scratch = take_for_terms(agent, round);
  prepare_mean(*scratch, agent, round, g, [&] {
    const auto batch = request(scratch->batch, agent, round);
    return clipped_whole(batch, sum_terms(*scratch, agent, batch.factor, term, g), round, g);
  });
}

void GradientEstimator::prepare_terms(std::size_t agent, std::uint32_t round,
                                      const SampleTerm& term, std::span<double> g) {
  require(!options_.secure, ErrorKind::privacy,
          "secret noise is made for the mean of clipped gradients, not for other terms");
  const auto scratch = take_for_terms(agent, round);
  scale(sum_terms(*scratch, agent, nullptr, term, g), g);
  scales_[agent] = 1;
}

// With the batch of the round.
ScratchPool<GradientEstimator::Scratch>::Loan GradientEstimator::take_for_terms(
    std::size_t agent, std::uint32_t round) {
  require(!options_.augment, ErrorKind::usage,
          "algorithm.augment: copies are for methods whose term of a sample is one gradient");
  require(!joined_, ErrorKind::usage,
          "a model that computes for all agents at once has no gradients at several points");
  auto scratch = scratch_.take();
  draw_counted(agent, round, scratch->batch);
  products_[agent].clear();
  return scratch;
}

// The mean is g times what is returned.
double GradientEstimator::sum_terms(Scratch& scratch, std::size_t agent,
                                    const std::function<double(double)>* factor,
                                    const SampleTerm& term, std::span<double> g) {
  scratch.term.resize(g.size());
  std::fill(g.begin(), g.end(), 0.0);
  for (const auto index : scratch.batch) {
    term(problem_.sample(agent, index), scratch.term);
    const double by = factor ? (*factor)(std::sqrt(squared_norm(scratch.term))) : 1;
    if (by != 0) axpy(by, scratch.term, g);  // 0 would keep NaN
  }
  return 1.0 / static_cast<double>(sampler_of(agent).batch());
}

std::vector<std::uint32_t> GradientEstimator::draw_batch(std::size_t agent, std::uint32_t round) {
  std::vector<std::uint32_t> batch;
  draw_batch(agent, round, batch);
  return batch;
}

void GradientEstimator::draw_batch(std::size_t agent, std::uint32_t round,
                                   std::vector<std::uint32_t>& batch) {
  const auto& sampler = sampler_of(agent);
  if (options_.secure) return sampler.draw(secrets_[agent].sampling, batch);
  RngStream rng(options_.seed, Draw::batch, static_cast<std::uint32_t>(agent), round);
  sampler.draw(rng, batch);
}

// Takes the batch of this round and draws that of the next, whose rows then travel to the cache.
void GradientEstimator::draw_next(std::size_t agent, std::uint32_t round,
                                  std::vector<std::uint32_t>& batch) {
  auto& ahead = draws_ahead_->of[agent];
  if (ahead.round == round)
    std::swap(batch, ahead.samples);
  else
    draw_batch(agent, round, batch);
  ahead.round = round + 1;
  draw_batch(agent, ahead.round, ahead.samples);
  for (const auto index : ahead.samples) problem_.train.prefetch(problem_.first_row(agent) + index);
}

void GradientEstimator::draw_counted(std::size_t agent, std::uint32_t round,
                                     std::vector<std::uint32_t>& batch) {
  if (draws_ahead_)
    draw_next(agent, round, batch);
  else
    draw_batch(agent, round, batch);
  if (!problem_.train.voids.empty())
    std::erase_if(batch, [&](std::uint32_t index) { return problem_.is_void(agent, index); });
}

// What is clipped sample by sample gets the factor.
BatchRequest GradientEstimator::request(std::span<const std::uint32_t> batch, std::size_t agent,
                                        std::uint32_t round) const {
  // The mean of one sample is the sample: the model then knows its norm without another pass.
  const bool single = sampler_of(agent).batch() == 1 && batch.size() == 1;
  const bool by_sample = options_.clip.kind != Clip::Kind::none &&
                         (options_.clip_target == ClipTarget::sample || single);
  return {.data = problem_.train,
          .first_row = problem_.first_row(agent),
          .rows = batch,
          .factor = by_sample ? &factor_of(round) : nullptr};
}

double GradientEstimator::gradient_sum(Scratch& scratch, std::size_t agent,
                                       std::span<const double> x, const BatchRequest& batch,
                                       std::span<double> g) {
  if (!joined_) return problem_.model.gradient_sum(x, batch, g, scratch.workspace);
  std::ranges::copy(joined_->sums.row(agent), g.begin());
  return 1;
}

// g becomes the mean up to the factor that is returned.
double GradientEstimator::clipped_mean(Scratch& scratch, std::size_t agent,
                                       std::span<const double> x, std::uint32_t round,
                                       std::span<double> g) {
  const auto batch = request(scratch.batch, agent, round);
  double scale = 1.0 / static_cast<double>(sampler_of(agent).batch());
  if (options_.augment)
    copy_gradient_sum(scratch, agent, x, round, batch, g);
  else
    scale *= gradient_sum(scratch, agent, x, batch, g);
  return clipped_whole(batch, scale, round, g);
}

// The mean is g times `scale`; it is clipped as a whole unless its samples were, or nothing is.
double GradientEstimator::clipped_whole(const BatchRequest& batch, double scale,
                                        std::uint32_t round, std::span<double> g) const {
  if (batch.factor || options_.clip.kind == Clip::Kind::none) return scale;
  const double factor = factor_of(round)(std::sqrt(squared_norm(g)) * scale);
  if (factor == 0) std::fill(g.begin(), g.end(), 0.0);  // the factor alone would keep NaN
  return scale * factor;
}

// The sum over samples of clip(mean over copies). The copies of one sample are a batch of the
// model, without a factor: what is clipped is their mean.
void GradientEstimator::copy_gradient_sum(Scratch& scratch, std::size_t agent,
                                          std::span<const double> x, std::uint32_t round,
                                          const BatchRequest& batch, std::span<double> g) {
  const auto count = options_.augment.copies, pixels = options_.image.pixels();
  auto& copies = scratch.copies;
  copies.features = pixels;
  copies.classes = batch.data.classes;
  copies.outputs = batch.data.outputs;
  copies.values.resize(count * pixels);
  scratch.moves.resize(count);
  scratch.term.resize(g.size());
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  std::fill(g.begin(), g.end(), 0.0);
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    const auto row = batch.first_row + batch.rows[i];
    draw_moves(options_.augment, options_.seed, static_cast<std::uint32_t>(agent), round,
               batch.rows[i], scratch.moves);
    scratch.image.resize(pixels);
    write_features(batch.data[row], scratch.image);
    copies.labels.clear();
    for (std::size_t copy = 0; copy < count; ++copy) {
      const auto targets = batch.data.targets(row);
      copies.labels.insert(copies.labels.end(), targets.begin(), targets.end());
      move_image(options_.image, scratch.image, scratch.moves[copy],
                 std::span(copies.values).subspan(copy * pixels, pixels));
    }
    const double mean = problem_.model.gradient_sum(x, {.data = copies, .rows = all}, scratch.term,
                                                    scratch.workspace) /
                        static_cast<double>(count);
    const double norm = batch.factor ? std::sqrt(squared_norm(scratch.term)) * mean : 0;
    const double factor = batch.factor_of(i, norm);
    if (factor != 0) axpy(factor * mean, scratch.term, g);  // 0 would keep NaN
  }
}

// Whether g is the mean.
bool GradientEstimator::clipped_mean_in_float(Scratch& scratch, std::size_t agent,
                                              std::span<const float> x, std::uint32_t round,
                                              std::span<float> g) {
  const auto divisor = sampler_of(agent).batch();
  if (joined_ || options_.secure || options_.augment || divisor == 1) return false;
  const auto batch = request(scratch.batch, agent, round);
  if (!problem_.model.gradient_sum_in_float(x, batch, g, scratch.workspace)) return false;
  double factor = 1.0 / static_cast<double>(divisor);
  if (!batch.factor && options_.clip.kind != Clip::Kind::none)
    factor *= factor_of(round)(std::sqrt(squared_norm(g)) * factor);
  if (factor == 0)
    std::fill(g.begin(), g.end(), 0.0F);  // the factor alone would keep NaN
  else
    scaled_copy(static_cast<float>(factor), g, g);
  return true;
}

}  // namespace porter
