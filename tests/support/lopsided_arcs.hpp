// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "io/file.hpp"
#include "temp_dir.hpp"

namespace porter {

/// A schedule: a directed graph of eight whose agents send, and receive, more and less.
inline std::string lopsided_arcs() {
  static const TempDir dir;
  const auto path = (dir / "arcs.txt").string();
  write_file(path, "0 1\n1 2\n2 3\n3 4\n4 5\n5 6\n6 7\n7 0\n0 2\n0 3\n0 4\n0 5\n1 5\n6 1\n");
  return "arcs:" + path;
}

}  // namespace porter
