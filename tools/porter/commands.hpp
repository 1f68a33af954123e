// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

// One function per sub-command, in the file of its name. It declares the options and registers the
// action as the sub-command's callback; actions report failure by throwing porter::Error.
namespace porter::cli {

void add_demo_command(CLI::App& app, int& exit_code);
void add_run_command(CLI::App& app, int& exit_code);
void add_sweep_command(CLI::App& app, int& exit_code);
void add_reproduce_command(CLI::App& app, int& exit_code);
void add_eval_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_graph_command(CLI::App& app);
void add_data_command(CLI::App& app);
void add_privacy_command(CLI::App& app, int& exit_code);
void add_keys_command(CLI::App& app, int& exit_code);
void add_agent_command(CLI::App& app, int& exit_code);
void add_cluster_command(CLI::App& app, int& exit_code);

}  // namespace porter::cli
