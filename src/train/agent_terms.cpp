// SPDX-License-Identifier: Apache-2.0
// Agents that have rates and budgets of their own, and rounds that differ.
#include <algorithm>
#include <map>
#include <tuple>

#include "porter/core/error.hpp"
#include "porter/train/assemble.hpp"
#include "train/accountant_cache.hpp"

namespace porter {
namespace {

// Those of the others that nobody has said yet.
void add_notes(const std::vector<std::string>& more, std::vector<std::string>& notes) {
  for (const auto& note : more)
    if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
}

}  // namespace

std::shared_ptr<const RunPrivacy> RunPrivacy::unlike(const Config& config,
                                                     std::span<const AgentTerms> terms,
                                                     std::size_t dim,
                                                     std::shared_ptr<AccountantCache> cache) {
  if (!cache) cache = std::make_shared<AccountantCache>();
  const auto made = [&](const AgentTerms& own) {
    auto own_config = config;
    own_config.privacy->epsilon = own.epsilon;
    return std::make_shared<RunPrivacy>(own_config, own.sampler, dim, cache);
  };
  // Agents on the same terms share one.
  std::map<std::tuple<std::size_t, std::size_t, double>, std::shared_ptr<const RunPrivacy>> known;
  std::vector<std::shared_ptr<const RunPrivacy>> agents;
  for (const auto& own : terms) {
    auto& slot = known[{own.sampler.records(), own.sampler.batch(), own.epsilon}];
    if (!slot) slot = made(own);
    agents.push_back(slot);
  }
  std::size_t worst = 0;
  const auto cost = [&](std::size_t agent) {
    const auto bounds = agents[agent]->interval(config.algorithm.rounds);
    return bounds ? bounds->upper : 0;
  };
  for (std::size_t agent = 1; agent < agents.size(); ++agent)
    if (cost(agent) > cost(worst)) worst = agent;
  const auto run = made(terms[worst]);
  for (const auto& own : agents) {
    run->most_releases_ = std::min(run->most_releases_, own->most_releases_);
    add_notes(own->notes_, run->notes_);
  }
  run->agents_ = std::move(agents);
  return run;
}

const RunPrivacy& RunPrivacy::worst(std::uint64_t releases) const {
  const RunPrivacy* found = agents_.front().get();
  for (const auto& own : agents_) {
    const auto bounds = own->interval(releases), most = found->interval(releases);
    if (bounds && most && bounds->upper > most->upper) found = own.get();
  }
  return *found;
}

double RunPrivacy::own_variance() const {
  if (agents_differ()) {
    double sum = 0;
    for (const auto& own : agents_) sum += own->own_variance();
    return sum / static_cast<double>(agents_.size());
  }
  if (!config_.privacy || config_.privacy->phases.empty()) return own_sigma() * own_sigma();
  const auto& phases = config_.privacy->phases;
  double sum = 0;
  for (std::size_t i = 0; i < phases.size(); ++i)
    sum += static_cast<double>(phases[i].rounds) * own_sigma(i) * own_sigma(i);
  return sum / static_cast<double>(total_rounds(phases));
}

void RunPrivacy::list_agents(std::uint64_t releases, PrivacyStatement& statement) const {
  for (const auto& own : agents_) {
    const auto bounds = own->interval(releases);
    statement.agents.push_back({.records = own->sampler_.records(),
                                .batch = own->sampler_.batch(),
                                .sigma = own->sigma_,
                                .budget = own->budget(),
                                .epsilon = bounds ? std::optional(bounds->upper) : std::nullopt});
  }
}

void RunPrivacy::list_phases(PrivacyStatement& statement) const {
  if (!config_.privacy) return;
  for (const auto& phase : config_.privacy->phases)
    statement.phases.push_back({.rounds = phase.rounds,
                                .sigma = sigma_ * phase.noise * phase.clip,
                                .clip = tau_ * phase.clip});
}

}  // namespace porter
