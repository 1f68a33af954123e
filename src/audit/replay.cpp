// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/vector_math.hpp"
#include "models.hpp"
#include "target.hpp"

namespace porter {
namespace {

using Vector = std::vector<double>;

Vector random_vector(std::size_t dim, double length, RngStream& rng) {
  Vector v(dim);
  rng.fill_normal(v);
  const double scale = length / std::sqrt(squared_norm(v));
  for (double& value : v) value *= scale;
  return v;
}

Vector opposite(Vector v) {
  for (double& value : v) value = -value;
  return v;
}

// What the record that differs contributes, before clipping, in D and in D'.
struct Neighbours {
  Vector with, without;
};

Neighbours random_neighbours(const Problem& problem, std::size_t agent, std::span<const double> x,
                             double tau, RngStream& rng) {
  const std::size_t dim = problem.model.dim(), kinds = 8, kind = rng.below(kinds);
  const auto real = [&] {
    Vector g(dim);
    weighted_loss(problem.model, x, problem.sample(agent, rng.below(problem.samples_per_agent())),
                  g);
    return g;
  };
  const auto spoiled = [&](double value) {
    auto g = real();
    g[rng.below(dim)] = value;
    return g;
  };
  const double lengths[] = {1e-6, 0.5, 1, 2, 1e3, 1e12};
  const auto u = random_vector(dim, tau * lengths[rng.below(6)], rng);
  if (kind == 0) return {real(), real()};
  if (kind == 1) return {u, real()};
  if (kind <= 3) return {u, opposite(u)};
  if (kind == 4) return {random_vector(dim, 1e9 * tau, rng), real()};
  // The square of the norm overflows.
  if (kind == 5) return {spoiled(1e300), opposite(spoiled(1e300))};
  if (kind == 6) return {spoiled(std::numeric_limits<double>::infinity()), real()};
  return {spoiled(std::numeric_limits<double>::quiet_NaN()), u};
}

Dataset numbered(const AuditSetting& setting, const Problem& problem, std::size_t first,
                 std::size_t records) {
  return setting.augment ? SubstitutedModel::numbered_images(problem, first, records)
                         : SubstitutedModel::numbers(records);
}

struct Difference {
  double length;
  bool same_batch;
};

// What goes with the records of each agent: made once, as images are long. Numbers alone are alike.
class NumberedData {
 public:
  NumberedData(const AuditSetting& setting, const Problem& problem)
      : setting_(setting), problem_(problem), made_(setting.augment ? problem.agents : 1) {}

  const Dataset& of(std::size_t agent) {
    const auto m = problem_.samples_per_agent();
    auto& data = made_[setting_.augment ? agent : 0];
    if (data.rows() == 0) data = numbered(setting_, problem_, agent * m, m);
    return data;
  }

