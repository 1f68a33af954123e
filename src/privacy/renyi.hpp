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

/// 2, ..., 128, then geometrically up to 4096.
const std::vector<int>& renyi_orders();

/// The epsilon at delta of a mechanism with this Renyi divergence at this order (Canonne, Kamath,
/// Steinke 2020, Proposition 12; Balle et al. 2020):
///   divergence + log(1 - 1/a) - log(a delta) / (a - 1).
double renyi_to_epsilon(double divergence, int order, double delta);

}  // namespace porter
