// SPDX-License-Identifier: Apache-2.0
// What an experiment writes into a checkpoint and reads back.
#include <algorithm>
#include <cmath>
#include <limits>

#include "porter/core/error.hpp"
#include "porter/run/experiment.hpp"

namespace porter {
namespace {

NpyArray pack(std::vector<double> values) {
  const auto size = values.size();
  return {{size}, std::move(values)};
}

// A row as the values of its columns, empty cells as NaN; no values if there is no row.
NpyArray pack(const std::optional<MetricsRow>& row) {
  std::vector<double> values;
  if (row)
    for (const auto& column : metrics_columns())
      values.push_back(column.get(*row).value_or(std::numeric_limits<double>::quiet_NaN()));
  return pack(values);
}

// Calls work(row) for the rows of the given agents, or for all rows.
template <class Rows, class Work>
void for_rows(Rows& rows, const std::optional<std::vector<std::uint32_t>>& agents,
              const Work& work) {
  if (!agents)
    for (std::size_t i = 0; i < rows.agents(); ++i) work(rows.row(i));
  else
    for (const auto agent : *agents) work(rows.row(agent));
}

template <class Real>
NpyArray pack(const BasicRows<Real>& rows,
              const std::optional<std::vector<std::uint32_t>>& agents) {
  NpyArray array{{agents ? agents->size() : rows.agents(), rows.dim()}, {}};
  array.values.reserve(array.shape[0] * array.shape[1]);
  for_rows(rows, agents, [&](std::span<const Real> row) {
    array.values.insert(array.values.end(), row.begin(), row.end());
  });
  return array;
}

// A float was widened without loss, so it comes back as it was.
template <class Real>
void unpack(const NpyArray& array, const std::string& name, const std::string& source,
            const std::optional<std::vector<std::uint32_t>>& agents, BasicRows<Real>& rows) {
  const std::vector<std::size_t> shape = {agents ? agents->size() : rows.agents(), rows.dim()};
  require(array.shape == shape, ErrorKind::io, source, ": the array ", name, " must be ", shape[0],
          " x ", shape[1], "; this is the checkpoint of another run");
  auto value = array.values.begin();
  for_rows(rows, agents, [&](std::span<Real> row) {
    for (auto& entry : row) entry = static_cast<Real>(*value++);
  });
}

// A model, or nothing where there is none yet.
std::vector<double> unpack_point(const Npz& snapshot, const std::string& name,
                                 const std::string& source, std::size_t dim) {
  auto values = member(snapshot, name, source).values;
  require(values.empty() || values.size() == dim, ErrorKind::io, source, ": the array ", name,
          " must be empty or have ", dim, " entries, found ", values.size());
  return values;
}

std::optional<MetricsRow> unpack_row(const NpyArray& array) {
  const auto& columns = metrics_columns();
  if (array.values.size() != columns.size()) return std::nullopt;
  MetricsRow row;
  for (std::size_t c = 0; c < columns.size(); ++c)
    columns[c].set(row,
                   std::isnan(array.values[c]) ? std::nullopt : std::optional(array.values[c]));
  for (std::size_t c = 0; c < columns.size(); ++c)  // train_accuracy may be empty of itself
    if (columns[c].raw && !std::isnan(array.values[c])) return row;
  row.raw = false;
  return row;
}

}  // namespace

Npz Experiment::snapshot() {
  gather();
  Npz arrays;
  if (const auto agents = kept_agents(true))
    arrays["agents"] = pack(std::vector<double>(agents->begin(), agents->end()));
  for (const auto& [name, matrix, copied] : algorithm_->state()) {
    const auto agents = kept_agents(copied);
    std::visit([&](const auto* rows) { arrays["state_" + name] = pack(*rows, agents); }, matrix);
  }
  const auto id = run_id(config_);
  arrays["run"] = pack(std::vector<double>(id.begin(), id.end()));
  const auto traffic = this->traffic();
  arrays["counters"] = pack(
      std::vector<double>{static_cast<double>(round_), training_seconds_, evaluation_seconds_,
                          utility_sum_, static_cast<double>(traffic.message_bytes),
                          static_cast<double>(traffic.link_bytes), static_cast<double>(releases_)});
  arrays["x_best"] = pack(x_best_);
  arrays["x_out"] = pack(x_out_);
  arrays["row_previous"] = pack(previous_);
  arrays["row_best"] = pack(best_);
  return arrays;
}

void Experiment::restore(const Npz& snapshot, const std::string& source) {
  require(
      snapshot.contains("run"), ErrorKind::io, source,
      ": it does not say of which run it is: a checkpoint of porter 0.1; end its run with porter "
      "0.1, or start it anew");
  const auto& digits = snapshot.at("run").values;
  const auto expected = run_id(config_);
  std::string found;
  for (const double c : digits) found += c > ' ' && c <= '~' ? static_cast<char>(c) : '?';
  require(found == expected, ErrorKind::io, source, ": a checkpoint of another run: expected run ",
          expected, ", found run ", found);
  const auto& counters = member(snapshot, "counters", source).values;
  require(counters.size() == 7 && counters[0] >= 0 && counters[0] <= config_.algorithm.rounds,
          ErrorKind::io, source, ": not a checkpoint of this run: its round must be from 0 to ",
          config_.algorithm.rounds);
  require(std::all_of(counters.begin() + 4, counters.end(),
                      [](double count) { return count >= 0 && count < 0x1p63; }),
          ErrorKind::io, source, ": the array counters must hold numbers from 0 to 2^63");
  for (const auto& [name, matrix, copied] : algorithm_->state()) {
    const auto agents = kept_agents(copied);
    const auto& array = member(snapshot, "state_" + name, source);
    std::visit([&](auto* rows) { unpack(array, "state_" + name, source, agents, *rows); }, matrix);
  }
  round_ = static_cast<std::uint32_t>(counters[0]);
  training_seconds_ = counters[1];
  evaluation_seconds_ = counters[2];
  utility_sum_ = counters[3];
  if (is_root() || !meets())  // the processes' counts are summed up
    algorithm_->traffic() = {.message_bytes = static_cast<std::uint64_t>(counters[4]),
                             .link_bytes = static_cast<std::uint64_t>(counters[5])};
  raise_releases(static_cast<std::uint64_t>(counters[6]));
  x_best_ = unpack_point(snapshot, "x_best", source, facts_.dim);
  x_out_ = unpack_point(snapshot, "x_out", source, facts_.dim);
  previous_ = unpack_row(member(snapshot, "row_previous", source));
  best_ = unpack_row(member(snapshot, "row_best", source));
  require(!previous_ || previous_->raw || !raw_metrics_, ErrorKind::usage, source,
          ": --raw-metrics: the run began without them, so their means are not known");
}

}  // namespace porter
