// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "io/file.hpp"
#include "report/trace.hpp"

namespace porter {

inline const std::string kSampleMetrics =
    "round,loss,utility,test_accuracy,agent_loss_mean,agent_loss_worst,agent_accuracy_mean,"
    "agent_accuracy_worst,consensus_error,bits_per_agent,epsilon,seconds\n"
    "0,0.7,0.5,0.5,0.7,0.7,0.5,0.5,0,0,,0\n"
    "10,0.5,0.3,0.7,0.52,0.6,0.68,0.6,0.2,3840,0.1,0.5\n"
    "100,0.4,0.2,0.8,0.42,0.5,0.78,0.7,0.1,38400,0.3,5\n";

/// A run that was read from such metrics, without a folder behind it.
inline Trace sample_trace(const std::string& name, const std::string& metrics = kSampleMetrics) {
  Trace trace;
  trace.folder = "runs/" + name;
  trace.name = name;
  trace.status = "finished";
  trace.privacy.sentence = "Not private: no noise was added.";
  trace.facts = {{"algorithm", "porter-dp"},
                 {"agents", "10"},
                 {"majority_rate", "0.76"},
                 {"sigma", "2.5"},
                 {"seconds_per_round", "0.00125"}};
  trace.metrics = parse_metrics(metrics, name);
  trace.config = "[run]\nseed = 1\n";
  return trace;
}

inline void write_run(const std::filesystem::path& folder, const std::string& summary) {
  std::filesystem::create_directories(folder);
  write_file(folder / "metrics.csv", kSampleMetrics);
  write_file(folder / "summary.json", summary);
}

}  // namespace porter
