// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "config/config_keys.hpp"
#include "config/config_table.hpp"
#include "data/holdout.hpp"
#include "grid/sweep.hpp"
#include "io/toml_section.hpp"
#include "porter/core/error.hpp"
#include "sweep_values.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSettings = 100000;
constexpr std::uint32_t kMaxHalvings = 16;
constexpr std::uint32_t kTriesPerSetting = 20;  // a random search draws none twice, if it can

// A list or the text of a SweepValues.
std::string values_text(const std::string& key, const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  const auto* list = node.as_array();
  require(list != nullptr && !list->empty(), ErrorKind::usage, "sweep.vary: ", key,
          ": expected a list of values or a text such as \"log:0.01..1:5\", found ",
          toml_text(node));
  std::string out;
  for (const auto& item : *list) out += (out.empty() ? "" : ",") + value_text(item);
  return out;
}

SweepOptions read_options(const toml::table& root, const std::string& source) {
  TomlSection section(root, "sweep", source);
  SweepOptions options;
  if (const auto* vary = section.find("vary")) {
    section.check(vary->is_table(), "vary", "expected a section [sweep.vary], found ",
                  toml_text(*vary));
    flatten(*vary->as_table(), [&](const std::string& key, const toml::node& node) {
      options.vary.emplace_back(key, values_text(key, node));
    });
  }
  if (const auto* settings = section.find("settings")) {
    section.check(settings->is_array_of_tables() || settings->is_array(), "settings",
                  "expected a list of settings such as [{ algorithm.step = 0.1 }], found ",
                  toml_text(*settings));
    for (const auto& item : *settings->as_array()) {
      section.check(item.is_table(), "settings",
                    "expected settings such as { algorithm.step = 0.1 }, found ", toml_text(item));
      auto& setting = options.settings.emplace_back();
      flatten(*item.as_table(), [&](const std::string& key, const toml::node& node) {
        setting.emplace_back(key, value_text(node));
      });
    }
  }
  section.read_count("random", options.random, 0, kMaxSettings);
  section.read_count("seeds", options.seeds, 1, kMaxSeeds);
  section.read_count("folds", options.folds, 0, kMaxFolds);
  section.read_count("halving", options.halving, 0, kMaxHalvings);
  section.read("hopeless", options.hopeless);
  if (section.find("metric")) section.read("metric", options.metric.emplace());
  section.refuse_unknown_keys();
  return options;
}

// The command line over the file; a key varied in both is taken from the command line.
SweepOptions merged(SweepOptions file, const SweepOptions& wins) {
  if (!wins.vary.empty()) file.settings.clear();
  for (const auto& [key, text] : wins.vary) {
    const auto found =
        std::ranges::find(file.vary, key, [](const auto& pair) { return pair.first; });
    (found == file.vary.end() ? file.vary.emplace_back(key, text) : *found).second = text;
  }
  if (wins.random) file.random = wins.random;
  if (wins.seeds) file.seeds = wins.seeds;
  if (wins.folds) file.folds = wins.folds;
  if (wins.metric) file.metric = wins.metric;
  if (wins.halving) file.halving = wins.halving;
  if (wins.hopeless) file.hopeless = wins.hopeless;
  return file;
}

std::vector<std::string> keys_of(const KeyTexts& pairs) {
  std::vector<std::string> keys;
  for (const auto& [key, text] : pairs) keys.push_back(key);
  return keys;
}

void check_settings(const SweepOptions& options) {
  require(options.vary.empty() && options.random.value_or(0) == 0, ErrorKind::usage,
          "sweep.settings: every setting is listed, so nothing can vary or be drawn beside it");
  std::set<KeyTexts> seen;
  for (const auto& setting : options.settings) {
    require(keys_of(setting) == keys_of(options.settings.front()), ErrorKind::usage,
            "sweep.settings: number ", seen.size() + 1, " has other keys than the first");
    require(seen.insert(setting).second, ErrorKind::usage, "sweep.settings: number ",
            seen.size() + 1, " is given twice");
  }
}

