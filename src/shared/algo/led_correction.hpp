// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "porter/algo/algorithm.hpp"

namespace porter {

/// Error{usage} where W is not.
void require_symmetric(const MixingMatrix& W);

/// c of the methods that learn control variates H from what gossip repairs:
///
///   X <- X - eta (M - H);   N = W^T X;   H <- H + c (N - X) / eta;   X <- N
///
/// On an eigenvector of W with the value w this multiplies (X, M - H), as long as M stands still,
/// by a matrix of determinant w and trace w + 1 - c (1 - w): stable for c < 2 (1 + w) / (1 - w).
/// c is at most half of that, for the lowest w, and at most `most`. Error{usage} where W is not
/// symmetric: complex eigenvalues may leave no c that is stable.
double led_correction(const MixingMatrix& W, double most);
/// The same for a lowest w that is known.
double led_correction(double lowest, double most);
/// The same for the network of the setup. Where agents of it are absent now and then, half of that:
/// no W_t has a lower eigenvalue than W, but products of different W_t are not covered by this.
/// With 0.5 no simulation on rings, paths, stars and complete graphs was unstable, up to 60 %
/// absent.
double led_correction(const AlgorithmSetup& setup, double most);

/// `most` of sweep-led: noise is in a repair, too, so not all of it is held to be the drift's.
inline constexpr double kSweepLedCorrection = 0.7;

}  // namespace porter
