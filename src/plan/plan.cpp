// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "porter/core/error.hpp"
#include "porter/core/thread_pool.hpp"
#include "privacy/paper.hpp"
#include "privacy/quick_noise.hpp"

namespace porter {
namespace {

constexpr std::uint64_t kMaxRounds = 10'000'000;
constexpr std::size_t kMaxBatches = 8;
constexpr double kSlack = 1.25;  // the prediction of a floor is not better than that
constexpr double kFarTooManyRounds = 1e6;

void check(const PlanRequest& request) {
  const auto number = [](const char* name, double value, bool good, const char* expected) {
    require(good && std::isfinite(value), ErrorKind::usage, name, ": expected ", expected,
            ", found ", value);
  };
  const auto positive = [&](const char* name, double value) {
    number(name, value, value > 0, "a positive number");
  };
  const double alpha = request.alpha, rho = request.rho, delta = request.delta;
  require(request.records >= 1, ErrorKind::usage, "records m: expected at least 1, found 0");
  require(request.agents >= 1, ErrorKind::usage, "agents n: expected at least 1, found 0");
  require(request.dim >= 1, ErrorKind::usage, "dimension d: expected at least 1, found 0");
  number("alpha", alpha, alpha >= 0 && alpha < 1, "a number in [0, 1)");
  number("rho", rho, rho > 0 && rho <= 1, "a number in (0, 1]");
  positive("epsilon", request.epsilon);
  number("delta", delta, delta > 0 && delta < 1, "a number in (0, 1)");
  positive("clip", request.clip);
  if (request.bytes_per_vector) positive("bytes of a vector", *request.bytes_per_vector);
  const auto m = static_cast<double>(request.records);
  require(!allows_publishing(delta, m) || request.allow_large_delta, ErrorKind::usage,
          delta_concern(delta, m), " (allow_large_delta overrides)");
  require(!request.batch || (*request.batch >= 1 && *request.batch <= request.records),
          ErrorKind::usage, "batch: expected 1 to m = ", request.records, ", found ",
          request.batch.value_or(0));
  require(!request.rounds || (*request.rounds >= 1 && *request.rounds <= kMaxRounds),
          ErrorKind::usage, "rounds: expected 1 to ", kMaxRounds, ", found ",
          request.rounds.value_or(0));
  require(request.sampler != Sampler::full ||
              request.batch.value_or(request.records) == request.records,
          ErrorKind::usage, "batch: a full batch has m = ", request.records, " records, found ",
          request.batch.value_or(0));
}

template <class Value>
void insert_sorted(std::vector<Value>& values, Value value) {
  const auto at = std::lower_bound(values.begin(), values.end(), value);
  if (at == values.end() || *at != value) values.insert(at, value);
}

// Powers of two, evenly thinned where there are many, and m.
std::vector<std::size_t> batches_for(const PlanRequest& request) {
  if (request.sampler == Sampler::full) return {request.records};
  int octaves = 0;
  while ((request.records >> octaves) > 1) ++octaves;
  const int stride = octaves / static_cast<int>(kMaxBatches - 1) + 1;
  std::vector<std::size_t> batches;
  for (int k = 0; k <= octaves; k += stride) batches.push_back(std::size_t{1} << k);
  insert_sorted(batches, request.records);
  if (request.batch) insert_sorted(batches, *request.batch);
  return batches;
}

std::vector<std::uint64_t> rounds_for(const PlanRequest& request, double gossip_rounds) {
  std::vector<std::uint64_t> rounds = {30, 100, 300, 1000, 3000, 10'000, 30'000, 100'000};
  if (request.rounds)
    insert_sorted(rounds, *request.rounds);
  else if (gossip_rounds > 1e5 && gossip_rounds <= kFarTooManyRounds)
    rounds.push_back(static_cast<std::uint64_t>(std::ceil(gossip_rounds)));
  return rounds;
}

// The rows are independent; within a row each answer bounds the next one from below.
void fill_cells(const PlanRequest& request, Plan& plan, const PlanProgress& progress,
                std::size_t threads) {
  const std::size_t columns = plan.rounds.size();
  plan.cells.resize(plan.batches.size() * columns);
  std::mutex mutex;
  std::size_t done = 0;
  ThreadPool pool(threads);
  pool.parallel_for(plan.batches.size(), [&](std::size_t row) {
    double z = 0;
    for (std::size_t column = 0; column < columns; ++column) {
      const auto event = request.event(plan.batches[row], plan.rounds[column]);
      z = quick_noise_multiplier(event, request.epsilon, request.delta, z);
      plan.cells[row * columns + column] = request.cell(event, z);
      const std::lock_guard lock(mutex);
      if (progress) progress(++done, plan.cells.size());
    }
  });
}

PlanCell recommend(const PlanRequest& request, const Plan& plan) {
  std::vector<PlanCell> candidates;
  for (const auto& cell : plan.cells)
    if (request.allows(cell)) candidates.push_back(cell);
  const auto& best = candidates[recommended_index(candidates, plan.gossip_rounds)];
  const auto event = request.event(best.batch, best.rounds);
  return request.cell(event, calibrate_noise_multiplier(event, request.epsilon, request.delta));
}

// The same promise by the sampler whose worst pair of data sets is known, not only bounded.
void note_poisson(const PlanRequest& request, Plan& plan) {
  if (request.sampler != Sampler::fixed) return;
  constexpr double kWorthSaying = 0.01;
  auto other = request;
  other.sampler = Sampler::poisson;
  const auto& here = plan.recommended;
  const auto event = other.event(here.batch, here.rounds);
  const double sigma =
      other.cell(event, calibrate_noise_multiplier(event, request.epsilon, request.delta)).sigma;
  const double saved = 1 - sigma / here.sigma;
  if (saved < kWorthSaying) return;
  plan.notes.push_back(
      concat("Poisson sampling (--sampler poisson; privacy.sampler in a config) "
             "needs ",
             std::round(1000 * saved) / 10, " % less noise there, sigma = ", sigma));
}

void judge(const PlanRequest& request, Plan& plan) {
  const double m = static_cast<double>(request.records);
  const bool publishes = allows_publishing(request.delta, m);
  const auto concern = delta_concern(request.delta, m);
  if (publishes) plan.hopeless.push_back(concern);
  if (plan.orders.phi >= 1)
    plan.hopeless.push_back(concat(
        "phi_m = ", plan.orders.phi,
        " is not below 1: the paper's theorems allow less than one round (T = phi_m^-2); more "
        "records, fewer parameters or a larger epsilon are needed"));
  const auto least = std::min_element(
      plan.cells.begin(), plan.cells.end(),
      [](const auto& a, const auto& b) { return a.noise_to_signal < b.noise_to_signal; });
  if (least->noise_to_signal > 1)
    plan.hopeless.push_back(
        concat("the noise is above the signal everywhere: noise-to-signal is at least ",
               least->noise_to_signal, ", at b = ", least->batch, ", T = ", least->rounds));

  if (!publishes && !concern.empty()) plan.notes.push_back(concern);
  if (plan.orders.bound >= 1)
    plan.notes.push_back(concat("the order of Theorem 2's bound is ", plan.orders.bound,
                                ", not below 1: it says nothing about this setting"));
  if (plan.recommended.floor >= 1)
    plan.notes.push_back(concat("the predicted floor of the recommendation is ",
                                plan.recommended.floor,
                                " tau^2, not below tau^2: expect little or no progress"));
  if (static_cast<double>(plan.recommended.rounds) < plan.gossip_rounds)
    plan.notes.push_back(concat("gossip needs about 1/((1-alpha)^2 rho) = ", plan.gossip_rounds,
                                " rounds, more than the recommended ", plan.recommended.rounds,
                                ": the agents will not agree; a better connected graph or a "
                                "compressor with a larger rho helps"));
}

}  // namespace

bool PlanRequest::allows(const PlanCell& cell) const {
  return cell.batch == batch.value_or(cell.batch) && cell.rounds == rounds.value_or(cell.rounds);
}

PrivacyEvent PlanRequest::event(std::size_t cell_batch, std::uint64_t cell_rounds) const {
  PrivacyEvent event;
  event.sampler = sampler;
  event.adjacency = adjacency;
  event.records = records;
  event.batch = cell_batch;
  event.steps = cell_rounds;
  return event;
}

PlanCell PlanRequest::cell(const PrivacyEvent& event, double noise_multiplier) const {
  PlanCell cell{.batch = event.batch, .rounds = event.steps, .bytes = {}};
  cell.sigma = noise_multiplier * clip / static_cast<double>(event.batch);
  cell.noise_to_signal =
      cell.sigma / clip * std::sqrt(static_cast<double>(dim) / static_cast<double>(agents));
  cell.floor = predicted_floor(*this, cell.batch, cell.rounds, cell.noise_to_signal);
  if (bytes_per_vector) cell.bytes = 2 * *bytes_per_vector * static_cast<double>(cell.rounds);
  return cell;
}

TheoremOrders theorem_orders(const PlanRequest& request) {
  const double mixing = 1 - request.alpha, rho = request.rho;
  TheoremOrders orders;
  orders.phi = paper_phi(static_cast<double>(request.dim), request.delta,
                         static_cast<double>(request.records), request.epsilon);
  orders.rounds = 1 / (orders.phi * orders.phi);
  orders.gamma = mixing * rho;
  orders.eta = std::pow(orders.gamma * rho, 4.0 / 3) * orders.phi;
  const double slowdown = std::pow(rho, -4.0 / 3) * std::pow(mixing, -8.0 / 3);
  orders.bound = orders.phi * slowdown;
  orders.clip = 365 * slowdown * std::sqrt(orders.phi);
  return orders;
}

std::vector<SideCondition> side_conditions(const PlanRequest& request, std::size_t batch,
                                           double rounds) {
  const auto orders = theorem_orders(request);
  const double m = static_cast<double>(request.records), size = static_cast<double>(batch);
  const double sigma = paper_sigma(request.clip, rounds, request.delta, m, request.epsilon);
  const double largest_epsilon = rounds / (m * m);
  const bool is_order = std::abs(rounds - orders.rounds) <= 0.5;  // whole rounds meet it no better
  return {{"1-3", "b = 1", size, 1, batch == 1},
          {"1", "epsilon <= T / m^2", request.epsilon, largest_epsilon,
           request.epsilon <= largest_epsilon},
          {"1 (lemma)", "sigma_p >= tau", sigma, request.clip, sigma >= request.clip},
          {"2, 3", "phi_m < 1", orders.phi, 1, orders.phi < 1},
          {"2, 3", "T = phi_m^-2", rounds, orders.rounds, is_order},
          {"3", "tau >= 365 rho^-4/3 (1-alpha)^-8/3 phi_m^1/2", request.clip, orders.clip,
           request.clip >= orders.clip}};
}

double predicted_floor(const PlanRequest& request, std::size_t batch, std::uint64_t rounds,
                       double noise_to_signal) {
  const double b = static_cast<double>(batch), steps = static_cast<double>(rounds);
  const double sampling =
      (1 - b / static_cast<double>(request.records)) / (static_cast<double>(request.agents) * b);
  const double variance = noise_to_signal * noise_to_signal + sampling;
  return 2 / steps + 2 * std::sqrt(2 * variance / steps);
}

std::size_t recommended_index(const std::vector<PlanCell>& cells, double least_rounds) {
  require(!cells.empty(), ErrorKind::usage, "no cell to recommend");
  const auto most = std::ranges::max(cells, {}, &PlanCell::rounds).rounds;
  const double bound = std::min(least_rounds, static_cast<double>(most));
  const auto too_short = [&](const PlanCell& cell) {
    return static_cast<double>(cell.rounds) < bound;
  };
  const auto least = std::ranges::min(
      cells, {}, [&](const PlanCell& cell) { return std::pair(too_short(cell), cell.floor); });
  const auto best = std::ranges::min_element(cells, {}, [&](const PlanCell& cell) {
    const bool too_high = cell.floor > kSlack * least.floor;
    return std::tuple(too_short(cell), too_high, cell.rounds, cell.batch);
  });
  return static_cast<std::size_t>(best - cells.begin());
}

Plan make_plan(const PlanRequest& request, const PlanProgress& progress, std::size_t threads) {
  check(request);
  Plan plan;
  plan.orders = theorem_orders(request);
  plan.gossip_rounds = 1 / (std::pow(1 - request.alpha, 2) * request.rho);
  plan.batches = batches_for(request);
  plan.rounds = rounds_for(request, plan.gossip_rounds);
  fill_cells(request, plan, progress, threads);
  plan.recommended = recommend(request, plan);
  judge(request, plan);
  note_poisson(request, plan);
  return plan;
}

}  // namespace porter
