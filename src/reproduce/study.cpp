// SPDX-License-Identifier: Apache-2.0
#include "reproduce/study.hpp"

#include <algorithm>
#include <utility>

#include "config/config_table.hpp"
#include "data/catalog.hpp"
#include "io/toml_section.hpp"
#include "porter/core/error.hpp"
#include "study_parts.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

using Overrides = std::vector<std::string>;  // "section.key=value"

void add_overrides(const toml::table& table, Overrides& out) {
  flatten(table, [&](const std::string& key, const toml::node& node) {
    out.push_back(key + '=' + toml_text(node));
  });
}

Overrides read_overrides(TomlSection& section, const char* key) {
  Overrides out;
  if (const auto* node = section.find(key)) {
    section.check(node->is_table(), key,
                  "expected a table such as { \"algorithm.step\" = 0.1 }, found ",
                  toml_text(*node));
    add_overrides(*node->as_table(), out);
  }
  return out;
}

// A list of tables, one per value; empty where the key is absent.
std::vector<Overrides> read_with(TomlSection& section, std::size_t values) {
  const auto* node = section.find("with");
  if (node == nullptr) return {};
  const auto* list = node->as_array();
  section.check(list != nullptr && list->size() >= values, "with", "expected a list of ", values,
                " tables, one per value, found ", toml_text(*node));
  std::vector<Overrides> out;
  for (const auto& item : *list) {
    section.check(item.is_table(), "with", "expected tables in the list, found ", toml_text(item));
    add_overrides(*item.as_table(), out.emplace_back());
  }
  return out;
}

StoredFigures stored_figures(TomlSection& section, const toml::node& node) {
  section.check(node.is_table(), "reference",
                "expected { metric = number, ... } or a list of these, one per value, found ",
                toml_text(node));
  StoredFigures out;
  for (const auto& [key, value] : *node.as_table()) {
    const std::string metric(key.str());
    section.check(value.is_number(), "reference", metric, ": expected a number, found ",
                  toml_text(value));
    section.located("reference", [&] { find_column(metric); });
    out[metric] = *value.value<double>();
  }
  return out;
}

std::vector<StoredFigures> read_stored(TomlSection& section, std::size_t values) {
  const auto* node = section.find("reference");
  std::vector<StoredFigures> out;
  if (node == nullptr) return out;
  if (const auto* list = node->as_array())
    for (const auto& item : *list) out.push_back(stored_figures(section, item));
  else
    out.push_back(stored_figures(section, *node));
  section.check(out.size() >= values, "reference", "expected one table per value, ", values,
                ", found ", out.size());
  return out;
}

std::vector<std::string> read_list(TomlSection& section, const char* key) {
  const auto* node = section.find(key);
  if (node == nullptr) return {};
  section.check(node->is_array() && !node->as_array()->empty(), key,
                "expected a list that is not empty, found ", toml_text(*node));
  std::vector<std::string> out;
  for (const auto& item : *node->as_array()) out.push_back(value_text(item));
  return out;
}

struct Quick {
  std::optional<std::int64_t> rounds;
  std::optional<std::uint32_t> seeds;
  std::size_t keep = 0;  // 0: all
  Overrides set;
};

/// Reads one file.
class Reader {
 public:
  Reader(const toml::table& root, const std::string& source, const fs::path& folder)
      : root_(root), source_(source), folder_(folder) {}

  Study read(const std::string& name, const StudyOptions& options) {
    study_.name = name;
    study_.quick = options.quick;
    read_top(options);
    read_kind();
    if (options.quick && quick_.keep > 0 && study_.kind != StudyKind::curves)
      study_.values.resize(std::min(study_.values.size(), quick_.keep));
    if (section("config").present()) base_ = *root_["config"].as_table();
    if (section("fallback").present()) add_overrides(*root_["fallback"].as_table(), fallback_);
    std::size_t index = 0;
    if (const auto* list = root_["series"].as_array())
      for (const auto& item : *list)
        if (const auto* table = item.as_table()) read_series(*table, index++);
    require(index > 0, ErrorKind::usage, source_, ": expected at least one [[series]], found none");
    return std::move(study_);
  }