 private:
  const AuditSetting& setting_;
  const Problem& problem_;
  std::vector<Dataset> made_;
};

Difference one_replay(const AuditSetting& setting, const Problem& problem, NumberedData& numbers,
                      std::uint32_t trial, ThreadPool& pool) {
  RngStream rng(setting.seed, Draw::test, 2, trial);
  const std::size_t agent = rng.below(problem.agents), m = problem.samples_per_agent();
  const std::size_t first = agent * m, dim = problem.model.dim();
  auto options = seeded_options(setting);
  options.seed = rng.next_u64();
  options.noise_stddev = 0;

  // With one record in thousands drawn, most replays would compare equal batches.
  const auto& data = numbers.of(agent);
  const auto batch =
      GradientEstimator({problem.model, data, 1}, options, pool).draw_batch(0, trial);
  const bool drawn = !batch.empty() && rng.below(8) != 0;
  const std::size_t record = drawn ? batch[rng.below(batch.size())] : rng.below(m);

  const double reach[] = {0, 1, 100};
  Rows X(1, dim);
  rng.fill_normal(X.row(0));
  for (double& value : X.row(0)) value *= reach[trial % 3];
  auto pair = random_neighbours(problem, agent, X.row(0), setting.clip.tau, rng);
  if (setting.adjacency == Adjacency::add_remove) pair.without.assign(dim, 0.0);

  const SubstitutedModel with(problem, first, record, std::move(pair.with));
  const SubstitutedModel without(problem, first, record, std::move(pair.without));
  GradientEstimator estimator({with, data, 1}, options, pool);
  GradientEstimator neighbour({without, data, 1}, options, pool);
  Rows G(1, dim), H(1, dim);
  estimator.estimate(X, trial, G);
  neighbour.estimate(X, trial, H);
  const double length = std::sqrt(squared_distance(G.row(0), H.row(0)));
  return {std::isfinite(length) ? length : std::numeric_limits<double>::infinity(),
          estimator.draw_batch(0, trial) == neighbour.draw_batch(0, trial)};
}

// Sizes that depend on the values sent are as private as the values; they are not compared.
bool sizes_follow_values(const Compressor& compressor, std::size_t dim) {
  std::vector<float> x(dim, 0.0F), y(dim);
  RngStream rng(1, Draw::test, 3, 0);
  for (float& value : y) value = static_cast<float>(rng.normal());
  Payload a, b;
  const RngStream mask(1, Draw::compress_v, 0, 1);
  compressor.encode(x, mask, a);
  compressor.encode(y, mask, b);
  return a.size() != b.size();
}

AuditCheck message_size_check(const AuditSetting& setting, const AuditSubject& subject,
                              ThreadPool& pool) {
  constexpr std::uint32_t kTrials = 8;
  const auto& problem = subject.problem;
  AuditCheck check{.name = "messages whose sizes differ"};
  if (sizes_follow_values(subject.compressor, problem.model.dim())) {
    check.note = "the compressor's sizes follow the noised values, so they are not compared";
    return check;
  }
  const auto data = numbered(setting, problem, 0, problem.train.rows());
  for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
    RngStream rng(setting.seed, Draw::test, 4, trial);
    const std::size_t record = rng.below(data.rows());
    auto options = seeded_options(setting);
    options.seed = rng.next_u64();
    auto pair = random_neighbours(problem, record / problem.samples_per_agent(),
                                  Vector(problem.model.dim(), 0.0), setting.clip.tau, rng);
    const SubstitutedModel with(problem, 0, record, std::move(pair.with));
    const SubstitutedModel without(problem, 0, record, std::move(pair.without));
    check.measured += message_bytes(subject, with, data, options, pool) !=
                      message_bytes(subject, without, data, options, pool);
  }
  check.caught = check.measured > 0;
  check.note = fmt::format("{} pairs of trainings, 3 rounds each", kTrials);
  return check;
}

}  // namespace

AuditRung audit_replay(const AuditSetting& setting, const AuditSubject& subject, std::size_t trials,
                       const AuditProgress& progress) {
  return climb_rung(setting, 1, "replay", [&]() -> std::vector<AuditCheck> {
    ThreadPool pool(1);
    NumberedData numbers(setting, subject.problem);
    double largest = 0, different = 0;
    for (std::size_t trial = 0; trial < trials; ++trial) {
      const auto [length, same_batch] =
          one_replay(setting, subject.problem, numbers, static_cast<std::uint32_t>(trial), pool);
      largest = std::max(largest, length);
      different += same_batch ? 0 : 1;
      progress(static_cast<double>(trial + 1) / static_cast<double>(trials + 1));
    }
    const double limit = setting.sampler.sensitivity(setting.adjacency, setting.clip.tau);
    const auto sizes = message_size_check(setting, subject, pool);
    progress(1);
    return {
        {"distance before the noise", largest, limit, !(largest <= limit),
         fmt::format("{} pairs of neighbours, identical coins", trials)},
        {"batches that differ", different, 0, different > 0, "the batch may depend on coins only"},
        sizes};
  });
}

}  // namespace porter
