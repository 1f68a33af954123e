// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "porter/config/config.hpp"
#include "porter/privacy/accountant.hpp"
#include "porter/privacy/batch_sampler.hpp"
#include "porter/privacy/statement.hpp"

namespace porter {

class AccountantCache;
class SecureNoise;

/// The noise of a run and what it is worth to each agent: local differential privacy of its records
/// against everybody else, at the config's delta. A release is one round's noised gradient of one
/// agent.
class RunPrivacy {
 public:
  /// Works out sigma. Error{usage} names the key that makes the request impossible. Runs of one
  /// process may share a cache.
  RunPrivacy(const Config& config, const BatchSampler& sampler, std::size_t dim,
             std::shared_ptr<AccountantCache> cache = nullptr);
  ~RunPrivacy();

  double sigma() const { return sigma_; }
  /// Null unless the noise is secret.
  const std::shared_ptr<const SecureNoise>& secure() const { return secure_; }

  /// 1/m: a delta that is not below it permits publishing a record.
  double one_record() const { return 1 / static_cast<double>(sampler_.records()); }

  /// What so many releases have cost, certified; nothing where nothing can be certified (no noise,
  /// or no clipping of each sample). Before the last round it comes from the coarser grid of
  /// EpsilonCurve: mostly within 4 % above interval().upper, up to 20 % in the first ten rounds,
  /// and more where epsilon has just left 0. Simulated noise is accounted as if it were secret.
  std::optional<double> epsilon(std::uint64_t releases) const;
  /// Both bounds after so many releases; computed once.
  std::optional<EpsilonInterval> interval(std::uint64_t releases) const;
  /// How many releases the budget is known to allow, up to the config's rounds.
  std::uint64_t most_releases() const { return most_releases_; }
  /// Whether the budget allows so many releases. It is made for the config's rounds, and may have
  /// room for some more. Secret noise stops there, simulated noise never does.
  bool allows(std::uint64_t releases) const;

  /// What is, and is not, guaranteed after so many releases, as far as noise and config tell it:
  /// without rounds and warnings.
  PrivacyStatement statement(std::uint64_t releases) const;
  /// That in one sentence.
  std::string sentence(std::uint64_t releases) const;
  /// What the user should know about the request.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void calibrate();
  void check_delta();
  void account();
  bool two_gradients() const;  // whether a release holds gradients at two points
  PrivacyEvent event(std::uint64_t releases) const;
  EpsilonInterval computed_interval(std::uint64_t releases) const;
  std::string relation() const;
  std::vector<std::string> not_covered() const;

  Config config_;
  BatchSampler sampler_;
  std::size_t dim_;
  double tau_ = 0, sigma_ = 0;
  double accounted_delta_ =
      0;  // a millionth below delta where the secure sampler's distance is charged
  bool accounted_ = false;  // whether anything can be certified
  std::shared_ptr<const SecureNoise> secure_;
  std::shared_ptr<AccountantCache> cache_;
  std::shared_ptr<const EpsilonCurve> curve_;
  std::uint64_t most_releases_ = 0;
  std::vector<std::string> notes_;
  struct Intervals;
  std::unique_ptr<Intervals> intervals_;
};

}  // namespace porter
