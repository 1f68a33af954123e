// SPDX-License-Identifier: Apache-2.0
// porter completion: the script that a shell needs, and the words that it asks for.
#include <fmt/format.h>

#include <memory>

#include "commands.hpp"
#include "porter/config/config.hpp"

namespace porter::cli {
namespace {

// Bash breaks words at '=' and ':', so that --set algorithm.name=x arrives in three.
constexpr auto kBash = R"script(_porter() {
  local IFS=$'\n' word=${COMP_WORDS[COMP_CWORD]}
  [ "$word" != "=" ] || word=
  COMPREPLY=($(compgen -W "$(porter completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "$word"))
  [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null
}
complete -o default -F _porter porter
)script";

// What may stand after "section.key=", where the values have names.
std::vector<std::string> values_of(const std::string& path) {
  std::vector<std::string> values;
  for (const auto& key : config_help())
    if (key.section + '.' + key.name == path) values = key.words;
  return values;
}

std::vector<std::string> keys() {
  std::vector<std::string> names;
  for (const auto& key : config_help()) names.push_back(key.section + '.' + key.name + '=');
  return names;
}

std::vector<std::string> candidates(const App& app, const std::vector<std::string>& words) {
  const auto from_end = [&](std::size_t i) {
    return i < words.size() ? words[words.size() - 1 - i] : "";
  };
  if (from_end(0) == "=" && from_end(2) == "--set") return values_of(from_end(1));
  if (from_end(1) == "=" && from_end(3) == "--set") return values_of(from_end(2));
  if (words.size() == 2 && words[0] == "list") return list_kinds();
  if (from_end(1) == "--set" || from_end(1) == "--vary") return keys();
  return app.completions(words);
}

}  // namespace

void add_completion_command(App& app) {
  auto* command = app.add_subcommand("completion", "complete words of porter in your shell");
  command->require_subcommand(1);
  command->add_subcommand("bash", "print the script: source <(porter completion bash)")
      ->callback([] { fmt::print("{}", kBash); });
  auto* inner = command->add_subcommand("words", "what may stand in the place of the last word");
  const auto words = std::make_shared<std::vector<std::string>>();
  inner->add_option("words", *words, "the words so far, without porter");
  inner->callback([&app, words] {
    for (const auto& word : candidates(app, *words)) fmt::print("{}\n", word);
  });
}

}  // namespace porter::cli
