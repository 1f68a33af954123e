// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line.hpp"

// One function per sub-command, in the file of its name. It declares the options and registers the
// action as the sub-command's callback; actions report failure by throwing porter::Error.
namespace porter::cli {

void add_demo_command(App& app);
void add_run_command(App& app);
void add_sweep_command(App& app);
void add_reproduce_command(App& app);
void add_eval_command(App& app);
void add_predict_command(App& app);
void add_model_command(App& app);  // show; export below
void add_model_export(App& model);
void add_compare_command(App& app);
void add_report_command(App& app);
void add_watch_command(App& app);
inline constexpr const char* kRunFoldersHelp =
    "run folders, those of agents, clusters, sweeps and studies, and folders with any of these "
    "below them";
inline constexpr const char* kEachSeedHelp =
    "show runs that differ only in run.seed one by one, not as one";
void add_graph_command(App& app);
void add_data_command(App& app);  // list, info, fetch and split; schema below
void add_data_schema(App& data);
void add_config_command(App& app);
void add_list_command(App& app);
std::vector<std::string> list_kinds();  // what `porter list` knows
void add_completion_command(App& app);
void add_privacy_command(App& app);  // epsilon, delta and sigma; the others below
void add_privacy_table(App& privacy);
void add_privacy_plan(App& privacy);
void add_privacy_ledger(App& privacy);
void add_privacy_audit(App& privacy);
void add_keys_command(App& app);
void add_agent_command(App& app);
void add_cluster_command(App& app);

}  // namespace porter::cli
