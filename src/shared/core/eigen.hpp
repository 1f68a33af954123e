// SPDX-License-Identifier: Apache-2.0
// Eigen with the same bits on every machine: without its vector code, whose sums have another order
// on each architecture and fuse products on ARM, and with blocks of matrices that do not follow the
// caches of the processor. All of our code includes it this way: two kinds of Eigen in one program
// free each other's memory.
#pragma once

#ifndef EIGEN_DONT_VECTORIZE
#define EIGEN_DONT_VECTORIZE
#endif
#include <Eigen/Dense>

namespace porter {

/// Before the first product of large matrices.
inline void fix_eigen_blocks() {
  [[maybe_unused]] static const bool done = [] {
    Eigen::setCpuCacheSizes(32 << 10, 1 << 20, 32 << 20);
    return true;
  }();
}

}  // namespace porter
