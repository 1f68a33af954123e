// SPDX-License-Identifier: Apache-2.0
// Sub-commands and their options: a thin cover of CLI11, which a compiler needs 12 s to digest in
// every file that sees it. Only command_line.cpp does. Names and meanings are CLI11's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "porter/core/choice.hpp"
#include "porter/core/error.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace porter::cli {

inline constexpr int kWrongUsage = 2;  ///< exit code

/// Does it. The library's errors name parameters; to those of one kind this adds which options set
/// them.
template <class Action>
auto with_hint(ErrorKind kind, std::string_view hint, const Action& action) {
  try {
    return action();
  } catch (const Error& error) {
    if (error.kind() != kind) throw;
    throw Error(kind, concat(error.what(), "; ", hint));
  }
}
inline constexpr std::string_view kFolderHint =
    "--resume continues what is there, --force replaces it, --out names another folder";

/// The value. Error{usage} naming the option where it is 0 or less.
inline std::size_t at_least_one(const char* option, std::int64_t value) {
  require(value >= 1, ErrorKind::usage, option, ": expected at least 1, found ", value);
  return static_cast<std::size_t>(value);
}

class Option {
 public:
  explicit Option(CLI::Option& option) : option_(option) {}

  Option* required();
  Option* group(const std::string& name);
  Option* excludes(Option* other);
  Option* needs(Option* other);
  Option* range(int least, int most);
  Option* range(double least, double most);

 private:
  CLI::Option& option_;
};

/// A command or sub-command. What is added belongs to it and lives as long.
class App {
 public:
  App(const std::string& name, const std::string& description);
  App(const App&) = delete;
  App& operator=(const App&) = delete;
  ~App();

  App* add_subcommand(const std::string& name, const std::string& help);
  /// The value that is there is the default; --help shows it unless it is empty or 0. `type` stands
  /// for the value in --help. Instantiated for the types in command_line.cpp.
  template <class T>
  Option* add_option(const std::string& name, T& value, const std::string& help,
                     const std::string& type = {});
  Option* add_flag(const std::string& name, bool& value, const std::string& help);
  /// Any number of times, a value each.
  Option* add_repeated(const std::string& name, std::vector<std::string>& values,
                       const std::string& help, const std::string& type);
  /// --set SECTION.KEY=VALUE, any number of times.
  Option* add_overrides(std::vector<std::string>& overrides, const std::string& help) {
    return add_repeated("--set", overrides, help, "SECTION.KEY=VALUE");
  }
  /// Called with the text as soon as the option is met; `standard` is shown as the default.
  Option* add_action(const std::string& name, const std::function<void(const std::string&)>& action,
                     const std::string& help, const std::string& type,
                     const std::string& standard = {});
  /// A word for one of the values of an enumeration (core/choice.hpp).
  template <class Enum>
  requires std::is_enum_v<Enum> Option* add_option(const std::string& name, Enum& value,
                                                   const std::string& help,
                                                   const std::string& type = {}) {
    const auto set = [&value, name](const std::string& text) {
      try {
        value = parse_choice<Enum>(text);
      } catch (const Error& error) {
        fail(error.kind(), name, ": ", error.what());
      }
    };
    return add_action(name, set, help, type, std::string(choice_text(value)));
  }
  /// What the command does. It returns the exit code, or nothing: 0.
  template <class Action>
  void callback(const Action& action) {
    if constexpr (std::is_void_v<std::invoke_result_t<Action>>)
      on_call([action] { return action(), 0; });
    else
      on_call(action);
  }
  /// Called when the line is read, before the callbacks of sub-commands.
  void before_commands(const std::function<void()>& action);
  void footer(const std::string& text);
  void require_subcommand(int count);
  void version_flag(const std::string& name, const std::string& text);

  /// What may stand in the place of the last of these words: a sub-command, or an option.
  std::vector<std::string> completions(const std::vector<std::string>& words) const;

  /// Reads the command line and calls the callbacks; prints help and errors. Returns the exit code:
  /// 2 for a line that is wrong. Error{usage} for a sub-command that does not exist; what a
  /// callback throws.
  int parse(int argc, char** argv);

 private:
  struct Parts;
  App(CLI::App& app, int& exit_code);
  Option* keep(CLI::Option* option, const std::string& type = {});
  void on_call(const std::function<int()>& action);

  std::unique_ptr<Parts> parts_;
};

}  // namespace porter::cli
