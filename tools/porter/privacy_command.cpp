// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "privacy_commands.hpp"

namespace porter::cli {

void add_privacy_command(App& app, int& exit_code) {
  auto* privacy = app.add_subcommand("privacy", "what clipping, sampling and noise promise");
  privacy->require_subcommand(1);
  privacy->footer(
      "A promise is (epsilon, delta)-differential privacy for the records of one agent against\n"
      "everybody else. Values are certified: they may be a little too large, never too small.");
  add_privacy_epsilon(*privacy);
  add_privacy_delta(*privacy);
  add_privacy_sigma(*privacy);
  add_privacy_table(*privacy);
  add_privacy_plan(*privacy);
  add_privacy_ledger(*privacy);
  add_privacy_audit(*privacy, exit_code);
}

}  // namespace porter::cli
