// SPDX-License-Identifier: Apache-2.0
#include "agent_folder.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "difference.hpp"
#include "io/json_text.hpp"
#include "porter/core/error.hpp"
#include "porter/core/text.hpp"
#include "porter/graph/picture.hpp"
#include "porter/io/file.hpp"
#include "summary.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPacked = 6;  // bytes in a double: whole numbers up to 2^48 are exact

// A message as step, length, and six bytes to a number.
NpyArray pack(const std::vector<SentMessage>& messages) {
  std::vector<double> values;
  for (const auto& [step, bytes] : messages) {
    values.push_back(step);
    values.push_back(static_cast<double>(bytes.size()));
    for (std::size_t at = 0; at < bytes.size(); at += kPacked) {
      std::uint64_t word = 0;
      for (std::size_t i = 0; i < kPacked && at + i < bytes.size(); ++i)
        word |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
      values.push_back(static_cast<double>(word));
    }
  }
  const auto size = values.size();
  return {{size}, std::move(values)};
}

std::vector<SentMessage> unpack(const NpyArray& array, const std::string& source) {
  const auto fail_unless = [&](bool condition) {
    require(condition, ErrorKind::io, source, ": the messages in it are damaged");
  };
  const auto whole = [&](double value, double limit) {
    fail_unless(value >= 0 && value < limit && value == static_cast<double>(std::uint64_t(value)));
    return static_cast<std::uint64_t>(value);
  };
  std::vector<SentMessage> messages;
  const auto& values = array.values;
  for (std::size_t at = 0; at < values.size();) {
    fail_unless(values.size() - at >= 2);
    SentMessage message{static_cast<std::uint32_t>(whole(values[at], 4294967296.0)), {}};
    const std::size_t length = whole(values[at + 1], 4294967296.0);
    at += 2;
    const auto words = (length + kPacked - 1) / kPacked;
    fail_unless(words <= values.size() - at);
    for (std::size_t w = 0; w < words; ++w) {
      auto word = whole(values[at++], 281474976710656.0);
      for (std::size_t i = 0; i < kPacked && message.bytes.size() < length; ++i, word >>= 8)
        message.bytes.push_back(static_cast<std::byte>(word & 0xFF));
    }
    messages.push_back(std::move(message));
  }
  return messages;
}

// The agent, and the digits of the run.
NpyArray pack(const FileOwner& owner) {
  std::vector<double> values = {static_cast<double>(owner.agent)};
  values.insert(values.end(), owner.run.begin(), owner.run.end());
  const auto size = values.size();
  return {{size}, std::move(values)};
}

FileOwner unpack_owner(const NpyArray& array, const std::string& source) {
  const auto& values = array.values;
  const bool whole = !values.empty() && values[0] >= 0 && values[0] < 4294967296.0 &&
                     std::ranges::all_of(values.begin() + 1, values.end(),
                                         [](double c) { return c > ' ' && c <= '~'; });
  require(whole, ErrorKind::io, source, ": the name of its owner is damaged");
  FileOwner owner{{}, static_cast<std::uint32_t>(values[0])};
  for (std::size_t i = 1; i < values.size(); ++i) owner.run += static_cast<char>(values[i]);
  return owner;
}

// The first and the last round, without what only the raw data or all agents could tell.
std::string public_metrics(const Experiment& experiment) {
  const auto traffic = experiment.traffic();
  const auto epsilon = experiment.privacy().epsilon(experiment.releases());
  return concat("round,bits_per_agent,link_bits_per_agent,epsilon,seconds\n0,0,0,",
                epsilon ? "0" : "", ",0\n", experiment.round(), ',', 8 * traffic.message_bytes, ',',
                8 * traffic.link_bytes, ',', epsilon ? shortest(*epsilon) : "", ',',
                shortest(experiment.training_seconds()), '\n');
}

// The summary counts the bytes of all agents; here is only one.
std::string public_summary(const Experiment& experiment, const std::string& name) {
  auto json = nlohmann::ordered_json::parse(
      summary_json(experiment, name, TrainStatus::finished, std::nullopt));
  const auto traffic = experiment.traffic();
  json["bytes_sent_per_agent"] = traffic.message_bytes;
  json["link_bytes_per_agent"] = traffic.link_bytes;
  json["majority_rate"] = nullptr;
  return json_text(json, 2) + "\n";
}

}  // namespace

