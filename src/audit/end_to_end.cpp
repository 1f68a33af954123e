// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "mechanism.hpp"
#include "models.hpp"
#include "porter/core/error.hpp"
#include "target.hpp"

namespace porter {
namespace {

constexpr std::size_t kVictim = 0;
// More coordinates cost time and tell the attacker nothing.
constexpr std::size_t kLargestDim = 128;

// What the neighbour does with the messages. They carry V (and X), compressed; both ends hold the
// surrogate Q, which is where the decoded messages add up. In the notation of PORTER's step
//   V(t) = U(t) + G(t),   U(t) = U(t - 1) + gamma sum_j (W - I)_ji Q_j(t),
// so whoever hears the victim i and its neighbours j knows G of every coordinate that was sent. A
// neighbour who is not heard is taken to agree with the victim. The canary is in coordinate 0.
class Eavesdropper {
 public:
  explicit Eavesdropper(const AuditSubject& subject) : gamma_(subject.gamma) {
    const auto& graph = subject.network->graph;
    const auto attacker = graph.neighbours(kVictim).front();
    const auto& heard = graph.neighbours(attacker);
    const auto columns = subject.network->mixing.weights.transposed();
    for (const auto& [j, w] : columns.row(kVictim)) {
      const double weight = w - (j == kVictim ? 1 : 0);
      const bool known =
          j == kVictim || j == attacker || std::find(heard.begin(), heard.end(), j) != heard.end();
      incoming_.push_back({known ? j : std::uint32_t{kVictim}, weight});
    }
  }

  /// The next messages have arrived: what they tell of the gradient of the round before, if
  /// coordinate 0 was among them.
  std::optional<double> hear(const Rows& Q) {
    const double before = std::exchange(q_, Q.row(kVictim)[0]), gradient = q_ - u_;
    for (const auto& [sender, weight] : incoming_) u_ += gamma_ * weight * Q.row(sender)[0];
    return q_ == before ? std::nullopt : std::optional(gradient);
  }

 private:
  double gamma_, q_ = 0, u_ = 0;
  std::vector<MixingWeight> incoming_;
};

class CanaryTraining {
 public:
  CanaryTraining(const AuditSetting& setting, const AuditSubject& subject)
      : rounds_(setting.rounds),
        subject_(subject),
        worst_(setting),
        model_(std::min(subject.problem.model.dim(), kLargestDim)),
        options_(planted_options(setting, model_.dim())),
        with_(worst_.data(subject.problem.agents, setting.sampler.records() / 2, true)),
        without_(worst_.data(subject.problem.agents, setting.sampler.records() / 2, false)) {
    options_.image = {1, 1};  // the one feature: its copies are alike, wherever they move
  }

  std::unique_ptr<Algorithm> begin(std::uint64_t seed, bool with, ThreadPool& pool) const {
    auto options = options_;
    options.seed = seed;
    return audited_algorithm(subject_, model_, with ? with_ : without_, options, pool);
  }

  /// The attacker's likelihood ratio after all rounds.
  double score(std::uint64_t seed, bool with, ThreadPool& pool) const {
    const auto algorithm = begin(seed, with, pool);
    const Rows* Q = algorithm->published_trackers();
    Eavesdropper neighbour(subject_);
    algorithm->step(1);  // its message is the empty tracker
    neighbour.hear(*Q);
    double score = 0;
    // The gradient of a round is in the message of the next.
    for (std::uint32_t round = 2; round <= rounds_ + 1; ++round) {
      algorithm->step(round);
      if (const auto gradient = neighbour.hear(*Q)) score += worst_.score(*gradient);
    }
    return score;
  }

 private:
  std::uint32_t rounds_;
  const AuditSubject& subject_;
  WorstCase worst_;
  FeatureModel model_;
  GradientOptions options_;
  Dataset with_, without_;
};

}  // namespace

bool can_listen(const AuditSetting& setting, const AuditSubject& subject) {
  ThreadPool alone(1);
  return subject.problem.agents >= 2 &&
         CanaryTraining(setting, subject).begin(0, false, alone)->published_trackers() != nullptr;
}

AuditRung audit_end_to_end(const AuditSetting& setting, const AuditSubject& subject,
                           std::size_t runs, ThreadPool& pool, const AuditProgress& progress) {
  check_setting(setting);
  require(can_listen(setting, subject), ErrorKind::usage,
          "the end-to-end audit reads the messages of porter-dp between two agents or more, found ",
          subject.problem.agents, " of ", subject.algorithm);
  const CanaryTraining training(setting, subject);
  const auto score = [&](std::span<double> scores, std::size_t first, bool with) {
    ThreadPool alone(1);
    for (std::size_t i = 0; i < scores.size(); ++i)
      scores[i] = training.score(run_seed(setting.seed, first + i, with), with, alone);
  };
  return attack_rung(setting, 4, "end to end", runs, pool, progress, score);
}

}  // namespace porter
