// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

#include "cluster_processes.hpp"

namespace porter::cli {

/// Shows all agents of a local cluster on standard error: a table that redraws itself on a
/// terminal, else a line every two seconds.
class ClusterView {
 public:
  ClusterView();
  void show(const std::vector<LocalAgent>& agents, bool last = false);

 private:
  void draw_table(const std::vector<LocalAgent>& agents);
  void print_line(const std::vector<LocalAgent>& agents);

  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point shown_{};
};

}  // namespace porter::cli