AgentFolder::AgentFolder(fs::path path, const Config& config, FileOwner owner)
    : path_(std::move(path)), owner_(std::move(owner)) {
  const auto file = path_ / "config.toml";
  const auto text = to_toml(config);
  if (fs::exists(file)) {
    const auto difference = config_difference(read_file(file), text);
    require(difference.empty(), ErrorKind::usage, path_.string(),
            " holds a run of another config (", difference, "); choose another --out");
  } else {
    require(!fs::exists(path_ / "checkpoint") && !fs::exists(path_ / "ledger"), ErrorKind::usage,
            path_.string(), " holds other files and no run; choose another --out");
    make_folder(path_, config);
    write_file(file, text);
  }
  make_folder(path_, config);
  make_folder(path_ / "checkpoint", config);
}

std::optional<AgentCheckpoint> AgentFolder::load_checkpoint() {
  const bool newest = fs::exists(checkpoint_file()), previous = fs::exists(previous_file());
  if (!newest && !previous) return std::nullopt;
  std::string damage = checkpoint_file().string() + " is missing";
  if (newest) try {
      auto checkpoint = load(checkpoint_file());
      keeps_newest_ = true;
      newest_round_ = checkpoint.round;
      return checkpoint;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io || !previous) throw;
      damage = error.what();
    }
  auto checkpoint = load(previous_file());
  newest_round_ = checkpoint.round;
  checkpoint.damage = damage;
  return checkpoint;
}

AgentCheckpoint AgentFolder::load(const fs::path& file) const {
  const auto source = file.string();
  AgentCheckpoint checkpoint{0, load_npz(file), {}};
  const auto found = checkpoint.snapshot.find("owner");
  require(found != checkpoint.snapshot.end(), ErrorKind::io, source,
          ": it does not say whose it is: a checkpoint of porter 0.1, or of no agent; end its run "
          "with porter 0.1, or start a new run in a new folder");
  require_owner(unpack_owner(found->second, source), owner_, source);
  const auto& counters = member(checkpoint.snapshot, "counters", source).values;
  require(!counters.empty() && counters[0] >= 0 && counters[0] < 4294967296.0, ErrorKind::io,
          source, ": not a checkpoint of an agent");
  checkpoint.round = static_cast<std::uint32_t>(counters[0]);
  checkpoint.sent = unpack(member(checkpoint.snapshot, "sent", source), source);
  return checkpoint;
}

// There is a checkpoint at every moment. One that is damaged does not replace a good one.
void AgentFolder::save_checkpoint(AgentCheckpoint checkpoint) {
  checkpoint.snapshot["sent"] = pack(checkpoint.sent);
  checkpoint.snapshot["owner"] = pack(owner_);
  if (std::exchange(keeps_newest_, true)) {
    std::error_code ignored;
    fs::remove(previous_file(), ignored);
    fs::create_hard_link(checkpoint_file(), previous_file(), ignored);
    if (ignored) fs::rename(checkpoint_file(), previous_file());  // a file system without links
  }
  oldest_round_ = std::exchange(newest_round_, checkpoint.round);
  save_npz(checkpoint_file(), checkpoint.snapshot);
}

void AgentFolder::write_results(Experiment& experiment, const std::string& name) const {
  const auto x = experiment.algorithm().iterates().row(experiment.hosted()[0]);
  const std::vector<double> values(x.begin(), x.end());
  save_npz(path_ / "model.npz", {{"x_mean", {{x.size()}, values}}, {"X", {{1, x.size()}, values}}});
  write_file(path_ / "privacy.json", privacy_json(experiment));
  const auto& network = *experiment.network();
  write_file(path_ / "graph.svg", graph_svg(network.graph, network.mixing));
  write_file(path_ / "metrics.csv", public_metrics(experiment));
  write_file(path_ / "summary.json", public_summary(experiment, name));
}

void AgentFolder::mark_finished() const { write_file(finished_file(), ""); }
bool AgentFolder::is_finished() const { return fs::exists(finished_file()); }

}  // namespace porter
