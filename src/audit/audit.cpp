// SPDX-License-Identifier: Apache-2.0
#include "audit/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/registry.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kFeatures = 8, kAgents = 3;

Dataset random_records(const AuditSetting& setting) {
  const std::size_t rows = kAgents * setting.sampler.records();
  RngStream rng(setting.seed, Draw::data, 0, 0);
  Dataset data;
  data.features = kFeatures;
  data.classes = {"0", "1"};
  for (std::size_t i = 0; i < rows * kFeatures; ++i)
    data.values.push_back(static_cast<float>(rng.normal()));
  for (std::size_t row = 0; row < rows; ++row)
    data.labels.push_back(static_cast<float>(rng.below(2)));
  return data;
}

Network complete_network() {
  auto graph = make_graph("complete", kAgents, 1);
  auto mixing = make_mixing("metropolis", graph);
  return {std::move(graph), std::move(mixing)};
}

}  // namespace

const std::vector<FaultInfo>& fault_table() {
  static const std::vector<FaultInfo> table = {
      {Fault::none, "none", "nothing is planted"},
      {Fault::batch_clip, "batch-clip", "the mean is clipped instead of each sample (b > 1)"},
      {Fault::sigma_over_b, "sigma-over-b", "sigma is divided by b once too often (b > 1)"},
      {Fault::variance, "variance", "variance and standard deviation are confused (sigma != 1)"},
      {Fault::reused_noise, "reused-noise", "a restarted process repeats the noise of its rounds"},
      {Fault::shared_noise, "shared-noise", "all agents add the same noise"},
      {Fault::labels_from_data, "labels-from-data",
       "classes and width are taken from the records, not from the config"},
  };
  return table;
}

Fault parse_fault(std::string_view name) { return find_named(fault_table(), name, "fault").fault; }

void check_setting(const AuditSetting& setting) {
  require(setting.clip.kind != Clip::Kind::none, ErrorKind::usage,
          "clip: without clipping there is no promise to audit");
  require(std::isfinite(setting.clip.tau) && setting.clip.tau > 0, ErrorKind::usage,
          "clip: expected a positive number, found ", setting.clip.tau);
  require(std::isfinite(setting.sigma) && setting.sigma > 0, ErrorKind::usage,
          "sigma: expected a positive number, found ", setting.sigma,
          "; without noise there is no promise to audit");
  require(setting.rounds >= 1, ErrorKind::usage, "rounds: expected at least 1, found 0");
  require(setting.delta > 0 && setting.delta < 1, ErrorKind::usage,
          "delta: expected a number in (0, 1), found ", setting.delta);
  require(!setting.claim || (std::isfinite(*setting.claim) && *setting.claim >= 0),
          ErrorKind::usage, "claim: expected an epsilon >= 0, found ", setting.claim.value_or(0));
  require(setting.sampler.kind() != Sampler::fixed || setting.adjacency == Adjacency::replace,
          ErrorKind::usage,
          "batches of fixed size have no certified amplification for add/remove neighbours: use "
          "replace-one neighbours or Poisson sampling");
}

EpsilonInterval certified_epsilon(const AuditSetting& setting) {
  check_setting(setting);
  const auto& sampler = setting.sampler;
  if (setting.secure)
    return privacy::epsilon(
        sampler.secure_event(setting.adjacency, setting.sigma, setting.clip.tau, setting.rounds),
        secure_delta(setting.delta));
  return privacy::epsilon(
      sampler.event(setting.adjacency, setting.sigma, setting.clip.tau, setting.rounds),
      setting.delta);
}

BareSubject::BareSubject(const AuditSetting& setting)
    : data_(random_records(setting)),
      model_(make_model({.name = "logistic"}, kFeatures, 2)),
      network_(complete_network()),
      compressor_(make_compressor("identity")) {}

AuditSubject BareSubject::subject() const {
  return {.problem = {*model_, data_, kAgents}, .network = &network_, .compressor = *compressor_};
}

bool AuditRung::caught() const { return std::ranges::any_of(checks, &AuditCheck::caught); }

std::string audit_verdict(const AuditSetting& setting, const std::vector<AuditRung>& rungs) {
  std::string found, looked;
  for (const auto& rung : rungs) {
    looked += fmt::format("{}{}", looked.empty() ? "" : ", ", rung.rung);
    for (const auto& check : rung.checks)
      if (check.caught)
        found +=
            fmt::format("{}rung {} ({}): {} {:.4g}, at most {:.4g} {}", found.empty() ? "" : "; ",
                        rung.rung, rung.title, check.name, check.measured, check.limit,
                        setting.claim && rung.rung >= 3 ? "was claimed" : "is promised");
  }
  if (!found.empty()) return "CAUGHT: " + found;
  return fmt::format("passed: nothing caught on rung{} {}", rungs.size() == 1 ? "" : "s", looked);
}

}  // namespace porter
