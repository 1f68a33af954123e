// SPDX-License-Identifier: Apache-2.0
#include "agent_folder.hpp"

#include <algorithm>

#include "difference.hpp"
#include "porter/core/error.hpp"
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

}  // namespace

AgentFolder::AgentFolder(fs::path path, const Config& config) : path_(std::move(path)) {
  const auto file = path_ / "config.toml";
  const auto text = to_toml(config);
  if (fs::exists(file)) {
    const auto difference = config_difference(read_file(file), text);
    require(difference.empty(), ErrorKind::usage, path_.string(),
            " holds a run of another config (", difference, "); choose another --out");
  } else {
    require(!fs::exists(path_ / "checkpoint") && !fs::exists(path_ / "ledger"), ErrorKind::usage,
            path_.string(), " holds other files and no run; choose another --out");
    make_folder(path_);
    write_file(file, text);
  }
  make_folder(path_ / "checkpoint");
}

std::optional<AgentCheckpoint> AgentFolder::load_checkpoint() const {
  if (!fs::exists(checkpoint_file())) return std::nullopt;
  const auto source = checkpoint_file().string();
  AgentCheckpoint checkpoint{0, load_npz(checkpoint_file()), {}};
  const auto& counters = member(checkpoint.snapshot, "counters", source).values;
  require(!counters.empty() && counters[0] >= 0 && counters[0] < 4294967296.0, ErrorKind::io,
          source, ": not a checkpoint of an agent");
  checkpoint.round = static_cast<std::uint32_t>(counters[0]);
  checkpoint.sent = unpack(member(checkpoint.snapshot, "sent", source), source);
  return checkpoint;
}

void AgentFolder::save_checkpoint(AgentCheckpoint checkpoint) const {
  checkpoint.snapshot["sent"] = pack(checkpoint.sent);
  save_npz(checkpoint_file(), checkpoint.snapshot);
}

void AgentFolder::write_results(Experiment& experiment) const {
  const auto x = experiment.algorithm().iterates().row(experiment.hosted()[0]);
  const std::vector<double> values(x.begin(), x.end());
  save_npz(path_ / "model.npz", {{"x_mean", {{x.size()}, values}}, {"X", {{1, x.size()}, values}}});
  write_file(path_ / "privacy.json", privacy_json(experiment));
}

void AgentFolder::mark_finished() const { write_file(finished_file(), ""); }
bool AgentFolder::is_finished() const { return fs::exists(finished_file()); }

}  // namespace porter
