// SPDX-License-Identifier: Apache-2.0
#include "porter/train/trainer.hpp"

#include <chrono>
#include <cmath>

#include "algo/bounds.hpp"
#include "comm/exchange.hpp"
#include "core/vector_math.hpp"
#include "iterate_average.hpp"
#include "porter/core/error.hpp"
#include "run_size.hpp"
#include "train/evaluator.hpp"
#include "train/run_folder.hpp"

namespace porter {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Several processes may share a machine, so each uses one thread unless the config says more.
std::size_t threads_of(const Config& config, bool linked) {
  return linked ? std::max<std::size_t>(1, config.run.threads) : config.run.threads;
}

}  // namespace

Trainer::Trainer(RunParts parts, std::optional<Link> link)
    : parts_(std::move(parts)),
      link_(std::move(link)),
      pool_(threads_of(parts_.config, link_.has_value())),
      raw_metrics_(!claims_guarantee(parts_.config) && !parts_.data.holder &&
                   parts_.model->has_loss()) {
  const auto& facts = parts_.facts;
  require(parts_.config.run.engine != EngineKind::cuda || parts_.on_device, ErrorKind::usage,
          "run.engine = \"cuda\" is for porter run and porter sweep, and for programs that call "
          "use_cuda (porter/cuda/cuda.hpp)");
  require(!link_ || !(network_changes(config()) || has_clock(config())), ErrorKind::usage,
          "network: a network that changes (schedule, dropout) and modelled seconds (latency, "
          "bandwidth, compute) are for simulations only");
  if (link_) exchange_ = make_exchange(*link_, parts_);
  auto& pool = is_small_round(facts.agents, facts.dim, facts.batch) ? one_thread_ : pool_;
  algorithm_ = within_memory(facts, [&] {
    auto setup = algorithm_setup(parts_, pool);
    setup.exchange = exchange_.get();
    if (link_) {
      setup.gradients.journal = link_->journal;
      setup.gradients.pair_steps = link_->pair_steps;
    }
    bounds_ = std::make_unique<PublicBounds>(public_bounds(setup));
    return parts_.make(setup);
  });
  if (config().run.ema) averages_ = within_memory(facts, [&] { return algorithm_->iterates(); });
  if (!parts_.data.holder)
    evaluator_ = std::make_unique<Evaluator>(parts_.problem(), parts_.data.test.get(), pool_);
}

Trainer::~Trainer() = default;

void Trainer::step() {
  const auto start = Clock::now();
  ++now_.releases;  // before, not after: an interrupted step counts
  algorithm_->step(now_.round + 1);
  ++now_.round;
  average_iterates();
  const auto& [round, agent] = std::tie(facts().output_round, facts().output_agent);
  if (now_.round == round) {
    gather();
    const auto& X = algorithm_->iterates();
    const auto row = X.row(X.agents() == 1 ? 0 : agent);
    if (knows(agent)) now_.x_out.assign(row.begin(), row.end());
  }
  now_.training_seconds += seconds_since(start);
}

void Trainer::average_iterates() {
  if (!config().run.ema) return;
  const auto& X = algorithm_->iterates();
  const auto rows = X.agents() == 1 ? std::vector<std::uint32_t>{0} : hosted();
  update_ema(*config().run.ema, now_.round, X, rows, pool_, averages_);
}

bool Trainer::evaluation_due() const {
  const auto& rounds = facts().evaluation_rounds;
  return std::binary_search(rounds.begin(), rounds.end(), now_.round) &&
         !(now_.previous && now_.previous->round == now_.round);
}

std::size_t Trainer::evaluations_done() const {
  if (!now_.previous) return 0;
  const auto& rounds = facts().evaluation_rounds;
  return static_cast<std::size_t>(
      std::upper_bound(rounds.begin(), rounds.end(), now_.previous->round) - rounds.begin());
}

// Rounds between two evaluations count as the line between them, so every:1 gives the exact mean.
double Trainer::utility_sum(double grad_norm_sq) const {
  const auto& previous = now_.previous;
  if (!previous) return grad_norm_sq;
  if (previous->round == now_.round) return now_.utility_sum;
  const double gap = now_.round - previous->round;
  const double slope = (grad_norm_sq - previous->grad_norm_sq) / gap;
  return now_.utility_sum + (gap * previous->grad_norm_sq + slope * gap * (gap + 1) / 2);
}

// Beside the losses, where they are known, the iterates tell, which the run's privacy covers:
// whether an agent is where public numbers say that it cannot have got.
bool Trainer::has_diverged(const MetricsRow& row) const {
  if (row.raw && !(std::isfinite(row.loss) && std::isfinite(row.grad_norm_sq))) return true;
  const auto& X = algorithm_->iterates();
  const auto mean = mean_row(X);
  if (!all_finite(mean)) return true;
  if (!parts_.network) return false;
  const double limit = bounds_->apart(std::sqrt(squared_norm(mean)));
  for (std::size_t i = 0; i < X.agents(); ++i)
    if (!(std::sqrt(squared_distance(X.row(i), mean)) <= limit)) return true;
  return false;
}

