// SPDX-License-Identifier: Apache-2.0
// Decentralised gradient tracking (Di Lorenzo, Scutari: NEXT: In-Network Nonconvex Optimization,
// 2016; Nedic, Olshevsky, Shi: Achieving Geometric Convergence for Distributed Optimization over
// Time-Varying Graphs, 2017; with stochastic gradients Pu, Nedic: Distributed Stochastic Gradient
// Tracking Methods, 2021), row form:
//
//   V <- W^T V + G - G_prev;   X <- W^T X - eta V
//
// That is Algorithm 1 of PORTER where nothing is compressed and the consensus step is 1.

#include "methods.hpp"

namespace porter {

std::unique_ptr<Algorithm> make_dsgt(const AlgorithmSetup& setup) {
  auto dense = setup;
  dense.gamma = 1;
  return make_porter(dense);
}

}  // namespace porter
