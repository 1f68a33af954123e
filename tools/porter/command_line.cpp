// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <limits>
#include <optional>
#include <vector>

#include "core/text.hpp"
#include "porter/core/error.hpp"

namespace porter::cli {
namespace {

// What an option holds, whether it may be absent or not.
template <class T>
T value_in(const T&);
template <class T>
T value_in(const std::optional<T>&);
template <class T>
using ValueOf = decltype(value_in(std::declval<T>()));

// Numbers are checked before CLI11 converts them: it takes "" for no value, and integers that do
// not fit for others. A whole number may be written as 1e6. Returns what is wrong, or nothing.
template <class Number>
std::string rewritten(std::string& text) {
  if (text.empty()) return "expected a number, found \"\"";
  if constexpr (std::is_integral_v<Number>) {
    if (parse_number<Number>(text)) return {};
    const auto wide = parse_number<double>(text);
    if (!wide) return {};  // CLI11 says so
    const auto least = std::numeric_limits<Number>::min(),
               most = std::numeric_limits<Number>::max();
    if (*wide != std::floor(*wide) || *wide < static_cast<double>(least) ||
        *wide >= std::ldexp(1.0, std::numeric_limits<Number>::digits))
      return "expected a whole number from " + std::to_string(least) + " to " +
             std::to_string(most) + ", found " + text;
    text = std::to_string(static_cast<Number>(*wide));
  }
  return {};
}

// CLI11 would only say that a sub-command is missing.
void refuse_unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::string known;
  for (const auto* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == argv[1]) return;
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  fail(ErrorKind::usage, "unknown command \"", argv[1], "\"; expected one of: ", known);
}

}  // namespace

struct App::Parts {
  std::unique_ptr<CLI::App> owned;  // of the whole command; sub-commands belong to theirs
  CLI::App* app;
  int own_exit_code = 0;
  int* exit_code = &own_exit_code;  // that of the whole command
  std::deque<Option> options = {};
  std::vector<std::unique_ptr<App>> subcommands = {};
};

App::App(const std::string& name, const std::string& description)
    : parts_(new Parts{std::make_unique<CLI::App>(description, name), nullptr}) {
  parts_->app = parts_->owned.get();
  parts_->app->failure_message([](const CLI::App* failed, const CLI::Error& error) {
    return std::string("porter: ") + error.what() + "\nRun " + failed->get_display_name() +
           " --help for more information.\n";
  });
}

App::App(CLI::App& app, int& exit_code) : parts_(new Parts{nullptr, &app}) {
  parts_->exit_code = &exit_code;
}

App::~App() = default;

App* App::add_subcommand(const std::string& name, const std::string& help) {
  auto& command = *parts_->app->add_subcommand(name, help);
  parts_->subcommands.emplace_back(new App(command, *parts_->exit_code));
  return parts_->subcommands.back().get();
}

Option* App::keep(CLI::Option* option, const std::string& type) {
  if (!type.empty()) option->type_name(type);
  return &parts_->options.emplace_back(*option);
}

template <class T>
Option* App::add_option(const std::string& name, T& value, const std::string& help,
                        const std::string& type) {
  auto* option = parts_->app->add_option(name, value, help);
  if constexpr (std::is_arithmetic_v<ValueOf<T>>)
    option->transform(
        CLI::Validator([](std::string& text) { return rewritten<ValueOf<T>>(text); }, ""));
  if (value != T{}) option->capture_default_str();
  return keep(option, type);
}

#define PORTER_OPTION_OF(...)                                                            \
  template Option* App::add_option(const std::string&, __VA_ARGS__&, const std::string&, \
                                   const std::string&)
PORTER_OPTION_OF(int);
PORTER_OPTION_OF(std::uint16_t);
PORTER_OPTION_OF(std::uint32_t);
PORTER_OPTION_OF(std::int64_t);
PORTER_OPTION_OF(std::uint64_t);
PORTER_OPTION_OF(double);
PORTER_OPTION_OF(std::string);
PORTER_OPTION_OF(std::filesystem::path);
PORTER_OPTION_OF(std::optional<std::uint32_t>);
PORTER_OPTION_OF(std::optional<std::uint64_t>);
PORTER_OPTION_OF(std::optional<double>);
PORTER_OPTION_OF(std::optional<std::string>);
PORTER_OPTION_OF(std::vector<int>);
PORTER_OPTION_OF(std::vector<double>);
PORTER_OPTION_OF(std::vector<std::string>);
PORTER_OPTION_OF(std::vector<std::filesystem::path>);
#undef PORTER_OPTION_OF

Option* App::add_flag(const std::string& name, bool& value, const std::string& help) {
  return keep(parts_->app->add_flag(name, value, help));
}

Option* App::add_repeated(const std::string& name, std::vector<std::string>& values,
                          const std::string& help, const std::string& type) {
  return keep(parts_->app->add_option(name, values, help)->expected(1)->take_all(), type);
}

Option* App::add_action(const std::string& name,
                        const std::function<void(const std::string&)>& action,
                        const std::string& help, const std::string& type,
                        const std::string& standard) {
  return keep(parts_->app->add_option_function(name, action, help)->default_str(standard), type);
}

void App::on_call(const std::function<int()>& action) {
  parts_->app->callback([action, exit_code = parts_->exit_code] { *exit_code = action(); });
}

void App::before_commands(const std::function<void()>& action) {
  parts_->app->parse_complete_callback(action);
}

void App::footer(const std::string& text) { parts_->app->footer(text); }

void App::require_subcommand(int count) { parts_->app->require_subcommand(count); }

void App::version_flag(const std::string& name, const std::string& text) {
  parts_->app->set_version_flag(name, text);
}

std::vector<std::string> App::completions(const std::vector<std::string>& words) const {
  const CLI::App* command = parts_->app;
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    for (const auto* inner : command->get_subcommands(nullptr))
      if (inner->get_name() == words[i]) command = inner;
  std::vector<std::string> names;
  if (words.empty() || !words.back().starts_with('-'))
    for (const auto* inner : command->get_subcommands(nullptr)) names.push_back(inner->get_name());
  else
    for (const auto* option : command->get_options())
      for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

int App::parse(int argc, char** argv) {
  refuse_unknown_command(*parts_->app, argc, argv);
  try {
    parts_->app->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parts_->app->exit(error) == 0 ? 0 : kWrongUsage;
  }
  return *parts_->exit_code;
}

Option* Option::required() { return option_.required(), this; }
Option* Option::group(const std::string& name) { return option_.group(name), this; }
Option* Option::excludes(Option* other) { return option_.excludes(&other->option_), this; }
Option* Option::needs(Option* other) { return option_.needs(&other->option_), this; }
Option* Option::range(int least, int most) { return option_.check(CLI::Range(least, most)), this; }
Option* Option::range(double least, double most) {
  return option_.check(CLI::Range(least, most)), this;
}

}  // namespace porter::cli
