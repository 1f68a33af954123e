// SPDX-License-Identifier: Apache-2.0
#include "study_parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "config/config_table.hpp"
#include "core/registry.hpp"
#include "core/text.hpp"
#include "porter/core/error.hpp"
#include "privacy/paper.hpp"

namespace porter {
namespace {

struct Named {
  const char* name;
  const char* title;      // of a plot, or a head of a table
  const char* axis = "";  // where it says more
};

constexpr std::array kRunFigures = {
    Named{"rounds", "rounds T"},
    Named{"rho", "ρ", "contraction ρ"},
    Named{"gap", "1 − α", "spectral gap 1 − α"},
    Named{"phi", "φ", "φ = √(d log(1/δ)) / (m ε)"},
    Named{"min_grad_norm", "least gradient norm", "least |∇f(x̄)| of the run"},
    Named{"values_sent", "values sent ÷ d", "32-bit values sent, over d"},
    Named{"values_per_gradient", "values per gradient ÷ d",
          "32-bit values sent per gradient, over d"}};

constexpr std::array kColumnTitles = {
    Named{"round", "round"},
    Named{"loss", "loss", "training loss"},
    Named{"grad_norm_sq", "squared gradient norm", "|∇f(x̄)|²"},
    Named{"utility", "utility", "utility: mean of |∇f(x̄)|² over rounds"},
    Named{"train_accuracy", "train accuracy", "train accuracy (share correct)"},
    Named{"test_accuracy", "test accuracy", "test accuracy (share correct)"},
    Named{"test_loss", "test loss"},
    Named{"agent_loss_mean", "agents' loss, mean"},
    Named{"agent_loss_worst", "worst agent's loss"},
    Named{"agent_accuracy_mean", "agents' accuracy, mean", "test accuracy, mean over agents"},
    Named{"agent_accuracy_worst", "worst agent's accuracy", "test accuracy of the worst agent"},
    Named{"consensus_error", "consensus error", "mean over agents of |x − x̄|²"},
    Named{"tracking_error", "tracking error"},
    Named{"bits_per_agent", "bits sent per agent"},
    Named{"link_bits_per_agent", "bits on links per agent"},
    Named{"epsilon", "certified ε"},
    Named{"seconds", "seconds of training"},
    Named{"train_rmse", "train RMSE", "root mean squared error, training set"},
    Named{"train_r2", "train R2", "R2, training set"},
    Named{"test_rmse", "test RMSE", "root mean squared error, test set"},
    Named{"test_r2", "test R2", "R2, test set"},
    Named{"agent_rmse_mean", "agents' RMSE, mean", "test RMSE, mean over agents"},
    Named{"agent_rmse_worst", "worst agent's RMSE", "test RMSE of the worst agent"},
    Named{"agent_r2_mean", "agents' R2, mean", "test R2, mean over agents"},
    Named{"agent_r2_worst", "worst agent's R2", "test R2 of the worst agent"}};

// The row of that name, or nullptr.
template <class Table>
auto find_row(const Table& table, const std::string& name) {
  const auto row = std::ranges::find_if(table, [&](const auto& r) { return name == r.name; });
  return row == table.end() ? nullptr : &*row;
}

struct Titles {
  std::string title, axis;
};

// What is called by no other name is its own title.
Titles titles_of(const std::string& name) {
  const auto* figure = find_row(kRunFigures, name);
  const auto* found = figure ? figure : find_row(kColumnTitles, name);
  if (!found) return {name, name};
  return {found->title, *found->axis == '\0' ? found->title : found->axis};
}

std::optional<double> phi(const Config& config, const GridFacts& facts) {
  if (!config.privacy) return std::nullopt;
  const auto& privacy = *config.privacy;
  return paper_phi(static_cast<double>(facts.dim), privacy.delta,
                   static_cast<double>(facts.samples), privacy.epsilon);
}

// What an agent sends in all, in vectors of d floats, over this many gradients.
std::optional<double> values_sent(const GridRun& run, std::uint32_t gradients) {
  if (!run.facts || run.rows.empty()) return std::nullopt;
  const double floats = run.rows.back().bits_per_agent / 32;
  return floats / gradients / static_cast<double>(run.facts->dim);
}

std::optional<double> least_gradient(const GridRun& run) {
  std::optional<double> least;
  for (const auto& row : run.rows)
    if (!least || row.grad_norm_sq < *least) least = row.grad_norm_sq;
  return least ? std::optional(std::sqrt(*least)) : least;
}

// What the config says under section.key.
std::optional<double> config_number(const Config& config, const std::string& key) {
  const auto root = parse_toml(to_toml(config), "the resolved config");
  const auto node = root.at_path(key);
  if (const auto number = node.value<double>()) return number;
  const auto text = node.value<std::string>();
  return text ? value_number(*text) : std::nullopt;
}

}  // namespace

const MetricsColumn& find_column(const std::string& name) {
  if (const auto* column = find_row(metrics_columns(), name)) return *column;
  fail(ErrorKind::usage, "expected a column of metrics.csv, one of ", names_of(metrics_columns()),
       "; found \"", name, "\"");
}

std::optional<double> value_number(const std::string& value) {
  const auto plain = plain_value(value);
  if (const auto number = parse_number<double>(plain)) return number;
  return split_spec(plain).number<double>();
}

std::optional<double> run_figure(const std::string& name, const Config& config,
                                 const GridRun& run) {
  if (name == "rounds") return config.algorithm.rounds;
  if (name == "min_grad_norm") return least_gradient(run);
  if (name == "values_sent") return values_sent(run, 1);
  if (name == "values_per_gradient") return values_sent(run, config.algorithm.rounds);
  if (run.facts) {
    if (name == "rho") return run.facts->rho;
    if (name == "gap") return 1 - run.facts->alpha;
    if (name == "phi") return phi(config, *run.facts);
  }
  if (const auto* column = find_row(metrics_columns(), name)) return run.last(*column);
  return config_number(config, name);
}

void check_figure(const std::string& name, const std::string& vary) {
  if (name == vary || find_row(kRunFigures, name) || find_row(metrics_columns(), name)) return;
  // A key of a config: it is looked up in what the settings turn out to be.
  const auto defaults =
      parse_toml(to_toml(parse_config("[privacy]\n", "the default config")), "the default config");
  if (name.find('.') != name.npos && defaults.at_path(name)) return;
  fail(ErrorKind::usage, "expected one of ", names_of(kRunFigures),
       ", a column of metrics.csv or a key of the config; found \"", name, "\"");
}

std::string figure_title(const std::string& name) { return titles_of(name).title; }

std::string axis_title(const std::string& name) { return titles_of(name).axis; }

std::string plot_title(const std::string& text) {
  auto out = text;
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z')
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

}  // namespace porter
