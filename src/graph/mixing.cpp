// SPDX-License-Identifier: Apache-2.0
#include "mixing_rules.hpp"
#include "registry.hpp"

namespace porter {
namespace {

struct Rule {
  std::string_view name, example;
  Argument argument;
  Mixing (*make)(const Graph&, const Spec&);
  std::string_view help;
};

constexpr Rule kRules[] = {
    {"fdla", "fdla", Argument::none, mix_fdla,
     "the fastest symmetric W on the graph, with a certified lower bound"},
    {"best-constant", "best-constant", Argument::none, mix_best_constant,
     "the fastest W with one weight for all edges"},
    {"metropolis", "metropolis", Argument::none, mix_metropolis,
     "1 / (1 + larger degree of the edge); needs no global knowledge"},
    {"max-degree", "max-degree", Argument::none, mix_max_degree,
     "1 / (1 + largest degree) on every edge"},
    {"lazy", "lazy", Argument::none, mix_lazy, "(I + metropolis) / 2; no negative eigenvalues"},
    {"average", "average", Argument::none, mix_average, "1/n everywhere; complete graph only"},
    {"file", "file:W.npy", Argument::required, mix_from_file,
     "a matrix of your own, checked against the graph"},
};

}  // namespace

Mixing make_mixing(std::string_view text, const Graph& graph) {
  const auto spec = split_spec(text);
  return find_row(kRules, spec, "mixing").make(graph, spec);
}

std::vector<MixingInfo> mixing_table() {
  std::vector<MixingInfo> table;
  for (const auto& r : kRules)
    table.push_back({std::string(r.name), std::string(r.example), std::string(r.help)});
  return table;
}

}  // namespace porter
