// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace porter {

/// What follows the name in a spec: "0.05" in "top_k:0.05", nothing in "sign". The functions below
/// throw Error{usage} with the reason alone; make_compressor adds the spec and its grammar.
using SpecArgument = std::optional<std::string_view>;

/// How many entries a sparsifier keeps: a fraction of d, or a fixed number.
class Keep {
 public:
  /// "0.05": max(1, floor(0.05 * d)), the product rounded to double. "k=12": 12.
  explicit Keep(SpecArgument argument);
  /// k for vectors of length `dim`. Error{usage} if that is more than `dim`.
  std::size_t of(std::size_t dim) const;

 private:
  double fraction_ = 0;
  std::size_t count_ = 0;  // 0: by fraction
};

/// A whole number from 2 to 16.
unsigned parse_bits(SpecArgument argument);
void expect_no_argument(SpecArgument argument);
void expect_biased(bool unbiased);

}  // namespace porter
