// SPDX-License-Identifier: Apache-2.0
// porter config: what a config may say, and what one says.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "io/json.hpp"
#include "porter/config/config.hpp"

namespace porter::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ConfigArguments {
  std::string config;
  std::vector<std::string> overrides;
  bool json = false, markdown = false;
};

// docs/config.md
std::string keys_as_markdown() {
  std::string text, section;
  for (const auto& key : config_help()) {
    if (section != key.section)
      text += fmt::format("{}## [{}]\n\n| key | default | values | |\n|---|---|---|---|\n",
                          section.empty() ? "" : "\n", key.section);
    section = key.section;
    text += fmt::format("| `{}` | {} | {} | {} |\n", key.name,
                        key.standard.empty() ? "" : '`' + key.standard + '`', key.type, key.help);
  }
  return text;
}

std::string keys_as_text() {
  std::string text, section;
  for (const auto& key : config_help()) {
    if (section != key.section)
      text += fmt::format("{}[{}]\n", section.empty() ? "" : "\n", key.section);
    section = key.section;
    text += fmt::format("{:<30} {}\n{:<30}   {}\n",
                        key.name + (key.standard.empty() ? "" : " = " + key.standard), key.help, "",
                        key.type);
  }
  return text;
}

std::string keys_as_json() {
  Json keys = Json::array();
  for (const auto& key : config_help())
    keys.push_back({{"section", key.section},
                    {"key", key.name},
                    {"type", key.type},
                    {"default", key.standard.empty() ? Json(nullptr) : Json::parse(key.standard)},
                    {"help", key.help}});
  return json_text(keys, 2) + "\n";
}

std::string values_as_json(const Config& config) {
  Json json = Json::object();
  // Texts, numbers, booleans and lists are written alike in both.
  for (const auto& [section, name, text] : config_values(config))
    json[section][name] = Json::parse(text);
  return json_text(json, 2) + "\n";
}

void show(const ConfigArguments& options) {
  if (options.config.empty()) {
    fmt::print("{}", options.json       ? keys_as_json()
                     : options.markdown ? keys_as_markdown()
                                        : keys_as_text());
    return;
  }
  const auto config = load_config(options.config, options.overrides);
  fmt::print("{}", options.json ? values_as_json(config) : to_toml(config));
}

}  // namespace

void add_config_command(App& app) {
  auto* command = app.add_subcommand(
      "config", "every key of a config with its default, or all that a config says");
  const auto options = std::make_shared<ConfigArguments>();
  auto* file =
      command->add_option("config", options->config, "print this config, resolved", "CONFIG.toml");
  command->add_overrides(options->overrides, "change a key before")->needs(file);
  auto* json = command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--markdown", options->markdown, "print the keys as docs/config.md has them")
      ->excludes(file)
      ->excludes(json);
  command->callback([options] { show(*options); });
}

}  // namespace porter::cli
