// SPDX-License-Identifier: Apache-2.0
// Step sizes that nobody has tuned: algorithm.consensus = "auto" and algorithm.step = "auto". The
// formulas, and what they were measured on, are in docs/steps.md.
#pragma once

#include "porter/train/assemble.hpp"

namespace porter {

/// The share of a vector's squared length that C keeps under error feedback: the geometric mean of
/// the shares of a Gaussian vector and of one whose entries are all of one size. Of random_k both
/// are k/d; of top_k and sign one is what they do at best and the other what they do at worst.
double kept_share(const Compressor& compressor, std::size_t dim);

/// gamma: half the kept share, to two digits.
double auto_consensus(const RunParts& parts);

/// eta, to two digits, once gamma and the noise are there. Where a guarantee is claimed, or an
/// agent has its own rows only, from public facts alone: Error{usage} says which are missing.
double auto_step(const RunParts& parts, bool own_model);

}  // namespace porter