void Trainer::include_raw_metrics() {
  if (raw_metrics_) return;
  require(parts_.model->has_loss(), ErrorKind::usage,
          "figures of the training data need a model that has a loss");
  raw_metrics_ = true;
  parts_.facts.notes.push_back(
      "raw metrics: metrics.csv and summary.json hold losses, gradient norms and accuracies of "
      "the training data, which no epsilon covers");
}

void Trainer::measure_averages(MetricsRow& row) const {
  if (!config().run.ema) return;
  MetricsRow found;
  found.raw = false;  // figures of the test set only
  evaluator_->measure(averages_, found);
  row.ema_test_accuracy = found.test_accuracy;
  row.ema_test_loss = found.test_loss;
  row.ema_agent_accuracy_mean = found.agent_accuracy_mean;
  row.ema_agent_accuracy_worst = found.agent_accuracy_worst;
  row.ema_test_rmse = found.test_rmse;
  row.ema_agent_rmse_mean = found.agent_rmse_mean;
}

MetricsRow Trainer::measure() const {
  require(evaluator_ != nullptr, ErrorKind::usage,
          "only who has the data of all agents can measure how good a model is");
  MetricsRow row;
  row.round = now_.round;
  row.raw = raw_metrics_;
  evaluator_->measure(algorithm_->iterates(), row);
  measure_averages(row);
  row.tracking_error = algorithm_->tracking_error();
  const auto agents = static_cast<double>(facts().agents);
  row.bits_per_agent = 8.0 * static_cast<double>(traffic().message_bytes) / agents;
  row.link_bits_per_agent = 8.0 * static_cast<double>(traffic().link_bytes) / agents;
  row.epsilon = privacy().epsilon(now_.releases);
  row.seconds = has_clock(config()) ? traffic().seconds : now_.training_seconds;
  row.utility = utility_sum(row.grad_norm_sq) / (now_.round + 1.0);
  row.diverged = has_diverged(row);
  return row;
}

MetricsRow Trainer::evaluate() {
  const auto start = Clock::now();
  gather();
  MetricsRow row;
  if (is_root()) row = measure();
  share(row);
  now_.utility_sum = utility_sum(row.grad_norm_sq);
  now_.previous = row;
  if (row.raw && (!now_.best || row.loss < now_.best->loss)) {
    now_.best = row;
    now_.x_best = mean_row(algorithm_->iterates());
  }
  now_.evaluation_seconds += seconds_since(start);
  return row;
}

void Trainer::with_model(const std::function<void(const NpzParts&)>& use) const {
  const auto& X = algorithm_->iterates();
  NpyParts rows{{facts().agents, X.dim()}, {}};
  for (std::size_t i = 0; i < facts().agents; ++i)
    rows.parts.push_back(X.row(X.agents() == 1 ? 0 : i));
  const auto vector = [](const std::vector<double>& x) { return NpyParts{{x.size()}, {x}}; };
  const auto x_mean = mean_row(X);
  NpzParts parts = {{"X", std::move(rows)},
                    {"x_mean", vector(x_mean)},
                    {"x_out", vector(now_.x_out.empty() ? x_mean : now_.x_out)}};
  const auto x_ema = config().run.ema ? mean_row(averages_) : std::vector<double>{};
  if (!x_ema.empty()) parts.insert({"x_ema", vector(x_ema)});
  if (!claims_guarantee(config()))
    parts.insert({"x_best", vector(now_.x_best.empty() ? x_mean : now_.x_best)});
  std::string about;
  add_card(parts, about);
  use(parts);
}

void Trainer::add_card(NpzParts& model, std::string& text) const {
  const auto about = card();
  if (!about) return;
  text = card_json(*about);
  model.insert({"about", {{text.size()}, {}, std::as_bytes(std::span(text))}});
}

// Where the model came from, in words that name no files: it may go to others.
std::optional<ModelCard> Trainer::card() const {
  if (parts_.own_model) return std::nullopt;
  const auto& train = *parts_.data.train;
  const auto& [algorithm, network] = std::tie(config().algorithm, config().network);
  return ModelCard{.model = config().model,
                   .features = train.features,
                   .classes = train.classes,
                   .outputs = train.outputs,
                   .scaling = parts_.data.scaling,
                   .schema = config().data.schema,
                   .run = run_id(config()),
                   .privacy = privacy_json(*this),
                   .origin = {{"method", algorithm.name},
                              {"rounds", std::to_string(round())},
                              {"agents", std::to_string(facts().agents)},
                              {"compressor", algorithm.compressor},
                              {"graph", parts_.network ? network.graph : "none"},
                              {"seed", std::to_string(config().run.seed)}}};
}

}  // namespace porter
