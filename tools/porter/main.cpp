// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

int main(int argc, char** argv) {
  using namespace porter::cli;
  return run_program(
      argc, argv,
      {add_demo_command, add_run_command, add_sweep_command, add_reproduce_command,
       add_eval_command, add_predict_command, add_model_command, add_compare_command,
       add_report_command, add_watch_command, add_graph_command, add_data_command,
       add_config_command, add_list_command, add_completion_command, add_privacy_command,
       add_keys_command, add_agent_command, add_cluster_command});
}
