// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

// The sub-commands of porter privacy, one function in the file of its name each.
namespace porter::cli {

void add_privacy_epsilon(CLI::App& privacy);
void add_privacy_delta(CLI::App& privacy);
void add_privacy_sigma(CLI::App& privacy);
void add_privacy_table(CLI::App& privacy);
void add_privacy_plan(CLI::App& privacy);
void add_privacy_ledger(CLI::App& privacy);
void add_privacy_audit(CLI::App& privacy, int& exit_code);

}  // namespace porter::cli
