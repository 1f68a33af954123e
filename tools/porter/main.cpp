// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <iostream>
#include <new>

#include "commands.hpp"
#include "porter/core/error.hpp"
#include "porter/core/simd.hpp"
#include "porter/version.hpp"

namespace {

constexpr int kFailed = 1, kWrongUsage = 2;

// CLI11 would only say that a sub-command is missing.
void refuse_unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::string known;
  for (const auto* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == argv[1]) return;
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  porter::fail(porter::ErrorKind::usage, "unknown command \"", argv[1],
               "\"; expected one of: ", known);
}

int run(int argc, char** argv) {
  CLI::App app{"porter: decentralised training with compressed messages, clipping and privacy"};
  app.name("porter");
  app.set_version_flag("--version", std::string("porter ") + porter::kVersion);
  app.add_option_function<std::string>(
         "--simd", [](const std::string& name) { porter::limit_simd(name); },
         "Use no better instruction set than this; results do not depend on it")
      ->type_name("NAME")
      ->default_str(porter::simd_target());
  app.require_subcommand(1);
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    return std::string("porter: ") + error.what() + "\nRun " + failed->get_display_name() +
           " --help for more information.\n";
  });
  int exit_code = 0;
  porter::cli::add_demo_command(app, exit_code);
  porter::cli::add_run_command(app, exit_code);
  porter::cli::add_sweep_command(app, exit_code);
  porter::cli::add_reproduce_command(app, exit_code);
  porter::cli::add_eval_command(app);
  porter::cli::add_compare_command(app);
  porter::cli::add_report_command(app);
  porter::cli::add_graph_command(app);
  porter::cli::add_data_command(app);
  porter::cli::add_privacy_command(app, exit_code);
  porter::cli::add_keys_command(app, exit_code);
  porter::cli::add_agent_command(app, exit_code);
  porter::cli::add_cluster_command(app, exit_code);
  refuse_unknown_command(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const porter::Error& error) {
    std::cerr << "porter: " << error.what() << '\n';
    return error.kind() == porter::ErrorKind::usage ? kWrongUsage : kFailed;
  } catch (const std::bad_alloc&) {
    std::cerr << "porter: out of memory\n";
    return kFailed;
  } catch (const std::exception& error) {
    std::cerr << "porter: " << error.what() << '\n';
    return kFailed;
  }
}
