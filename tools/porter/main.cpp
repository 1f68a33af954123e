// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <exception>
#include <iostream>
#include <new>

#include "commands.hpp"
#include "core/simd.hpp"
#include "porter/core/error.hpp"
#include "porter/version.hpp"

namespace {

int run(int argc, char** argv) {
  using namespace porter::cli;
  App app("porter",
          "porter: decentralised training with compressed messages, clipping and privacy");
  app.version_flag("--version", std::string("porter ") + porter::kVersion);
  app.add_action("--simd", porter::limit_simd,
                 "Use no better instruction set than this (default: $PORTER_SIMD, or the best); "
                 "results do not depend on it",
                 "NAME");
  app.before_commands([] { porter::simd(); });
  app.require_subcommand(1);
  for (const auto add :
       {add_demo_command, add_run_command, add_sweep_command, add_reproduce_command,
        add_eval_command, add_compare_command, add_report_command, add_graph_command,
        add_data_command, add_config_command, add_list_command, add_completion_command,
        add_privacy_command, add_keys_command, add_agent_command, add_cluster_command})
    add(app);
  return app.parse(argc, argv);
}

int failed(const char* reason, int exit_code = 1) {
  std::cerr << "porter: " << reason << '\n';
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file too large is a failed write, as a full disk is
  try {
    return run(argc, argv);
  } catch (const porter::Error& error) {
    return failed(error.what(),
                  error.kind() == porter::ErrorKind::usage ? porter::cli::kWrongUsage : 1);
  } catch (const std::bad_alloc&) {
    return failed("out of memory");
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}
