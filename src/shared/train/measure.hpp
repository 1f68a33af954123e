// SPDX-License-Identifier: Apache-2.0
// Ranges, means and deviations that a schema leaves to the run: each statistic is a run of one
// round whose "gradient" is that statistic, so that noise, ledger, journal, consent and checkpoints
// are those of every run.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "data/measure.hpp"
#include "porter/train/train.hpp"

namespace porter {

/// One statistic of a config's schema.
class Measurement {
 public:
  /// `schema`: the config's, with what has been measured before. `graph` in place of the config's.
  Measurement(const Config& config, std::shared_ptr<const Schema> schema, Statistic statistic,
              const std::optional<Graph>& graph = std::nullopt);

  /// Of the run that measures.
  const Config& config() const { return config_; }
  /// Of the rows for it: they are dealt to agents as the training's are.
  const Config& reading() const { return reading_; }
  /// What else that run is made of, from those rows.
  Sources sources(RunData rows) const;
  /// The schema with what the run has found: its iterate, from its noise and the agent's records.
  std::shared_ptr<const Schema> completed(std::span<const double> x, double sigma,
                                          std::size_t records) const;
  std::shared_ptr<const Schema> completed(const Trainer& trainer) const;

  /// Its folder in that of the training run.
  std::filesystem::path folder(const std::filesystem::path& run) const;

 private:
  std::shared_ptr<const Schema> schema_;
  Statistic statistic_;
  std::size_t columns_, agents_;
  Graph graph_;
  Config config_, reading_;
};
/// What all these folders end in.
inline constexpr const char* kMeasuredExtension = ".measured";

/// The config with a complete schema: what it lacks is measured in this process. With secret noise
/// in folders inside `run`, which is Error{privacy} if it is empty: what was released there is
/// found again, and never released twice.
Config with_complete_schema(Config config, const std::filesystem::path& run = {});

/// The schema that a run has left in its folder, for a config whose schema is not complete; nothing
/// where there is none. Error{usage} if it is one for another schema.
std::shared_ptr<const Schema> measured_schema(const Config& config,
                                              const std::filesystem::path& run);

}  // namespace porter
