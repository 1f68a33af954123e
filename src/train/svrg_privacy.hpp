// SPDX-License-Identifier: Apache-2.0
// What a release of SoteriaFL-SVRG costs. It is
//
//   (1/b) sum_z [clip(grad l(x; z)) - clip(grad l(w; z))] + (1/m) sum clip(grad l(w; z)) + N(0,
//   sigma^2 I)
//
// and a normal variable of variance sigma^2 is the sum of two independent ones, so it is computed
// from two releases: the sampled part, whose terms are no longer than 2 tau, with the noise
// (1 - share) sigma^2, and the full part with the noise share sigma^2. Their composition bounds
// the cost, whatever the share; the best of a few is taken.
#pragma once

#include "porter/privacy/batch_sampler.hpp"

namespace porter {

EpsilonInterval svrg_epsilon(const BatchSampler& sampler, Adjacency adjacency, double sigma,
                             double tau, std::uint64_t releases, double delta);

/// The smallest sigma, to 1e-3 relative from above, whose certified epsilon is at most `target`.
double svrg_sigma(const BatchSampler& sampler, Adjacency adjacency, double tau,
                  std::uint64_t releases, double target, double delta);

}  // namespace porter
