// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "commands.hpp"
#include "io/file.hpp"
#include "report/page.hpp"
#include "report/table.hpp"
#include "run_one.hpp"

namespace porter::cli {
namespace {

namespace fs = std::filesystem;

// A logistic problem on which accuracy means something (lambda = 0.001), ten agents on the paper's
// graph, 5 % of each vector sent, noise for epsilon = 4 by the accountant. The steps are the best
// by final loss among 0.03, 0.06, 0.12 (PORTER-DP, with consensus 0.01, 0.02, 0.03) and 0.01, 0.02,
// 0.04, 0.08 (SoteriaFL-SGD).
constexpr const char* kCommon = R"(
[data]
name = "synthetic"
[model]
name = "logistic"
lambda = 0.001
[privacy]
epsilon = 4.0
delta = 1e-5
[algorithm]
batch = 64
)";

const std::pair<const char*, std::vector<std::string>> kRuns[] = {
    {"porter-dp", {"algorithm.name=porter-dp", "algorithm.step=0.06", "algorithm.consensus=0.02"}},
    {"soteriafl-sgd", {"algorithm.name=soteriafl-sgd", "algorithm.step=0.02"}}};

int demo(const fs::path& out, std::uint32_t rounds) {
  catch_interrupts();
  fmt::print("PORTER-DP (no server) beside SoteriaFL-SGD (with one), on built-in data\n\n");
  std::vector<Trace> traces;
  for (const auto& [name, overrides] : kRuns) {
    auto all = overrides;
    all.push_back(fmt::format("algorithm.rounds={}", rounds));
    const auto config = parse_config(kCommon, "the demo's config", all);
    if (run_one(config, out / name, ExistingRun::replace) == TrainStatus::interrupted) return 1;
    traces.push_back(load_trace(out / name));
    fmt::print("\n");
  }
  const auto page = out / "report.html";
  const auto runs = each_alone(std::move(traces));
  write_file(
      page,
      html_report({.title = "porter demo: PORTER-DP beside SoteriaFL-SGD",
                   .intro = "Ten agents train one logistic model on built-in data. PORTER-DP's "
                            "agents talk to their neighbours only; SoteriaFL-SGD's send to a "
                            "server."},
                  runs));
  fmt::print("{}\nreport: {}\n", comparison_text(runs, false),
             fs::absolute(page).lexically_normal().string());
  return 0;
}

}  // namespace

void add_demo_command(App& app) {
  auto* command = app.add_subcommand(
      "demo", "train PORTER-DP beside SoteriaFL-SGD on built-in data and write a report");
  auto out = std::make_shared<std::string>("runs/demo");
  auto rounds = std::make_shared<std::uint32_t>(10000);
  command->add_option("--out", *out, "folder of the two runs and the report");
  command->add_option("--rounds", *rounds, "rounds of each run", "N")->range(1, 1000000000);
  command->callback([=] { return demo(*out, *rounds); });
}

}  // namespace porter::cli