 private:
  TomlSection section(std::string_view name) const { return {root_, name, source_}; }

  void read_top(const StudyOptions& options) {
    TomlSection section(&root_, "experiment", source_);
    section.read("title", study_.title);
    section.read("about", study_.about);
    std::string kind;
    section.read("kind", kind);
    section.located("kind", [&] { study_.kind = parse_choice<StudyKind>(kind); });
    std::uint32_t seeds = 5;
    section.read_count("seeds", seeds, 1, kMaxSeeds);
    if (const auto* node = section.find("quick")) {
      section.check(node->is_table(), "quick", "expected { rounds = N, seeds = N }, found ",
                    toml_text(*node));
      read_quick({node->as_table(), "quick", source_});
    }
    for (const char* other : {"config", "fallback", "series", "curves", "slope", "bars"})
      section.find(other);  // read elsewhere
    section.refuse_unknown_keys();
    section.check(!study_.title.empty(), "title", "expected a text, found nothing");
    if (options.quick && quick_.seeds) seeds = std::min(seeds, *quick_.seeds);
    for (std::uint64_t seed = 1; seed <= options.seeds.value_or(seeds); ++seed)
      study_.seeds.push_back(seed);
  }

  void read_quick(TomlSection section) {
    section.read_count("rounds", quick_.rounds, 1);
    section.read_count("seeds", quick_.seeds, 1, kMaxSeeds);
    section.read_count("keep", quick_.keep, 1);
    quick_.set = read_overrides(section, "set");
    section.refuse_unknown_keys();
  }

  void read_kind() {
    const auto name = choice_text(study_.kind);
    for (const auto& [text, kind] : Choices<StudyKind>::table)
      require(kind == study_.kind || !root_.contains(text), ErrorKind::usage, source_,
              ": there is a section [", text, "], but the kind is \"", name, "\"");
    require(root_.contains(name), ErrorKind::usage, source_, ": expected a section [", name,
            "], as the kind is \"", name, "\"");
    auto section = this->section(name);
    if (study_.kind != StudyKind::slope) read_metrics(section);
    study_.values = {""};
    if (study_.kind != StudyKind::curves) read_grid(section);
    if (study_.kind == StudyKind::slope) read_law(section);
    section.refuse_unknown_keys();
  }

  void read_metrics(TomlSection& section) {
    for (const auto& text : read_list(section, "metrics"))
      study_.metrics.push_back(plain_value(text));
    section.check(!study_.metrics.empty(), "metrics",
                  "expected a list of columns of metrics.csv, found nothing");
    for (const auto& metric : study_.metrics)
      section.located("metrics", [&] { find_column(metric); });
  }

  void read_grid(TomlSection& section) {
    section.read("vary", study_.vary);
    const auto values = read_list(section, "values");
    section.check(study_.vary.empty() == values.empty(), "vary",
                  "expected vary and values together, found only one of them");
    section.check(study_.vary.empty() || study_.vary.find('.') != study_.vary.npos, "vary",
                  "expected section.key, found \"", study_.vary, "\"");
    section.check(study_.vary != "run.seed", "vary", "run.seed is what `seeds` counts");
    if (!values.empty()) study_.values = values;
    with_ = read_with(section, study_.values.size());
    study_.x = study_.vary;
    section.read("x", study_.x);
    section.located("x", [&] { check_figure(study_.x, study_.vary); });
  }

  void read_law(TomlSection& section) {
    section.check(!study_.vary.empty(), "vary", "expected the key that varies, found nothing");
    section.check(section.has("exponent") && section.has("y"), "exponent",
                  "expected y and exponent, found one of them or none");
    section.read("y", study_.y);
    section.located("y", [&] { check_figure(study_.y, ""); });
    section.read("exponent", study_.exponent);
    section.read("theorem", study_.theorem);
  }

