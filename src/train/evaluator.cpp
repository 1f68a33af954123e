// SPDX-License-Identifier: Apache-2.0
#include "train/evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <tuple>

#include "core/vector_math.hpp"
#include "data/summary.hpp"
#include "run_size.hpp"

namespace porter {
namespace {

// The rows are summed in this many runs, whatever the number of threads, so that the bits are the
// same.
constexpr std::size_t kRuns = 16;
constexpr std::size_t kGroup = kPointsOfAReading;

Dataset even_sample(const Dataset& data, std::size_t count) {
  count = std::min(count, data.rows());
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < count; ++i)
    rows.push_back(static_cast<std::uint32_t>(i * data.rows() / count));
  return select_rows(data, rows);
}

// The rows of the measured agents; where all are equal, as at the start, only one of them.
std::vector<std::span<const double>> measured_points(const Rows& X) {
  const std::size_t measured = measured_agents(X.agents());
  std::vector<std::span<const double>> points;
  for (std::size_t i = 0; i < measured; ++i) points.push_back(X.row(i * X.agents() / measured));
  if (std::all_of(points.begin(), points.end(),
                  [&](const auto& x) { return std::ranges::equal(x, points[0]); }))
    points.resize(1);
  return points;
}

// Groups of points by runs of rows: at least kRuns pieces of work, the same for any number of
// threads.
std::vector<Model::Totals> evaluate_points(const Model& model, const Dataset& data,
                                           std::span<const std::span<const double>> points,
                                           ThreadPool& pool) {
  const std::size_t groups = (points.size() + kGroup - 1) / kGroup;
  const std::size_t runs = (kRuns + groups - 1) / groups;
  std::vector<std::vector<Model::Totals>> parts(groups * runs);
  pool.parallel_for(parts.size(), [&](std::size_t piece) {
    const std::size_t begin = piece / runs * kGroup, run = piece % runs;
    const auto group = points.subspan(begin, std::min(kGroup, points.size() - begin));
    parts[piece].resize(group.size());
    model.evaluate_points(group, data, run * data.rows() / runs, (run + 1) * data.rows() / runs,
                          parts[piece]);
  });
  std::vector<Model::Totals> totals(points.size());
  for (std::size_t piece = 0; piece < parts.size(); ++piece)
    for (std::size_t p = 0; p < parts[piece].size(); ++p) {
      totals[piece / runs * kGroup + p].add(parts[piece][p]);
    }
  return totals;
}

// What sums over all records, which count, are divided by.
double divisor(const Dataset& data) {
  const double weight = data.weight_of(0, data.rows());
  return weight > 0 ? weight : 1;
}

Fit fit_of(double squared_error, const Dataset& data, double spread) {
  Fit fit{std::sqrt(squared_error / (divisor(data) * static_cast<double>(data.outputs)))};
  if (spread > 0) fit.r2 = 1 - squared_error / spread;
  return fit;
}

// The mean of equal rows is off by rounding; that is no disagreement.
double consensus_error(const Rows& X, std::span<const double> mean) {
  double sum = 0;
  for (std::size_t i = 0; i < X.agents(); ++i) sum += squared_distance(X.row(i), mean);
  const double error = sum / static_cast<double>(X.agents());
  return error <= 1e-30 * squared_norm(mean) ? 0 : error;
}

// The records that count; where every agent counts the same, with weights that make it so.
std::optional<Dataset> counted_train(const Problem& problem) {
  const auto& train = problem.train;
  auto counted = counted_rows(train);
  if (problem.sizes.empty()) return counted;
  const std::size_t m = problem.samples_per_agent();
  const double most = static_cast<double>(m);
  std::vector<float> weights;
  for (std::size_t row = 0; row < train.rows(); ++row)
    if (!train.is_void(row))
      weights.push_back(static_cast<float>(train.weight(row) * most /
                                           static_cast<double>(problem.sizes[row / m])));
  if (!counted) counted = train;
  counted->weights = std::move(weights);
  return counted;
}

}  // namespace

Evaluation evaluate_point(const Model& model, const Dataset& data, std::span<const double> x,
                          bool with_gradient, ThreadPool& pool) {
  if (const auto counted = counted_rows(data))
    return evaluate_point(model, *counted, x, with_gradient, pool);
  std::vector<Model::Totals> totals(kRuns);
  Rows gradients(kRuns, with_gradient ? model.dim() : 0);
  pool.parallel_for(kRuns, [&](std::size_t run) {
    const std::size_t first = run * data.rows() / kRuns, last = (run + 1) * data.rows() / kRuns;
    totals[run] = model.evaluate(x, data, first, last, gradients.row(run));
  });
  const double rows = divisor(data);
  Evaluation result;
  double squared_error = 0;
  for (const auto& run : totals) {
    result.loss += run.loss / rows;
    result.accuracy += run.correct / rows;
    squared_error += run.squared_error;
  }
  if (data.classes.empty() && model.predicts())
    result.fit = fit_of(squared_error, data, target_spread(data));
  if (with_gradient) {
    result.gradient = mean_row(gradients);
    for (double& value : result.gradient) value *= kRuns / rows;
  }
  return result;
}

