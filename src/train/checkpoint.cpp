// SPDX-License-Identifier: Apache-2.0
#include "porter/train/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr const char* kMatrix = "state_";           // before the name of a matrix
constexpr const char* kClock = "modelled_seconds";  // where they are
constexpr double kMaxCount = 0x1p63;

NpyArray pack(std::vector<double> values) {
  const auto size = values.size();
  return {{size}, std::move(values)};
}
template <class Number>
requires std::is_arithmetic_v<Number> NpyArray pack(Number value) {
  return pack(std::vector{static_cast<double>(value)});
}
NpyArray pack(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {{bytes.size()}, {}, {bytes.begin(), bytes.end()}};
}

// A row as the values of its columns, empty cells as NaN; no values if there is no row.
NpyArray pack(const std::optional<MetricsRow>& row) {
  std::vector<double> values;
  if (row)
    for (const auto& column : metrics_columns())
      values.push_back(column.get(*row).value_or(std::numeric_limits<double>::quiet_NaN()));
  return pack(values);
}

std::optional<MetricsRow> unpack_row(const NpyArray& array) {
  const auto& columns = metrics_columns();
  const auto known = array.values.size();  // a file may be older than the last columns
  if (known == 0 || known > columns.size()) return std::nullopt;
  MetricsRow row;
  for (std::size_t c = 0; c < known; ++c)
    columns[c].set(row,
                   std::isnan(array.values[c]) ? std::nullopt : std::optional(array.values[c]));
  for (std::size_t c = 0; c < known; ++c)  // train_accuracy may be empty of itself
    if (columns[c].raw && !std::isnan(array.values[c])) return row;
  row.raw = false;
  return row;
}

/// The members of a file, under its name.
class Members {
 public:
  Members(const Npz& members, const std::string& source) : members_(members), source_(source) {}

  const NpyArray& array(const std::string& name) const { return member(members_, name, source_); }

  double number(const std::string& name) const {
    const auto& values = array(name).values;
    require(values.size() == 1, ErrorKind::io, source_, ": ", name, " must be one number");
    return values[0];
  }
  template <std::unsigned_integral Count>
  Count as_count(const std::string& name, double value) const {
    const double most = std::min(kMaxCount, static_cast<double>(std::numeric_limits<Count>::max()));
    require(value >= 0 && value <= most && value < kMaxCount, ErrorKind::io, source_, ": ", name,
            " must be from 0 to ", most, ", found ", value);
    return static_cast<Count>(value);
  }

  template <std::unsigned_integral Count>
  void read(const std::string& name, Count& value) const {
    value = as_count<Count>(name, number(name));
  }
  void read(const std::string& name, double& value) const { value = number(name); }
  void read(const std::string& name, std::vector<double>& x) const { x = array(name).values; }
  void read(const std::string& name, std::optional<MetricsRow>& row) const {
    row = unpack_row(array(name));
  }
  void read(const std::string& name, std::string& text) const {
    const auto& bytes = array(name).bytes;
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (char& c : text)
      if (c <= ' ' || c > '~') c = '?';
  }

 private:
  const Npz& members_;
  const std::string& source_;
};

// Calls use(name, field) for each member that every checkpoint has.
template <class AnyCheckpoint, class Use>
void for_members(AnyCheckpoint& checkpoint, const Use& use) {
  auto& now = checkpoint.now;
  use("run", checkpoint.run);
  use("round", now.round);
  use("releases", now.releases);
  use("training_seconds", now.training_seconds);
  use("evaluation_seconds", now.evaluation_seconds);
  use("utility_sum", now.utility_sum);
  use("x_best", now.x_best);
  use("x_out", now.x_out);
  use("row_previous", now.previous);
  use("row_best", now.best);
  use("message_bytes", checkpoint.traffic.message_bytes);
  use("link_bytes", checkpoint.traffic.link_bytes);
}

void require_version(const Npz& members, const std::string& source) {
  const bool versioned = members.contains("version");
  const auto found = versioned ? Members(members, source).number("version") : 1;
  require(found == Checkpoint::kVersion, ErrorKind::usage, source, ": a checkpoint of format ",
          found, versioned ? "" : " (porter 0.1)", ", but this porter goes on from format ",
          Checkpoint::kVersion, "; end the run with the porter that began it, or start it anew");
}

// Ids of runs as one text. Between them stands what no id holds.
std::string joined(const std::vector<std::string>& ids) {
  std::string text;
  for (const auto& id : ids) (text += text.empty() ? "" : ",") += id;
  return text;
}
std::vector<std::string> separated(std::string_view text) {
  std::vector<std::string> ids;
  while (!text.empty()) {
    const auto id = text.substr(0, text.find(','));
    ids.emplace_back(id);
    text.remove_prefix(std::min(text.size(), id.size() + 1));
  }
  return ids;
}

