// SPDX-License-Identifier: Apache-2.0
#include "report/run_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "core/text.hpp"

namespace porter {
namespace {

// Keys of [run] that may differ: the seed, and how a run is carried out.
constexpr std::array<std::string_view, 4> kFreeKeys = {"seed", "threads", "checkpoint", "engine"};
// Keys of [algorithm] that may, where they were worked out for each run from its own draws.
constexpr std::array<std::string_view, 2> kAutoKeys = {"step", "consensus"};

struct ConfigParts {
  std::string others;  // all lines, those of the free keys without their values
  std::string seed = {};
};

bool may_differ(const Trace& trace, std::string_view section, std::string_view key) {
  if (section == "[run]") return std::ranges::find(kFreeKeys, key) != kFreeKeys.end();
  return section == "[algorithm]" && std::ranges::find(kAutoKeys, key) != kAutoKeys.end() &&
         trace.is_auto(key);
}

// The resolved config has one key on a line.
ConfigParts split_config(const Trace& trace) {
  ConfigParts parts;
  std::string_view toml = trace.config, section;
  while (!toml.empty()) {
    const auto line = toml.substr(0, toml.find('\n'));
    toml.remove_prefix(std::min(line.size() + 1, toml.size()));
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with('[')) section = line;
    auto rest = line;
    const auto key = next_word(rest);
    if (section == "[run]" && key == "seed") parts.seed = std::string(rest);
    parts.others.append(may_differ(trace, section, key) ? key : line).append("\n");
  }
  return parts;
}

std::set<double> rounds_of(const Trace& trace) {
  std::set<double> rounds;
  if (const auto* column = trace.metrics.find("round"))
    for (const auto& round : *column) rounds.insert(*round);
  return rounds;
}

bool share_rounds(const Trace& a, const Trace& b) {
  const auto in_a = rounds_of(a), in_b = rounds_of(b);
  std::size_t common = 0;
  for (const double round : in_a) common += in_b.contains(round);
  return 2 * common >= std::min(in_a.size(), in_b.size());
}

bool finished(const Trace& trace) { return trace.status == "finished"; }
bool has_ended(const Trace& trace) {
  return trace.status != "unfinished" && trace.status != "interrupted";
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// What all names begin with; neither a character nor a number is cut in two.
std::string common_start(const std::vector<Trace>& runs) {
  const auto& first = runs.front().name;
  auto size = first.size();
  for (const auto& run : runs) {
    const auto end = std::mismatch(first.begin(), first.end(), run.name.begin(), run.name.end());
    size = std::min(size, static_cast<std::size_t>(end.first - first.begin()));
  }
  while (size > 0 && size < first.size() && is_continuation(first[size])) --size;
  const bool in_number = std::ranges::any_of(
      runs, [&](const Trace& run) { return size == run.name.size() || is_digit(run.name[size]); });
  while (in_number && size > 0 && is_digit(first[size - 1])) --size;
  return first.substr(0, size);
}

// Without separators at the end, and without a word for the seed that stands alone there.
std::string without_seed_word(std::string name) {
  const auto trim = [&] {
    const auto end = name.find_last_not_of(" -_./,:=");
    name.resize(end == name.npos ? 0 : end + 1);
  };
  trim();
  for (const std::string_view word : {"seed", "run", "s"}) {
    const auto rest = name.size() - std::min(name.size(), word.size());
    if (name.ends_with(word) &&
        (rest == 0 || !std::isalnum(static_cast<unsigned char>(name[rest - 1])))) {
      name.resize(rest);
      trim();
      break;
    }
  }
  return name;
}

// "lr/seed-1" and "lr/seed-2" are "lr". Where the names have nothing in common, the folder that all
// are in.
std::string common_name(const std::vector<Trace>& runs) {
  if (!runs.front().setting.empty()) return runs.front().setting;
  if (const auto name = without_seed_word(common_start(runs)); !name.empty()) return name;
  const auto parent = runs.front().folder.parent_path();
  if (parent.has_filename() && std::ranges::all_of(runs, [&](const Trace& run) {
        return run.folder.parent_path() == parent;
      }))
    return without_controls(parent.filename().string());
  return fmt::format("{} and {} more", runs.front().name, runs.size() - 1);
}

RunGroup make_group(std::vector<Trace> runs) {
  RunGroup group;
  group.name = runs.size() == 1 ? runs.front().name : common_name(runs);
  const bool any = std::ranges::any_of(runs, finished);
  for (auto& run : runs)
    (finished(run) || !any ? group.runs : group.apart).push_back(std::move(run));
  return group;
}

// Runs of one config that become one line.
struct Family {
  std::set<std::string> seeds = {};
  std::vector<Trace> runs = {};
};

// Lines with the same name would not be told apart.
void tell_apart(std::vector<RunGroup>& groups) {
  std::map<std::string, int> uses;
  for (const auto& group : groups) ++uses[group.name];
  for (auto& group : groups)
    if (uses[group.name] > 1 && group.several())
      group.name += " (" + without_controls(group.first().folder.string()) + ")";
}

}  // namespace

bool RunGroup::diverged() const {
  return std::ranges::all_of(runs, [](const Trace& run) { return run.diverged(); });
}

std::string RunGroup::status() const {
  if (!apart.empty()) return fmt::format("{} of {} finished", runs.size(), seeds());
  const auto& status = first().status;
  return std::ranges::all_of(runs, [&](const Trace& run) { return run.status == status; })
             ? status
             : "unfinished";
}

std::string RunGroup::label() const {
  if (!several()) return name;
  return apart.empty() ? fmt::format("{} ({} seeds)", name, seeds())
                       : fmt::format("{} ({} of {} seeds)", name, runs.size(), seeds());
}

std::optional<Spread> RunGroup::spread(
    const std::function<std::optional<double>(const Trace&)>& figure) const {
  std::vector<double> values;
  for (const auto& run : runs)
    if (const auto value = figure(run)) values.push_back(*value);
  return spread_of(values);
}

std::optional<Spread> RunGroup::last(std::string_view column) const {
  return spread([&](const Trace& run) { return run.last(column); });
}

std::vector<RunGroup> group_by_seed(std::vector<Trace> traces) {
  std::vector<Family> families;
  std::map<std::string, std::size_t> known;  // by config, to the family that is open for more
  for (auto& trace : traces) {
    const auto parts = split_config(trace);
    // Agents of one run have one config, and are not alike for that.
    const auto key = parts.others + (trace.agent ? '\n' + trace.name : "");
    const bool joinable = !parts.seed.empty() && has_ended(trace);
    const auto found = known.find(key);
    const bool joins = joinable && found != known.end() &&
                       !families[found->second].seeds.contains(parts.seed) &&
                       share_rounds(families[found->second].runs.front(), trace);
    if (joinable && found == known.end()) known[key] = families.size();
    auto& family = joins ? families[found->second] : families.emplace_back();
    family.seeds.insert(parts.seed);
    family.runs.push_back(std::move(trace));
  }
  std::vector<RunGroup> groups;
  for (auto& family : families) groups.push_back(make_group(std::move(family.runs)));
  tell_apart(groups);
  return groups;
}

std::vector<RunGroup> each_alone(std::vector<Trace> traces) {
  std::vector<RunGroup> groups;
  for (auto& trace : traces) {
    RunGroup group{.name = trace.name, .runs = {}};
    group.runs.push_back(std::move(trace));
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace porter
