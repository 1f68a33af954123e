// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "graph/shapes.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"
#include "report/graph_picture.hpp"

namespace porter::cli {
namespace {

constexpr double kLargestFile = 2;  // GB

struct GraphArguments {
  std::string graph = "erdos-renyi:0.8", mixing = "fdla", out, svg;
  std::int64_t agents = 10;
  std::uint64_t seed = 1;
  bool json = false;
};

double mean_degree(const Graph& graph) {
  return 2.0 * static_cast<double>(graph.edges().size()) / static_cast<double>(graph.nodes());
}

std::string graph_as_json(const GraphArguments& options, const Graph& graph, const Mixing& mixing) {
  const auto degrees = degrees_of(graph);
  const auto& bound = mixing.alpha_lower_bound;
  const nlohmann::ordered_json json = {
      {"graph", options.graph},
      {"mixing", options.mixing},
      {"seed", options.seed},
      {"nodes", graph.nodes()},
      {"edges", graph.edges().size()},
      {"degree_min", degrees.smallest},
      {"degree_mean", mean_degree(graph)},
      {"degree_max", degrees.largest},
      {"alpha", mixing.alpha},
      {"alpha_error", mixing.alpha_error},
      {"alpha_method", mixing.alpha_method},
      {"alpha_lower_bound", or_null(bound)},
      {"gap", bound ? nlohmann::ordered_json(mixing.alpha - *bound) : nullptr},
      {"inverse_spectral_gap", 1 / (1 - mixing.alpha)},
      {"iterations", mixing.iterations},
      {"method", mixing.method},
      {"note", mixing.note},
  };
  return json_text(json, 2) + "\n";
}

std::string graph_as_text(const GraphArguments& options, const Graph& graph, const Mixing& mixing) {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<14}{}\n", name, value);
  };
  const auto degrees = degrees_of(graph);
  line("graph", fmt::format("{} (seed {})", options.graph, options.seed));
  line("nodes", std::to_string(graph.nodes()));
  line("edges", std::to_string(graph.edges().size()));
  line("degree", fmt::format("min {}, mean {:.4g}, max {}", degrees.smallest, mean_degree(graph),
                             degrees.largest));
  line("method", mixing.method);
  line("alpha",
       fmt::format("{:.10f}", mixing.alpha) +
           (mixing.alpha_error == 0 ? std::string()
                                    : fmt::format("  (at most {:.1e} too high; {})",
                                                  mixing.alpha_error, mixing.alpha_method)));
  if (const auto& bound = mixing.alpha_lower_bound) {
    line("lower bound", fmt::format("{:.10f}  (no W on this graph has a smaller alpha)", *bound));
    line("gap", fmt::format("{:.1e}", mixing.alpha - *bound));
  }
  line("1/(1-alpha)", fmt::format("{:.6g}", 1 / (1 - mixing.alpha)));
  line("iterations", std::to_string(mixing.iterations));
  if (!mixing.note.empty()) line("note", mixing.note);
  return text;
}

// The file holds all of W, zeros too.
void check_size_of_file(std::size_t nodes) {
  const double gigabytes = 8e-9 * static_cast<double>(nodes) * static_cast<double>(nodes);
  require(gigabytes <= kLargestFile, ErrorKind::usage, "--out: W.npy of ", nodes,
          " agents would take ", gigabytes, " GB, expected at most ", kLargestFile);
}

void show_graph(const GraphArguments& options) {
  const auto agents = at_least_one("--agents", options.agents);
  if (!options.out.empty()) check_size_of_file(agents);
  const auto graph = make_graph(options.graph, agents, options.seed);
  const auto mixing = make_mixing(options.mixing, graph);
  if (!options.out.empty()) {
    const std::size_t shape[] = {mixing.nodes(), mixing.nodes()};
    save_npy(options.out, shape, mixing.weights.dense());
  }
  if (!options.svg.empty()) write_file(options.svg, graph_svg(graph, mixing));
  fmt::print("{}", (options.json ? graph_as_json : graph_as_text)(options, graph, mixing));
}

template <class Table>
std::string help_of(std::string_view title, const Table& table) {
  std::string text = fmt::format("{}\n", title);
  for (const auto& row : table) text += fmt::format("  {:<18}{}\n", row.example, row.help);
  return text;
}

}  // namespace

void add_graph_command(App& app) {
  auto* command = app.add_subcommand(
      "graph", "build a graph and its mixing matrix W; print the mixing rate alpha = |W - 11'/n|");
  const auto options = std::make_shared<GraphArguments>();
  command->add_option("--graph", options->graph, "Topology (see below)", "SPEC");
  command->add_option("--agents", options->agents, "Number of nodes", "N");
  command->add_option("--mixing", options->mixing, "Rule for the weights (see below)", "NAME");
  command->add_option("--seed", options->seed, "Seed of random topologies", "S");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_option("--out", options->out, "Write W as a NumPy file", "W.npy");
  command->add_option("--svg", options->svg, "Write a picture of the graph and its weights",
                      "FILE");
  command->footer(help_of("\nTopologies:", graph_table()) +
                  help_of("\nMixing rules:", mixing_table()) +
                  "\nExample: porter graph --graph grid:4x5 --agents 20 --mixing fdla --svg g.svg");
  command->callback([options] { show_graph(*options); });
}

}  // namespace porter::cli
