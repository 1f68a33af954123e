// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace porter {

/// Renyi divergence of integer order a >= 2 of one Poisson-sampled Gaussian step for add/remove
/// neighbours (Mironov, Talwar, Zhang: Renyi Differential Privacy of the Sampled Gaussian
/// Mechanism, 2019, section 3.3), z the noise multiplier:
///   log(A_a) / (a - 1),   A_a - 1 = sum_{k=2}^a C(a,k) (1-q)^(a-k) q^k expm1((k^2 - k) / (2 z^2)).
/// Taking 1 out of the sum keeps all digits when q is small.
double renyi_sampled_gaussian(double q, double z, int order);

/// Renyi divergence of integer order a >= 2, from above, of one Gaussian step on b of m records
/// without replacement, for replace-one neighbours, g = b / m and mu = 2 / z (Wang, Balle,
/// Kasiviswanathan: Subsampled Renyi Differential Privacy and Analytical Moments Accountant, 2019,
/// Theorem 9, whose epsilon(infinity) is infinite here):
///   log(1 + g^2 C(a,2) min(4 expm1(mu^2), 2 exp(mu^2))
///         + sum_{k=3}^a 2 g^k C(a,k) exp((k-1) k mu^2 / 2)) / (a - 1),
/// or that without amplification where it is smaller.
double renyi_without_replacement(double g, double mu, int order);

/// 2, ..., 128, then geometrically up to 4096.
const std::vector<int>& renyi_orders();

/// The epsilon at delta of a mechanism with this Renyi divergence at this order (Canonne, Kamath,
/// Steinke 2020, Proposition 12; Balle et al. 2020):
///   divergence + log(1 - 1/a) - log(a delta) / (a - 1).
double renyi_to_epsilon(double divergence, int order, double delta);

}  // namespace porter
