// SPDX-License-Identifier: Apache-2.0
#include "mechanism.hpp"

#include <algorithm>
#include <cmath>

#include "porter/core/error.hpp"

namespace porter {
namespace {

double rate_of(const PrivacyEvent& event) {
  if (event.sampler == Sampler::full) return 1;
  if (event.sampler == Sampler::poisson && event.rate) {
    require(*event.rate > 0 && *event.rate <= 1, ErrorKind::usage,
            "sampling rate q: expected a number in (0, 1], found ", *event.rate);
    return *event.rate;
  }
  require(event.records >= 1, ErrorKind::usage, "records m: expected at least 1, found ",
          event.records);
  require(event.batch >= 1 && event.batch <= event.records, ErrorKind::usage,
          "batch b: expected 1 to m = ", event.records, ", found ", event.batch);
  return static_cast<double>(event.batch) / static_cast<double>(event.records);
}

// How many records of a batch a neighbour may change, in the worst case.
double records_changed(const PrivacyEvent& event) {
  if (event.level == PrivacyLevel::record) return 1;
  // A Poisson batch may happen to be everything; the divisor stays b.
  const bool whole = event.sampler != Sampler::fixed;
  const std::size_t changed = whole ? event.records : event.batch;
  require(changed >= 1, ErrorKind::usage, "agent level: expected the number of ",
          whole ? "records m" : "records in a batch b", ", found 0");
  return static_cast<double>(changed);
}

Mechanism checked(const PrivacyEvent& event) {
  const double z = event.noise_multiplier;
  require(z >= 0 && std::isfinite(z), ErrorKind::usage,
          "noise multiplier: expected a finite number >= 0, found ", z);
  const bool replace = event.adjacency == Adjacency::replace;
  Mechanism mechanism{.q = rate_of(event), .steps = event.steps};
  if (event.level == PrivacyLevel::agent) mechanism.q = 1;  // an agent is in every step
  mechanism.mu = (replace ? 2 : 1) * records_changed(event) / z;
  if (mechanism.q == 1) return mechanism;
  require(event.sampler != Sampler::fixed || replace, ErrorKind::usage,
          "batches of fixed size have no certified amplification for add/remove neighbours: use "
          "replace-one neighbours or Poisson sampling");
  if (event.sampler == Sampler::fixed) {
    mechanism.kind = Mechanism::Kind::fixed_replace;
  } else {
    mechanism.kind =
        replace ? Mechanism::Kind::poisson_replace : Mechanism::Kind::poisson_add_remove;
    mechanism.mu = 1 / z;
  }
  return mechanism;
}

// Nothing where a mass is no number, or negative: rounding decides about the losses then.
std::optional<StepLoss> if_sound(StepLoss loss) {
  const bool sound = std::ranges::all_of(
      loss.nodes, [](const auto& node) { return node.mass >= 0 && node.mass <= 2; });
  if (!sound || loss.nodes.empty()) return std::nullopt;
  return loss;
}

}  // namespace

double Mechanism::loss_scale() const { return std::min(mu, q * std::sqrt(std::expm1(mu * mu))); }

LossPair Mechanism::pair() const {
  const bool replace = kind == Kind::poisson_replace;
  return {replace ? LossPair::Kind::replace : LossPair::Kind::remove, q, mu};
}

std::optional<StepLoss> Mechanism::step_loss(Direction direction, const GridSpec& grid) const {
  if (!LossGrid::fits(pair(), grid)) return std::nullopt;
  const LossGrid pair_grid(pair(), grid);
  if (kind == Kind::fixed_replace && direction == Direction::symmetrised)
    return if_sound(pair_grid.symmetrised());
  return if_sound(direction == Direction::reverse ? pair_grid.reverse() : pair_grid.forward());
}

std::optional<StepLoss> Mechanism::inner_step_loss(Direction direction,
                                                   const GridSpec& grid) const {
  if (!LossGrid::fits(pair(), grid)) return std::nullopt;
  const InnerGrid pair_grid(pair(), grid);
  return if_sound(direction == Direction::reverse ? pair_grid.reverse() : pair_grid.forward());
}

std::vector<Mechanism> checked_mechanisms(std::span<const PrivacyEvent> events) {
  std::vector<Mechanism> mechanisms;
  for (const auto& event : events) {
    require(event.adjacency == events.front().adjacency && event.level == events.front().level,
            ErrorKind::usage, "events with different neighbour relations do not compose");
    const auto mechanism = checked(event);
    if (mechanism.steps > 0) mechanisms.push_back(mechanism);
  }
  return mechanisms;
}

void check_delta(double delta) {
  require(delta > 0 && delta < 1, ErrorKind::usage, "delta: expected a number in (0, 1), found ",
          delta);
}

bool any_of_kind(std::span<const Mechanism> mechanisms, Mechanism::Kind kind) {
  return std::ranges::any_of(mechanisms, [&](const Mechanism& m) { return m.kind == kind; });
}

bool all_gaussian(std::span<const Mechanism> mechanisms) {
  return std::ranges::all_of(
      mechanisms, [](const Mechanism& m) { return m.kind == Mechanism::Kind::gaussian; });
}

bool without_noise(std::span<const Mechanism> mechanisms) {
  return std::ranges::any_of(mechanisms, [](const Mechanism& m) { return std::isinf(m.mu); });
}

double total_mu(std::span<const Mechanism> mechanisms) {
  double squares = 0, largest = 0;
  for (const auto& m : mechanisms) {
    squares += static_cast<double>(m.steps) * m.mu * m.mu;
    largest = std::max(largest, m.mu);
  }
  if (std::isnormal(squares) || largest == 0) return std::sqrt(squares);
  squares = 0;  // once more, without overflow or underflow
  for (const auto& m : mechanisms)
    squares += static_cast<double>(m.steps) * std::pow(m.mu / largest, 2);
  return largest * std::sqrt(squares);
}

double unamplified_mu(std::span<const Mechanism> mechanisms) {
  std::vector<Mechanism> all(mechanisms.begin(), mechanisms.end());
  // A replacement moves the sum by two records' worth.
  for (auto& m : all)
    if (m.kind == Mechanism::Kind::poisson_replace) m.mu *= 2;
  return total_mu(all);
}

double total_steps(std::span<const Mechanism> mechanisms) {
  double steps = 0;
  for (const auto& m : mechanisms) steps += static_cast<double>(m.steps);
  return steps;
}

}  // namespace porter
