// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "porter/algo/algorithm.hpp"

namespace porter {

/// Mistakes that implementations of private training make. The audit can plant one in what it
/// looks at, while the promise stays that of the setting, to show that it would be caught.
enum class Fault {
  none,
  batch_clip,        ///< the mean of the batch is clipped, not each sample; needs b > 1 to matter
  sigma_over_b,      ///< sigma is that of the mean already, and is divided by b once more; b > 1
  variance,          ///< variance and standard deviation confused, whichever way weakens the noise
  reused_noise,      ///< noise is a function of the round number: a restart repeats it
  shared_noise,      ///< all agents add the same noise
  labels_from_data,  ///< classes and width are what the records hold, not what was stated
};

struct FaultInfo {
  Fault fault;
  std::string name, help;
};
const std::vector<FaultInfo>& fault_table();
/// Error{usage} listing the known names.
Fault parse_fault(std::string_view name);

/// What is promised and audited: `rounds` times draw a batch, clip, average, add N(0, sigma^2 I).
struct AuditSetting {
  BatchSampler sampler;
  Adjacency adjacency = Adjacency::replace;
  Clip clip = {};
  ClipTarget clip_target = ClipTarget::sample;
  /// As in GradientOptions.
  Augmentation augment = {};
  ImageShape image = {};
  double sigma = 0;
  std::uint32_t rounds = 1;
  double delta = 0;
  bool secure = false;          ///< noise and batches from secret streams; else from the seed
  std::optional<double> claim;  ///< audit this epsilon in place of the certified one
  Fault fault = Fault::none;
  std::uint64_t seed = 1;
};

/// Error{usage} unless the setting makes a promise that the accountant knows: sigma > 0, a clip, a
/// sampler that fits the neighbours, 0 < delta < 1.
void check_setting(const AuditSetting& setting);

/// The certified epsilon of the promise, whatever fault is planted: that of a run's statement.
EpsilonInterval certified_epsilon(const AuditSetting& setting);

/// The training in which rungs 1, 2 and 4 look for leaks. Views: the owner outlives them.
struct AuditSubject {
  Problem problem;
  const Network* network;  ///< null where the algorithm has no graph
  const Compressor& compressor;
  std::string algorithm = "porter-dp";
  double eta = 0.01, gamma = 0.02;
};

/// A subject made up around a bare mechanism: logistic regression on random records, three agents
/// who all hear each other, uncompressed messages.
class BareSubject {
 public:
  explicit BareSubject(const AuditSetting& setting);
  AuditSubject subject() const;

 private:
  Dataset data_;
  std::unique_ptr<const Model> model_;
  Network network_;
  std::unique_ptr<const Compressor> compressor_;
};

/// One thing that was measured and what it may be at most.
struct AuditCheck {
  std::string name;
  double measured = 0, limit = 0;
  bool caught = false;
  std::string note = {};  ///< the figures behind it
};

struct AuditRung {
  int rung = 0;
  std::string title;
  std::vector<AuditCheck> checks;
  double seconds = 0;

  bool caught() const;
};

/// How sure a finding is: what holds is called caught with at most 1 - kAuditConfidence.
inline constexpr double kAuditConfidence = 0.999;

/// Told the share of the work that is done, on the calling thread.
using AuditProgress = std::function<void(double)>;

/// Rung 1. One step on D and D' with identical coins: what enters the noise moves by at most
/// 2 tau / b (add/remove: tau / b) and the batches and message sizes are the same. The record that
/// differs is real, random or adversarial: opposed, huge, overflowing, infinite, not a number.
AuditRung audit_replay(const AuditSetting& setting, const AuditSubject& subject, std::size_t trials,
                       const AuditProgress& progress);

/// Rung 2. Phantom parameters, whose true gradient is zero, ride along in training: variance, mean,
/// correlation from round to round, between agents, and with the same rounds after a restart.
AuditRung audit_noise(const AuditSetting& setting, const AuditSubject& subject, ThreadPool& pool,
                      const AuditProgress& progress);

/// Rung 3. The sampler, clip and noise on the data sets that leak most, `runs` times with and
/// without the canary; the likelihood ratio tells them apart: a lower bound on epsilon.
AuditRung audit_mechanism(const AuditSetting& setting, std::size_t runs, ThreadPool& pool,
                          const AuditProgress& progress);

/// Whether rung 4 can listen: to two agents or more whose messages carry gradient trackers.
bool can_listen(const AuditSetting& setting, const AuditSubject& subject);

/// Rung 4. PORTER-DP on the subject's network with a canary at agent 0, `runs` times each way. The
/// attacker is its first neighbour and uses the messages that it hears.
AuditRung audit_end_to_end(const AuditSetting& setting, const AuditSubject& subject,
                           std::size_t runs, ThreadPool& pool, const AuditProgress& progress);

/// Rung 5. Data files in which one record is replaced, by one with another label, with a label or a
/// feature that nobody knows, by what is no number, go through the loader as an agent's own file
/// does: what enters the noise moves by at most 2 tau / b, and not at all where the record was not
/// drawn; no file is refused and no model, batch or message has another size for one record.
AuditRung audit_loader(const AuditSetting& setting, const AuditProgress& progress);

/// "passed: ..." or "CAUGHT: ..." with what and by how much.
std::string audit_verdict(const AuditSetting& setting, const std::vector<AuditRung>& rungs);

}  // namespace porter
