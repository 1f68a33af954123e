// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "porter/core/choice.hpp"

namespace porter {

/// How a step chooses its records.
enum class Sampler {
  fixed,    ///< exactly b of m, without replacement
  poisson,  ///< each record on its own with probability q
  full,     ///< all of them
};
template <>
struct Choices<Sampler> {
  static constexpr Choice<Sampler> table[] = {
      {"fixed", Sampler::fixed}, {"poisson", Sampler::poisson}, {"full", Sampler::full}};
};

/// Which data sets are neighbours.
enum class Adjacency { replace, add_remove };
template <>
struct Choices<Adjacency> {
  static constexpr Choice<Adjacency> table[] = {{"replace", Adjacency::replace},
                                                {"add-remove", Adjacency::add_remove}};
};

/// What a neighbour changes: one record, or all records of the agent.
enum class PrivacyLevel { record, agent };
template <>
struct Choices<PrivacyLevel> {
  static constexpr Choice<PrivacyLevel> table[] = {{"record", PrivacyLevel::record},
                                                   {"agent", PrivacyLevel::agent}};
};

/// A number of like steps: each clips every record to tau, adds them up, divides by the configured
/// b and adds N(0, sigma^2) to every coordinate. All divisors are known beforehand.
struct PrivacyEvent {
  Sampler sampler = Sampler::fixed;
  Adjacency adjacency = Adjacency::replace;
  PrivacyLevel level = PrivacyLevel::record;
  std::size_t records = 0;  ///< m; Poisson needs it only for the agent level or without a rate
  std::size_t batch = 0;    ///< b; for full batches m is taken
  std::optional<double> rate = {};  ///< q of Poisson sampling; b / m unless given
  double noise_multiplier = 0;      ///< z = sigma b / tau; 0 is no noise: epsilon is infinite
  std::uint64_t steps = 1;

  friend auto operator<=>(const PrivacyEvent&, const PrivacyEvent&) = default;
};

/// The noise multiplier of a standard deviation on the averaged gradient: sigma b / tau.
double noise_multiplier(double sigma, std::size_t batch, double clip);

/// The true epsilon lies between these two. `upper` is certified: discretisation, truncation,
/// wrap-around and rounding of the transform are all counted against us. `lower` is what an
/// explicit pair of data sets gives away at least: there all of these are taken off. It may be 0.
struct EpsilonInterval {
  double lower = 0, upper = 0;
  std::string method;
};

/// Functions with short names have a namespace of their own.
namespace privacy {

/// The smallest epsilon at this delta for all events one after the other, adaptively chosen.
/// Events may differ in everything but the adjacency and the level.
EpsilonInterval epsilon(std::span<const PrivacyEvent> events, double delta);
EpsilonInterval epsilon(const PrivacyEvent& event, double delta);

/// The smallest delta at this epsilon, certified from above.
double delta(std::span<const PrivacyEvent> events, double epsilon);

}  // namespace privacy

/// A valid but looser epsilon from Renyi differential privacy, computed independently of the above:
/// never smaller than the truth. Infinite for Poisson sampling with replace-one neighbours, for
/// which we know no bound of this kind that counts the sampling.
double renyi_epsilon(std::span<const PrivacyEvent> events, double delta);

/// The smallest noise multiplier, to 1e-4 relative from above, whose certified epsilon is at most
/// `target`; event.noise_multiplier is ignored. sigma = z tau / b. It has 20 significant bits, so
/// that machines whose C libraries differ in the last ones find the same.
double calibrate_noise_multiplier(PrivacyEvent event, double target, double delta);
/// The same where other events have been before: it is that of all together that is at most
/// `target`. Error{usage} where those alone cost as much.
double calibrate_noise_multiplier(const PrivacyEvent& event, double target, double delta,
                                  std::span<const PrivacyEvent> before);

/// For unlike phases whose noise multipliers are known up to a common factor: the smallest such
/// factor, to 1e-4 relative from above, with which all phases together, and what was there
/// `before`, cost at most `target`. One phase: calibrate_noise_multiplier over its multiplier.
double calibrate_noise_scale(std::span<const PrivacyEvent> phases, double target, double delta,
                             std::span<const PrivacyEvent> before = {});

/// The certified epsilon of one event after any number of steps up to event.steps, at a fraction of
/// the cost of epsilon(): the loss of a single step is discretised once, on the coarsest grid that
/// costs at most 0.5 % after event.steps, each value then takes one short transform, and counts of
/// more than 64 steps are rounded up by at most 3 %. Epsilon grows with the steps, so such a value
/// holds. Events that were there `before` are in all values. May be shared by threads.
class EpsilonCurve {
 public:
  EpsilonCurve(const PrivacyEvent& event, double delta, std::span<const PrivacyEvent> before = {});
  ~EpsilonCurve();
  EpsilonCurve(EpsilonCurve&&) noexcept;
  EpsilonCurve& operator=(EpsilonCurve&&) noexcept;

  /// Never below the truth; after event.steps what epsilon() gives. The grid that suits the end is
  /// coarse for few: mostly within 4 % above epsilon(), up to 20 % below ten steps, and more where
  /// epsilon has just left 0 (1.8 times a tiny value was seen).
  double upper(std::uint64_t steps) const;
  /// What epsilon() gives.
  double exact(std::uint64_t steps) const;
  /// What epsilon() gives after event.steps, with both bounds; the upper one is known already.
  EpsilonInterval interval() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace porter
