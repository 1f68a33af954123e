// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line.hpp"

// The sub-commands of porter privacy, one function in the file of its name each.
namespace porter::cli {

void add_privacy_epsilon(App& privacy);
void add_privacy_delta(App& privacy);
void add_privacy_sigma(App& privacy);
void add_privacy_table(App& privacy);
void add_privacy_plan(App& privacy);
void add_privacy_ledger(App& privacy);
void add_privacy_audit(App& privacy, int& exit_code);

}  // namespace porter::cli