void check(const SweepOptions& options) {
  if (!options.settings.empty()) check_settings(options);
  const auto keys = keys_of(options.settings.empty() ? options.vary : options.settings.front());
  require(!keys.empty(), ErrorKind::usage,
          "nothing to vary: expected section.key=VALUES, or [sweep.vary] in the config");
  std::set<std::string> seen;
  for (const auto& key : keys) {
    require(key.find('.') != key.npos && key.find('=') == key.npos, ErrorKind::usage,
            "vary: expected section.key, found \"", key, "\"");
    require(key != "run.seed", ErrorKind::usage,
            "vary run.seed: it is what the number of seeds is for");
    const auto* known = find_key(key);
    require(!known || known->scope != KeyScope::conduct, ErrorKind::usage, "vary ", key,
            ": it does not change results");
    require(seen.insert(key).second, ErrorKind::usage, "vary ", key, ": is given twice");
  }
  const auto within = [](const std::optional<std::uint32_t>& value, const char* name,
                         std::uint32_t least, std::uint32_t most) {
    require(!value || (*value >= least && *value <= most), ErrorKind::usage, name,
            ": expected a whole number from ", least, " to ", most, ", found ", value.value_or(0));
  };
  within(options.random, "random", 0, kMaxSettings);
  within(options.seeds, "seeds", 1, kMaxSeeds);
  require(options.folds.value_or(0) != 1, ErrorKind::usage,
          "folds: expected 0 (no cross-validation) or a whole number from 2 to ", kMaxFolds,
          ", found 1");
  within(options.folds, "folds", 0, kMaxFolds);
  within(options.halving, "halving", 0, kMaxHalvings);
  const double hopeless = options.hopeless.value_or(10);
  require(hopeless == 0 || (hopeless > 1 && std::isfinite(hopeless)), ErrorKind::usage,
          "hopeless: expected 0 (off) or a factor above 1, found ", hopeless);
}

using Values = std::vector<std::string>;

std::vector<Values> grid(const std::vector<SweepValues>& axes) {
  std::vector<Values> settings = {{}};
  for (const auto& axis : axes) {
    std::vector<Values> longer;
    const auto values = axis.all();
    require(settings.size() * values.size() <= kMaxSettings, ErrorKind::usage,
            "the grid has more than ", kMaxSettings, " settings; use a random search");
    for (const auto& setting : settings)
      for (const auto& value : values) {
        longer.push_back(setting);
        longer.back().push_back(value);
      }
    settings = std::move(longer);
  }
  return settings;
}

std::vector<Values> drawn(const std::vector<SweepValues>& axes, std::uint32_t count,
                          std::uint64_t seed) {
  std::vector<Values> settings;
  std::set<Values> seen;
  for (std::uint32_t i = 0; settings.size() < count && i < kTriesPerSetting * count; ++i) {
    Values values;
    for (std::uint32_t axis = 0; axis < axes.size(); ++axis) {
      RngStream rng(seed, Draw::sweep, axis, i);
      values.push_back(axes[axis].draw(rng));
    }
    if (seen.insert(values).second) settings.push_back(std::move(values));
  }
  return settings;
}

// The name of a file becomes independent of the config's folder.
std::string resolved(const std::string& key, const std::string& value, const fs::path& folder) {
  const auto plain = plain_value(value), file = resolved_value(key, plain, folder);
  return file == plain ? value : '"' + file + '"';
}

// The same for every value of a list.
std::string resolved_text(const std::string& key, const SweepValues& values,
                          const std::string& text, const fs::path& folder) {
  if (values.is_range()) return text;
  std::string out;
  for (const auto& value : values.all())
    (out += out.empty() ? "" : ",") += resolved(key, value, folder);
  return out;
}

// Folds take the place of a test set, so that the loss on them is what to choose by.
std::string metric_of(const SweepOptions& options) {
  return options.metric.value_or(options.folds.value_or(0) > 0 ? "test_loss" : "loss");
}

// As a section that read_options understands.
toml::table section_of(const SweepOptions& options) {
  toml::table vary;
  for (const auto& [key, text] : options.vary) vary.insert(key, text);
  toml::table section{{"halving", std::int64_t(options.halving.value_or(0))},
                      {"hopeless", options.hopeless.value_or(10)},
                      {"metric", metric_of(options)},
                      {"random", std::int64_t(options.random.value_or(0))},
                      {"seeds", std::int64_t(options.seeds.value_or(3))}};
  if (options.folds.value_or(0) > 0) section.insert("folds", std::int64_t(*options.folds));
  if (options.settings.empty()) {
    section.insert("vary", vary);
    return section;
  }
  toml::array settings;
  for (const auto& setting : options.settings) {
    toml::table table;
    for (const auto& [key, text] : setting) apply_override(table, key + '=' + text, "settings");
    settings.push_back(std::move(table));
  }
  section.insert("settings", std::move(settings));
  return section;
}

