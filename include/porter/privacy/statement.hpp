// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "porter/privacy/accountant.hpp"
#include "porter/privacy/clip.hpp"
#include "porter/privacy/pair_noise.hpp"

namespace porter {

/// Where noise and batches come from.
enum class NoiseSource {
  simulated,  ///< the seed: the same run again, and no privacy
  secret,     ///< the operating system
};
template <>
struct Choices<NoiseSource> {
  static constexpr Choice<NoiseSource> table[] = {{"simulated", NoiseSource::simulated},
                                                  {"secure", NoiseSource::secret}};
};

/// What a run promises each of its agents, and what that rests on: privacy.json, and the object
/// `privacy` of summary.json. Who decides anything reads these fields; the sentence is for people.
struct PrivacyStatement {
  std::string sentence;
  bool guaranteed = false;           ///< epsilon->upper and delta may be promised to others
  std::optional<NoiseSource> noise;  ///< nothing: none is added
  double sigma = 0;  ///< of the noise on the averaged gradient; what it is worth where it is shared
  std::string clip;  ///< as in the config
  ClipTarget clip_target = ClipTarget::sample;
  std::size_t batch = 0, records = 0;
  std::uint32_t rounds = 0;
  std::uint64_t releases = 0;   ///< noised gradients of an agent that may have left
  std::optional<double> delta;  ///< this and the next four where noise was asked for
  std::optional<Sampler> sampler;
  std::string relation;                    ///< which data sets are neighbours: replace | zero-out
  std::string calibration;                 ///< where sigma comes from
  std::optional<double> target_epsilon;    ///< what was asked for
  std::optional<EpsilonInterval> epsilon;  ///< of all releases; as if secret where simulated
  /// Where ranges, means or deviations were measured: `epsilon` holds both, and this is what each
  /// would cost alone.
  struct Parts {
    std::uint64_t statistics = 0;  ///< their releases
    double statistics_sigma = 0;
    double statistics_epsilon = 0, training_epsilon = 0;
  };
  std::optional<Parts> parts;
  /// Where neighbours share noise: the promise is then against whoever reads all messages and up to
  /// so many agents that collude, not against all others together.
  struct Shared {
    NoiseShape shape = NoiseShape::pairwise;
    std::size_t colluders = 0;
    double own_sigma = 0, pair_sigma = 0;  ///< of an agent's own noise, and of that of each pair
    bool enumerated = false;               ///< PairWorth
  };
  std::optional<Shared> shared;
  /// Where agents have rates or budgets of their own, one entry for each; what stands above is that
  /// of the agent whose records have the largest epsilon.
  struct Agent {
    std::size_t records = 0, batch = 0;
    double sigma = 0, budget = 0;
    std::optional<double> epsilon;  ///< certified
  };
  std::vector<Agent> agents;
  /// Where rounds differ: sigma and tau of each phase; sigma above is that of factors 1.
  struct Phase {
    std::uint32_t rounds = 0;
    double sigma = 0, clip = 0;
  };
  std::vector<Phase> phases;
  std::vector<std::string> not_covered, warnings;
};

/// The text of privacy.json. What is not finite becomes null.
std::string statement_json(const PrivacyStatement& statement);

/// Reads it back. Error{io} names `source` and the key that is missing, of another type, or at odds
/// with the others: a guarantee needs secret noise, clipping of each sample and the finite epsilon
/// and the delta that stand beside it. Texts come back without control characters.
PrivacyStatement parse_statement(std::string_view json, const std::string& source);

/// The statement of a file, or nothing where there is no such file.
std::optional<PrivacyStatement> load_statement(const std::filesystem::path& file);

}  // namespace porter