double majority_rate(const Dataset& data) { return class_rate(data, *majority_class(data)); }

Evaluator::Evaluator(const Problem& problem, const Dataset* test, ThreadPool& pool)
    : problem_(problem),
      counted_train_(counted_train(problem)),
      counted_test_(test ? counted_rows(*test) : std::nullopt),
      train_(counted_train_ ? *counted_train_ : problem.train),
      test_(counted_test_ ? &*counted_test_ : test),
      pool_(pool) {
  const std::size_t rows = train_.rows(), agents = problem.agents;
  agent_train_ = even_sample(train_, measured_rows(rows, agents));
  // How many training records count is not to be seen in figures of the test set.
  const std::size_t all = problem.train.rows();
  if (test_ != nullptr)
    agent_test_ =
        even_sample(*test_, measured_test_rows(test_->rows(), all, agents, problem.model.dim()));
}

void Evaluator::measure(const Rows& X, MetricsRow& row) const {
  const bool classes = !problem_.train.classes.empty() && problem_.model.predicts();
  const auto x = mean_row(X);
  if (row.raw) {
    const auto train = evaluate_point(problem_.model, train_, x, true, pool_);
    row.loss = train.loss;
    row.grad_norm_sq = squared_norm(train.gradient);
    if (classes) row.train_accuracy = train.accuracy;
    if (train.fit)
      std::tie(row.train_rmse, row.train_r2) = std::tie(train.fit->rmse, train.fit->r2);
  }
  if (test_ != nullptr) {
    const auto test = evaluate_point(problem_.model, *test_, x, false, pool_);
    row.test_loss = test.loss;
    if (classes) row.test_accuracy = test.accuracy;
    if (test.fit) std::tie(row.test_rmse, row.test_r2) = std::tie(test.fit->rmse, test.fit->r2);
  }
  row.consensus_error = consensus_error(X, x);
  measure_agents(X, row);
}

void Evaluator::measure_agents(const Rows& X, MetricsRow& row) const {
  if (X.agents() == 1) {  // everybody stands at the average
    row.agent_loss_mean = row.agent_loss_worst = row.loss;
    row.agent_accuracy_mean = row.agent_accuracy_worst = row.test_accuracy;
    row.agent_rmse_mean = row.agent_rmse_worst = row.test_rmse;
    row.agent_r2_mean = row.agent_r2_worst = row.test_r2;
    return;
  }
  const auto points = measured_points(X);
  if (row.raw) measure_losses(points, row);
  if (row.test_accuracy) measure_accuracies(points, row);
  if (row.test_rmse) measure_fits(points, row);
}

void Evaluator::measure_losses(std::span<const std::span<const double>> points,
                               MetricsRow& row) const {
  const auto train = evaluate_points(problem_.model, agent_train_, points, pool_);
  const auto agents = static_cast<double>(points.size());
  const double train_rows = divisor(agent_train_);
  row.agent_loss_mean = 0;
  row.agent_loss_worst = train[0].loss / train_rows;
  for (const auto& totals : train) {
    const double loss = totals.loss / train_rows;
    row.agent_loss_mean += loss / agents;
    if (std::isnan(loss) || loss > row.agent_loss_worst) row.agent_loss_worst = loss;
  }
}

void Evaluator::measure_accuracies(std::span<const std::span<const double>> points,
                                   MetricsRow& row) const {
  const auto agents = static_cast<double>(points.size());
  const double test_rows = divisor(agent_test_);
  row.agent_accuracy_mean = 0;
  row.agent_accuracy_worst = 1;
  for (const auto& totals : evaluate_points(problem_.model, agent_test_, points, pool_)) {
    const double accuracy = totals.correct / test_rows;
    *row.agent_accuracy_mean += accuracy / agents;
    row.agent_accuracy_worst = std::min(*row.agent_accuracy_worst, accuracy);
  }
}

// R2 falls as the error rises, so the agent with the largest error, or NaN, is the worst by both.
void Evaluator::measure_fits(std::span<const std::span<const double>> points,
                             MetricsRow& row) const {
  const double spread = target_spread(agent_test_);
  const auto agents = static_cast<double>(points.size());
  double rmse = 0, r2 = 0;
  std::optional<Fit> worst;
  for (const auto& totals : evaluate_points(problem_.model, agent_test_, points, pool_)) {
    const auto fit = fit_of(totals.squared_error, agent_test_, spread);
    rmse += fit.rmse / agents;
    r2 += fit.r2.value_or(0) / agents;
    if (!worst || std::isnan(fit.rmse) || fit.rmse > worst->rmse) worst = fit;
  }
  row.agent_rmse_mean = rmse;
  row.agent_rmse_worst = worst->rmse;
  if (worst->r2) row.agent_r2_mean = r2;
  row.agent_r2_worst = worst->r2;
}

}  // namespace porter
