// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <exception>
#include <iostream>
#include <new>

#include "command_line.hpp"
#include "commands.hpp"
#include "core/simd.hpp"
#include "porter/core/error.hpp"
#include "porter/version.hpp"

namespace {

constexpr int kFailed = 1, kWrongUsage = 2;

int run(int argc, char** argv) {
  porter::cli::App app(
      "porter", "porter: decentralised training with compressed messages, clipping and privacy");
  app.version_flag("--version", std::string("porter ") + porter::kVersion);
  app.add_action("--simd", porter::limit_simd,
                 "Use no better instruction set than this (default: $PORTER_SIMD, or the best); "
                 "results do not depend on it")
      ->type_name("NAME");
  app.before_commands(porter::choose_simd);
  app.require_subcommand(1);
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
  porter::cli::add_config_command(app);
  porter::cli::add_list_command(app);
  porter::cli::add_completion_command(app);
  porter::cli::add_privacy_command(app, exit_code);
  porter::cli::add_keys_command(app, exit_code);
  porter::cli::add_agent_command(app, exit_code);
  porter::cli::add_cluster_command(app, exit_code);
  if (!app.parse(argc, argv)) return kWrongUsage;
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file too large is a failed write, as a full disk is
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
