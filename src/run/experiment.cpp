// SPDX-License-Identifier: Apache-2.0
#include "porter/run/experiment.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

#include "porter/core/error.hpp"
#include "porter/core/text.hpp"
#include "porter/core/vector_math.hpp"
#include "porter/run/schedule.hpp"
#include "small_round.hpp"

namespace porter {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Puts the config key before what a module says of its value.
template <class Build>
auto keyed(const char* key, Build build) {
  try {
    return build();
  } catch (const Error& error) {
    fail(error.kind(), key, ": ", error.what());
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::io, key, ": out of memory");
  }
}

// Memory is handed out before it is there, so a run that cannot fit would be killed halfway.
void expect_room(std::size_t agents, std::size_t dim, Precision precision) {
  const double needed = 2.0 * static_cast<double>(agents) * static_cast<double>(dim) *
                        (precision == Precision::narrow ? sizeof(float) : sizeof(double));
  const double there =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  require(needed <= there, ErrorKind::io, "out of memory: ", agents,
          " agents (network.agents) with a model of ", dim, " parameters (model) take at least ",
          needed / 1e9, " GB, and this machine has ", there / 1e9, " GB");
}

template <class Build>
auto within_memory(std::size_t agents, std::size_t dim, Build build) {
  try {
    return build();
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::io, "out of memory: no room for ", agents,
         " agents (network.agents) with a model of ", dim, " parameters (model)");
  }
}

// The shift step of SoteriaFL's published experiments: sqrt((1 + 2 w) / (2 (1 + w)^3)).
double default_shift(double omega) {
  return std::sqrt((1 + 2 * omega) / (2 * std::pow(1 + omega, 3)));
}

// The share of the entries of a few rows that differ from the row's first.
double share_off_background(const Dataset& data) {
  const std::size_t rows = std::min<std::size_t>(data.rows(), 256);
  std::size_t others = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto sample = data[i * data.rows() / rows];
    others += sample.sparse ? sample.values.size()
                            : sample.values.size() - static_cast<std::size_t>(std::ranges::count(
                                                         sample.values, sample.values[0]));
  }
  return static_cast<double>(others) / static_cast<double>(rows * data.features);
}

// As RunSize has it. Only the first layer meets the data; per entry its sparse product takes three
// times as long as a dense one.
double parameters_per_row(const ModelOptions& model, const Dataset& data, std::size_t dim) {
  const auto& info = find_model(model.name);
  if (info.single_score())
    return static_cast<double>(data.values.size()) / static_cast<double>(data.rows());
  const std::size_t width = info.layered && !model.hidden.empty()
                                ? model.hidden[0]
                                : std::max<std::size_t>(data.classes.size(), 1);
  const auto first = static_cast<double>(data.features * width);
  return static_cast<double>(dim) - first * (1 - std::min(1.0, 3 * share_off_background(data)));
}

}  // namespace

Experiment::Experiment(const Config& config)
    : Experiment(config, load_run_data(config), std::make_shared<AccountantCache>()) {}

Experiment::Experiment(const Config& config, RunData data, std::shared_ptr<AccountantCache> cache)
    : config_(config), pool_(config.run.threads), data_(std::move(data)) {
  use_data();
  build_network();
  build_compressor();
  expect_room(facts_.agents, facts_.dim, config_.run.precision);
  build_privacy(std::move(cache));
  build_algorithm(nullptr);
}

// Several processes may share a machine, so each uses one thread unless the config says more.
Experiment::Experiment(const Config& config, RunData data, const Engine& engine,
                       ReleaseJournal* journal)
    : config_(config),
      engine_(engine),
      pool_(std::max<std::size_t>(1, config.run.threads)),
      data_(std::move(data)) {
  use_data();
  build_network();
  build_compressor();
  build_privacy(std::make_shared<AccountantCache>());  // before anybody is met
  join();
  build_algorithm(journal);
}

Experiment::~Experiment() = default;

