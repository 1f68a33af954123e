// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "porter/graph/mixing.hpp"

namespace porter {

/// Up to this many nodes all eigenvalues are computed, in less than a second; beyond, only the ends
/// of the spectrum.
constexpr std::size_t kDenseNodes = 600;

/// Additions and multiplications that Lanczos may spend: a few seconds.
constexpr double kLanczosWork = 5e9;

/// The two ways of mixing_rate.
MixingRate dense_mixing_rate(const MixingMatrix& weights);
MixingRate lanczos_mixing_rate(const MixingMatrix& weights, double most_work = kLanczosWork);

/// The two ways of lowest_eigenvalue.
double dense_lowest_eigenvalue(const MixingMatrix& weights);
double lanczos_lowest_eigenvalue(const MixingMatrix& weights);

/// The smallest non-zero and the largest eigenvalue of a graph's Laplacian.
struct LaplacianEnds {
  double l_2 = 0, l_n = 0;
};

/// At least 2 nodes. Closed forms and Lanczos are for more than kDenseNodes; then l_n is not below
/// the true value, and l_2 not above it by more than Lanczos reached.
LaplacianEnds laplacian_ends(const Graph& graph);
LaplacianEnds dense_laplacian_ends(const Graph& graph);
LaplacianEnds lanczos_laplacian_ends(const Graph& graph);

/// Of rings, paths, stars, complete graphs, and of grids, tori and hypercubes numbered as
/// make_graph does; nothing for other graphs.
std::optional<LaplacianEnds> known_laplacian_ends(const Graph& graph);

}  // namespace porter