// Where an agent's own row is: alone, or among those of its neighbours.
std::size_t own_row(const Checkpoint& part, const NpyArray& rows, std::uint32_t agent) {
  if (rows.shape[0] == 1) return 0;
  return static_cast<std::size_t>(std::ranges::find(part.agents, agent) - part.agents.begin());
}

// Each agent's own row of a matrix.
NpyArray merge_rows(const std::string& name, const std::vector<Checkpoint>& parts,
                    const std::vector<std::string>& sources) {
  NpyArray merged{{parts.size(), 0}, {}};
  for (std::uint32_t agent = 0; agent < parts.size(); ++agent) {
    const auto& rows = member(parts[agent].matrices, name, sources[agent]);
    require(rows.shape.size() == 2, ErrorKind::io, sources[agent], ": ", name, " is no matrix");
    const auto dim = rows.shape[1];
    const auto at = own_row(parts[agent], rows, agent);
    require((agent == 0 || dim == merged.shape[1]) && rows.values.size() >= (at + 1) * dim,
            ErrorKind::io, sources[agent], ": ", name, " has no row of agent ", agent);
    merged.shape[1] = dim;
    const auto row = rows.values.begin() + static_cast<std::ptrdiff_t>(at * dim);
    merged.values.insert(merged.values.end(), row, row + static_cast<std::ptrdiff_t>(dim));
  }
  return merged;
}

}  // namespace

Npz to_npz(Checkpoint checkpoint) {
  Npz members = {{"version", pack(Checkpoint::kVersion)}};
  for_members(checkpoint,
              [&](const char* name, const auto& field) { members[name] = pack(field); });
  if (!checkpoint.agents.empty())
    members["agents"] =
        pack(std::vector<double>(checkpoint.agents.begin(), checkpoint.agents.end()));
  if (!checkpoint.earlier_runs.empty())
    members["earlier_runs"] = pack(joined(checkpoint.earlier_runs));
  if (checkpoint.traffic.seconds > 0) members[kClock] = pack(checkpoint.traffic.seconds);
  members["output"] =
      pack(std::vector<double>{double(checkpoint.output_round), double(checkpoint.output_agent)});
  for (auto& [name, rows] : checkpoint.matrices) members[kMatrix + name] = std::move(rows);
  return members;
}

Checkpoint to_checkpoint(const Npz& members, const std::string& source) {
  require_version(members, source);
  const Members in(members, source);
  Checkpoint checkpoint;
  for_members(checkpoint, [&](const char* name, auto& field) { in.read(name, field); });
  if (members.contains("agents"))
    for (const double agent : in.array("agents").values)
      checkpoint.agents.push_back(in.as_count<std::uint32_t>("agents", agent));
  if (members.contains("earlier_runs")) {
    std::string ids;
    in.read("earlier_runs", ids);
    checkpoint.earlier_runs = separated(ids);
  }
  if (members.contains(kClock)) in.read(kClock, checkpoint.traffic.seconds);
  if (members.contains("output")) {
    const auto& output = in.array("output").values;
    require(output.size() == 2, ErrorKind::io, source, ": output must be two numbers");
    checkpoint.output_round = in.as_count<std::uint32_t>("output", output[0]);
    checkpoint.output_agent = in.as_count<std::uint32_t>("output", output[1]);
  }
  const std::string_view prefix = kMatrix;
  for (const auto& [name, rows] : members)
    if (name.starts_with(prefix)) checkpoint.matrices[name.substr(prefix.size())] = rows;
  return checkpoint;
}

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  save_npz(path, to_npz(checkpoint));
}

Checkpoint load_checkpoint(const std::filesystem::path& path) {
  return to_checkpoint(load_npz(path, ByteArrays::bytes), path.string());
}

Checkpoint merge_checkpoints(const std::vector<Checkpoint>& parts,
                             const std::vector<std::string>& sources) {
  Checkpoint whole = parts.at(0);
  whole.agents.clear();
  for (auto& [name, rows] : whole.matrices) rows = merge_rows(name, parts, sources);
  for (std::size_t agent = 1; agent < parts.size(); ++agent) {
    const auto& [now, traffic] = std::tie(parts[agent].now, parts[agent].traffic);
    whole.now.releases = std::max(whole.now.releases, now.releases);
    whole.now.training_seconds = std::max(whole.now.training_seconds, now.training_seconds);
    whole.traffic.message_bytes += traffic.message_bytes;
    whole.traffic.link_bytes += traffic.link_bytes;
    if (!now.x_out.empty()) whole.now.x_out = now.x_out;
  }
  return whole;
}

}  // namespace porter