void Experiment::use_data() {
  const auto& train = *data_.train;
  const bool pooled =
      find_algorithm(config_.algorithm.name).meeting == AlgorithmInfo::Meeting::pooled;
  const std::size_t agents = pooled ? 1 : config_.network.agents;
  const std::size_t m = data_.holder ? train.rows() : train.rows() / agents;
  model_ = make_model(config_.model, train.features, train.classes.size());

  require(config_.algorithm.batch <= m, ErrorKind::usage, "algorithm.batch: expected at most the ",
          m, " samples that an agent holds, found ", config_.algorithm.batch);
  facts_.data_source = data_.source;
  facts_.data_warning = data_.warning;
  facts_.agents = agents;
  facts_.samples_per_agent = m;
  facts_.dim = model_->dim();
  facts_.batch = config_.algorithm.batch == 0 ? m : config_.algorithm.batch;
  raw_metrics_ = !claims_guarantee(config_);
  if (!train.classes.empty() && (data_.test || raw_metrics_))
    facts_.majority_rate = majority_rate(data_.test ? *data_.test : train);
  // An agent's rows are its own; here all are dealt.
  if (claims_guarantee(config_) && !pooled && !data_.holder && config_.split.by_labels())
    facts_.notes.push_back("data.split: \"" + to_string(config_.split) +
                           "\" deals the records by their labels, so one label decides about the "
                           "records of several agents, which no epsilon covers");
  // When a run with secret noise is evaluated does not depend on how many entries of its records
  // are zero.
  const auto values = raw_metrics_ ? train.values.size() : train.rows() * train.features;
  facts_.evaluation_rounds = evaluation_rounds(
      config_.run.evaluate, config_.algorithm.rounds,
      {.agents = agents,
       .dim = facts_.dim,
       .batch = facts_.batch,
       .train_rows = train.rows(),
       .test_rows = data_.test ? data_.test->rows() : 0,
       .values = values + (data_.test ? data_.test->values.size() : 0),
       .parameters_per_row = raw_metrics_ ? parameters_per_row(config_.model, train, facts_.dim)
                                          : static_cast<double>(facts_.dim)});
}

void Experiment::build_network() {
  if (!find_algorithm(config_.algorithm.name).gossips()) return;
  auto graph = keyed("network.graph", [&] {
    return make_graph(config_.network.graph, config_.network.agents, config_.run.seed);
  });
  auto mixing = keyed("network.mixing", [&] { return make_mixing(config_.network.mixing, graph); });
  facts_.alpha = mixing.alpha;
  if (!mixing.note.empty()) facts_.notes.push_back("network.mixing: " + mixing.note);
  network_ = std::make_unique<const Network>(Network{std::move(graph), std::move(mixing)});
}

void Experiment::build_compressor() {
  const auto& algorithm = config_.algorithm;
  keyed("algorithm.compressor", [&] {
    compressor_ = make_compressor(algorithm.compressor, algorithm.unbiased);
    facts_.kept = compressor_->kept(facts_.dim);
    facts_.rho = compressor_->rho(facts_.dim);
    facts_.omega = compressor_->omega(facts_.dim);
  });
  const auto& info = find_algorithm(algorithm.name);
  require(!info.gossips() || facts_.rho, ErrorKind::usage, "algorithm.compressor: ", algorithm.name,
          " needs a contraction, and \"", algorithm.compressor, "\"",
          algorithm.unbiased ? " with unbiased = true" : "", " is none for d = ", facts_.dim);
  facts_.shift = 0;  // cdp-sgd and ldp-sgd
  if (info.shifts)
    facts_.shift = algorithm.shift.value_or(facts_.omega ? default_shift(*facts_.omega) : 1.0);
}

BatchSampler Experiment::sampler() const {
  const bool poisson = config_.privacy && config_.privacy->sampler == Sampler::poisson;
  return {poisson ? Sampler::poisson : Sampler::fixed, facts_.samples_per_agent, facts_.batch};
}

void Experiment::build_privacy(std::shared_ptr<AccountantCache> cache) {
  privacy_ = std::make_unique<const RunPrivacy>(config_, sampler(), facts_.dim, std::move(cache));
  facts_.sigma = privacy_->sigma();
  facts_.notes.insert(facts_.notes.end(), privacy_->notes().begin(), privacy_->notes().end());
}

void Experiment::build_algorithm(ReleaseJournal* journal) {
  const auto& algorithm = config_.algorithm;
  const auto problem = this->problem();
  const AlgorithmSetup setup{
      .problem = problem,
      .network = network_.get(),
      .compressor = *compressor_,
      .pool = is_small_round(facts_.agents, facts_.dim, facts_.batch) ? one_thread_ : pool_,
      .start = within_memory(facts_.agents, facts_.dim, [&] { return starting_point(); }),
      .eta = algorithm.step,
      .gamma = algorithm.consensus,
      .gossip = algorithm.gossip,
      .rounds = algorithm.rounds,
      .mask = algorithm.mask,
      .precision = config_.run.precision,
      .gradients = {.sampler = sampler(),
                    .clip = algorithm.clip,
                    .clip_target = algorithm.clip_target,
                    .noise_stddev = facts_.sigma,
                    .momentum = algorithm.momentum,
                    .seed = config_.run.seed,
                    .secure = privacy_->secure(),
                    .journal = journal},
      .exchange = exchange_.get(),
      .soteriafl = {
          .shift = facts_.shift,
          .snapshot = algorithm.snapshot.value_or(static_cast<double>(facts_.batch) /
                                                  static_cast<double>(facts_.samples_per_agent))}};
  bounds_ = public_bounds(setup);
  algorithm_ = within_memory(facts_.agents, facts_.dim,
                             [&] { return make_algorithm(algorithm.name, setup); });
  evaluator_ = std::make_unique<Evaluator>(problem, data_.test.get(), pool_);
  RngStream rng(config_.run.seed, Draw::output, 0, 0);
  facts_.output_round = 1 + static_cast<std::uint32_t>(rng.below(algorithm.rounds));
  facts_.output_agent = static_cast<std::uint32_t>(rng.below(facts_.agents));
}

