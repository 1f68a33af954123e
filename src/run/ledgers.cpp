// SPDX-License-Identifier: Apache-2.0
#include "porter/run/ledgers.hpp"

#include "difference.hpp"
#include "porter/privacy/clip.hpp"

namespace porter {

void Ledgers::open(const std::filesystem::path& folder, const Experiment& experiment, bool started,
                   std::uint64_t at_least) {
  if (!experiment.privacy().secure()) return;
  const auto& config = experiment.config();
  make_folder(folder / "ledger");
  for (const auto agent : experiment.hosted()) {
    const auto file = folder / "ledger" / ("agent-" + std::to_string(agent) + ".ledger");
    const LedgerHeader header{.run_id = run_id(config),
                              .agent = agent,
                              .sampler = config.privacy->sampler,
                              .adjacency = config.privacy->adjacency,
                              .records = experiment.facts().samples_per_agent,
                              .batch = experiment.facts().batch,
                              .noise_stddev = experiment.facts().sigma,
                              .clip = parse_clip(config.algorithm.clip).tau,
                              .delta = config.privacy->delta,
                              .epsilon = config.privacy->epsilon};
    ledgers_.push_back(started || std::filesystem::exists(file)
                           ? Ledger::resume(file, header, at_least)
                           : Ledger::create(file, header));
  }
}

void Ledgers::charge(const Experiment& experiment, std::uint32_t round) {
  // A crash between two ledgers leaves one behind: it catches up, so that all count the same.
  const auto target = experiment.releases() + 1;
  for (auto& ledger : ledgers_)
    while (ledger.view().charges < target) ledger.charge(round);
}

std::uint64_t Ledgers::charges() const {
  std::uint64_t most = 0;
  for (const auto& ledger : ledgers_) most = std::max(most, ledger.view().charges);
  return most;
}

}  // namespace porter
