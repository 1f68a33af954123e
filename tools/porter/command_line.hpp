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

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace porter::cli {

class Option {
 public:
  explicit Option(CLI::Option& option) : option_(option) {}

  Option* required();
  Option* type_name(const std::string& name);
  Option* capture_default_str();
  Option* group(const std::string& name);
  Option* expected(int values);
  Option* take_all();
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
  /// The value that is there is the default. Instantiated for the types in command_line.cpp.
  template <class T>
  Option* add_option(const std::string& name, T& value, const std::string& help);
  Option* add_flag(const std::string& name, bool& value, const std::string& help);
  /// --set SECTION.KEY=VALUE, any number of times.
  Option* add_overrides(std::vector<std::string>& overrides, const std::string& help);
  /// Called with the text as soon as the option is met.
  Option* add_action(const std::string& name, const std::function<void(const std::string&)>& action,
                     const std::string& help);
  /// A word for one of the values of an enumeration (core/choice.hpp).
  template <class Enum>
  requires std::is_enum_v<Enum> Option* add_option(const std::string& name, Enum& value,
                                                   const std::string& help) {
    return add_word(name, std::string(choice_text(value)), help, [&value, name](const auto& text) {
      try {
        value = parse_choice<Enum>(text);
      } catch (const Error& error) {
        fail(error.kind(), name, ": ", error.what());
      }
    });
  }
  /// One that was added before.
  Option* get_option(const std::string& name);
  void callback(const std::function<void()>& action);
  /// Called when the line is read, before the callbacks of sub-commands.
  void before_commands(const std::function<void()>& action);
  void footer(const std::string& text);
  void require_subcommand(int count);
  void version_flag(const std::string& name, const std::string& text);

  /// What may stand in the place of the last of these words: a sub-command, or an option.
  std::vector<std::string> completions(const std::vector<std::string>& words) const;

  /// Reads the command line and calls the callbacks; prints help and errors. Returns whether
  /// nothing was wrong. Error{usage} for a sub-command that does not exist; what a callback throws.
  bool parse(int argc, char** argv);

 private:
  struct Parts;
  explicit App(CLI::App& app);
  Option* keep(CLI::Option* option);
  Option* add_word(const std::string& name, const std::string& standard, const std::string& help,
                   const std::function<void(const std::string&)>& action);

  std::unique_ptr<Parts> parts_;
};

}  // namespace porter::cli