void Experiment::step() {
  const auto start = Clock::now();
  ++releases_;  // before, not after: an interrupted step counts
  algorithm_->step(round_ + 1);
  ++round_;
  if (round_ == facts_.output_round) {
    gather();
    const auto& X = algorithm_->iterates();
    const auto row = X.row(X.agents() == 1 ? 0 : facts_.output_agent);
    if (knows(facts_.output_agent)) x_out_.assign(row.begin(), row.end());
  }
  training_seconds_ += seconds_since(start);
}

bool Experiment::evaluation_due() const {
  const auto& rounds = facts_.evaluation_rounds;
  return std::binary_search(rounds.begin(), rounds.end(), round_) &&
         !(previous_ && previous_->round == round_);
}

std::size_t Experiment::evaluations_done() const {
  if (!previous_) return 0;
  const auto& rounds = facts_.evaluation_rounds;
  return static_cast<std::size_t>(std::upper_bound(rounds.begin(), rounds.end(), previous_->round) -
                                  rounds.begin());
}

// Rounds between two evaluations count as the line between them, so every:1 gives the exact mean.
double Experiment::utility_sum(double grad_norm_sq) const {
  if (!previous_) return grad_norm_sq;
  if (previous_->round == round_) return utility_sum_;
  const double gap = round_ - previous_->round;
  const double slope = (grad_norm_sq - previous_->grad_norm_sq) / gap;
  return utility_sum_ + (gap * previous_->grad_norm_sq + slope * gap * (gap + 1) / 2);
}

// Beside the losses, where they are known, the iterates tell, which the run's privacy covers:
// whether an agent is where public numbers say that it cannot have got.
bool Experiment::has_diverged(const MetricsRow& row) const {
  if (row.raw && !(std::isfinite(row.loss) && std::isfinite(row.grad_norm_sq))) return true;
  const auto& X = algorithm_->iterates();
  const auto mean = mean_row(X);
  if (!all_finite(mean)) return true;
  if (!network_) return false;
  const double limit = bounds_.apart(std::sqrt(squared_norm(mean)));
  for (std::size_t i = 0; i < X.agents(); ++i)
    if (!(std::sqrt(squared_distance(X.row(i), mean)) <= limit)) return true;
  return false;
}

void Experiment::include_raw_metrics() {
  if (raw_metrics_) return;
  raw_metrics_ = true;
  facts_.notes.push_back(
      "--raw-metrics: metrics.csv and summary.json hold losses, gradient norms and accuracies of "
      "the "
      "training data, which no epsilon covers");
}

MetricsRow Experiment::measure() const {
  MetricsRow row;
  row.round = round_;
  row.raw = raw_metrics_;
  evaluator_->measure(algorithm_->iterates(), row);
  row.tracking_error = algorithm_->tracking_error();
  const auto agents = static_cast<double>(facts_.agents);
  row.bits_per_agent = 8.0 * static_cast<double>(traffic().message_bytes) / agents;
  row.link_bits_per_agent = 8.0 * static_cast<double>(traffic().link_bytes) / agents;
  row.epsilon = privacy_->epsilon(releases_);
  row.seconds = training_seconds_;
  row.utility = utility_sum(row.grad_norm_sq) / (round_ + 1.0);
  row.diverged = has_diverged(row);
  return row;
}

MetricsRow Experiment::evaluate() {
  const auto start = Clock::now();
  gather();
  MetricsRow row;
  if (is_root()) row = measure();
  share(row);
  utility_sum_ = utility_sum(row.grad_norm_sq);
  previous_ = row;
  if (row.raw && (!best_ || row.loss < best_->loss)) {
    best_ = row;
    x_best_ = mean_row(algorithm_->iterates());
  }
  evaluation_seconds_ += seconds_since(start);
  return row;
}

void Experiment::with_model(const std::function<void(const NpzParts&)>& use) const {
  const auto& X = algorithm_->iterates();
  NpyParts rows{{facts_.agents, X.dim()}, {}};
  for (std::size_t i = 0; i < facts_.agents; ++i)
    rows.parts.push_back(X.row(X.agents() == 1 ? 0 : i));
  const auto vector = [](const std::vector<double>& x) { return NpyParts{{x.size()}, {x}}; };
  const auto x_mean = mean_row(X);
  NpzParts parts = {{"X", std::move(rows)},
                    {"x_mean", vector(x_mean)},
                    {"x_out", vector(x_out_.empty() ? x_mean : x_out_)}};
  if (!claims_guarantee(config_))
    parts.insert({"x_best", vector(x_best_.empty() ? x_mean : x_best_)});
  use(parts);
}

}  // namespace porter
