// SPDX-License-Identifier: Apache-2.0
// The keys of a config: one row has all that reading, writing, comparing and explaining a key
// needs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "io/toml_section.hpp"
#include "porter/config/config.hpp"

namespace porter {

/// What it means that two configs differ in a key.
enum class KeyScope {
  run,      ///< they are different runs
  file,     ///< the same, but a file's folder does not matter
  conduct,  ///< the same run, carried out in another way
};

struct ConfigKey {
  std::string section, name;
  std::string type;  ///< what may stand there
  std::string help;
  KeyScope scope = KeyScope::run;
  /// Leaves the value alone where the file does not have the key.
  std::function<void(TomlSection&, Config&)> read;
  /// The value as TOML has it; empty where this config has none.
  std::function<std::string(const Config&)> text;
  /// Where the value may name a file: the text, which is the name, or file:NAME, model:NAME or
  /// trace:NAME for a `spec`.
  std::function<std::string*(Config&)> file = {};
  bool spec = false;
  std::vector<std::string> words = {};  ///< values, where they are few and have names

  std::string path() const { return section + '.' + name; }
};

/// In the order of a written config.
const std::vector<ConfigKey>& config_keys();

/// "section.key"; null where there is no such key.
const ConfigKey* find_key(std::string_view path);

/// A text that a key has, with another name for the file in it.
std::string with_file(const ConfigKey& key, const std::string& text,
                      const std::function<std::string(const std::string&)>& rename);

/// "section.key" -> text: what two processes must agree on to be in the same run.
std::map<std::string, std::string> identity(const Config& config);

}  // namespace porter