// The settings in the order in which they run; names of files in them and in `options` become
// independent of the config's folder.
std::vector<Values> listed(SweepOptions& options, const fs::path& folder) {
  std::vector<Values> settings;
  for (auto& setting : options.settings) {
    auto& values = settings.emplace_back();
    for (auto& [key, text] : setting) values.push_back(text = resolved(key, text, folder));
  }
  return settings;
}

std::vector<Values> varied(SweepOptions& options, SweepDesign design, std::uint64_t seed,
                           const fs::path& folder) {
  std::vector<SweepValues> axes;
  for (auto& [key, text] : options.vary) {
    const auto& axis = axes.emplace_back(key, text);
    text = resolved_text(key, axis, text, folder);
  }
  return design == SweepDesign::random ? drawn(axes, *options.random, seed) : grid(axes);
}

// Each fold is to be a test set, so there may be no other one.
void check_folds(DataOptions data, std::uint32_t folds) {
  if (folds == 0) return;
  require(!data.holds_out(), ErrorKind::usage,
          "folds: expected them or data.holdout or data.fold, found both");
  data.fold = {1, folds};
  check_holdout(data, "folds: ");
}

GridSetting make_setting(toml::table root, const std::string& source, const fs::path& folder,
                         const std::vector<std::string>& keys, Values values, std::uint32_t folds) {
  GridSetting setting{.values = std::move(values)};
  for (std::size_t i = 0; i < keys.size(); ++i)
    setting.name += (i > 0 ? ", " : "") + keys[i] + " = " + plain_value(setting.values[i]);
  try {
    for (std::size_t i = 0; i < keys.size(); ++i)
      apply_override(root, keys[i] + '=' + setting.values[i], "vary");
    resolve_paths(root, folder);
    auto config = read_config(root, source);
    require(!claims_guarantee(config), ErrorKind::usage,
            "privacy.noise: a sweep trains on the same data again and again, which no budget "
            "covers; tune with \"simulated\" noise");
    check_folds(config.data, folds);
    setting.config = std::move(config);
  } catch (const Error& error) {
    setting.refused = error.what();
  }
  return setting;
}

}  // namespace

Sweep load_sweep(const fs::path& path, const std::vector<std::string>& overrides,
                 const SweepOptions& wins) {
  const auto source = path.string();
  const auto folder = fs::absolute(path).parent_path();
  auto root = load_toml(path, overrides);
  auto options = merged(read_options(root, source), wins);
  root.erase("sweep");
  check(options);
  const auto base = read_config(root, source);

  Sweep sweep;
  sweep.metric = find_sweep_metric(metric_of(options));
  sweep.folds = options.folds.value_or(0);
  const bool has_list = !options.settings.empty();
  sweep.keys = keys_of(has_list ? options.settings.front() : options.vary);
  sweep.design = has_list                         ? SweepDesign::listed
                 : options.random.value_or(0) > 0 ? SweepDesign::random
                                                  : SweepDesign::grid;
  sweep.halving = options.halving.value_or(0);
  sweep.hopeless = options.hopeless.value_or(10);
  const std::uint32_t seeds = options.seeds.value_or(3);
  require(base.run.seed <= std::uint64_t(std::numeric_limits<std::int64_t>::max()) - seeds,
          ErrorKind::usage, "run.seed: too large for ", seeds, " seeds, found ", base.run.seed);
  for (std::uint32_t i = 0; i < seeds; ++i) sweep.seeds.push_back(base.run.seed + i);

  for (auto& values :
       has_list ? listed(options, folder) : varied(options, sweep.design, base.run.seed, folder))
    sweep.settings.push_back(
        make_setting(root, source, folder, sweep.keys, std::move(values), sweep.folds));
  const auto is_valid = [](const GridSetting& setting) { return setting.config.has_value(); };
  require(std::ranges::any_of(sweep.settings, is_valid), ErrorKind::usage,
          "no setting of the sweep is a valid config; the first says: ",
          sweep.settings.front().refused);

  root.insert("sweep", section_of(options));
  std::ostringstream out;
  out << root << '\n';
  sweep.toml = out.str();
  return sweep;
}

}  // namespace porter