  void read_series(const toml::table& table, std::size_t index) {
    TomlSection section(&table, concat("series ", index + 1), source_);
    StudySeries series;
    section.read("label", series.label);
    section.check(!series.label.empty(), "label", "expected a text, found nothing");
    for (const auto& other : study_.series)
      section.check(other.label != series.label, "label", "\"", series.label, "\" is given twice");
    section.read("tuned", series.tuned);
    const auto set = read_overrides(section, "set");
    const auto with = read_with(section, study_.values.size());
    series.stored = read_stored(section, study_.values.size());
    section.refuse_unknown_keys();
    // A slope needs its series whole: there `keep` counts values only.
    const bool cut = study_.quick && quick_.keep > 0 && study_.kind != StudyKind::slope;
    if (cut && index >= quick_.keep) return;
    study_.series.push_back(std::move(series));
    for (std::size_t value = 0; value < study_.values.size(); ++value) {
      auto overrides = set;
      if (!study_.vary.empty()) overrides.push_back(study_.vary + '=' + study_.values[value]);
      for (const auto* more : {&std::as_const(with_), &with})
        if (!more->empty())
          overrides.insert(overrides.end(), (*more)[value].begin(), (*more)[value].end());
      study_.settings.push_back(make_setting(value, overrides));
    }
  }

  // Of the last series.
  GridSetting make_setting(std::size_t value, const Overrides& overrides) const {
    GridSetting setting{.name = study_.series.back().label};
    if (study_.values.size() > 1)
      setting.name += concat(", ", study_.vary.substr(study_.vary.find('.') + 1), " = ",
                             plain_value(study_.values[value]));
    try {
      auto config = config_of(overrides);
      setting.missing_data = missing_data(config.data);
      if (!setting.missing_data.empty() && !fallback_.empty()) {
        auto with_fallback = overrides;
        with_fallback.insert(with_fallback.end(), fallback_.begin(), fallback_.end());
        config = config_of(with_fallback);
      }
      require(!claims_guarantee(config), ErrorKind::usage,
              "privacy.noise: runs that are to be repeated need \"simulated\" noise");
      setting.config = std::move(config);
    } catch (const Error& error) {
      setting.refused = error.what();
    }
    return setting;
  }

  Config config_of(const Overrides& overrides) const {
    auto root = base_;
    for (const auto& one : overrides) apply_override(root, one, "set");
    if (study_.quick)
      for (const auto& one : quick_.set) apply_override(root, one, "quick");
    resolve_paths(root, folder_);
    auto config = read_config(root, source_);
    // Where rounds vary they are what is studied.
    if (study_.quick && quick_.rounds && study_.vary != "algorithm.rounds")
      config.algorithm.rounds = static_cast<std::uint32_t>(
          std::min<std::int64_t>(config.algorithm.rounds, *quick_.rounds));
    config.run.seed = 1;
    config.run.threads = 0;
    return config;
  }

  // The name of a known data set that is not at hand; empty if it is.
  static std::string missing_data(const DataOptions& data) {
    if (!data.train.empty() || !data.train_images.empty()) return {};
    for (const auto& file : known_data(data.name).files)
      if (!find_data_file(file, data_folders())) return data.name;
    return {};
  }

  const toml::table& root_;
  const std::string& source_;
  const fs::path& folder_;
  Study study_;
  Quick quick_;
  toml::table base_;
  Overrides fallback_;
  std::vector<Overrides> with_;
};

}  // namespace

Study parse_study(std::string_view text, const std::string& name, const std::string& source,
                  const fs::path& folder, const StudyOptions& options) {
  const auto root = parse_toml(text, source);
  auto study = Reader(root, source, folder).read(name, options);
  study.text = text;
  const auto valid = [](const GridSetting& setting) { return setting.config.has_value(); };
  require(std::ranges::any_of(study.settings, valid), ErrorKind::usage, source,
          ": no setting is a valid config; the first says: ", study.settings.front().refused);
  return study;
}

std::string study_title(std::string_view text, const std::string& source) {
  const auto root = parse_toml(text, source);
  return root["title"].value_or(std::string());
}

}  // namespace porter
