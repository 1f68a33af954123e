// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "porter/data/dataset.hpp"

namespace porter {

/// How rows are given to agents:
///   shuffled      at random
///   contiguous    in the order of the file
///   by-label      sorted by class, stable
///   dirichlet:A   class proportions of each agent drawn from the Dirichlet(A) law
struct Split {
  enum class Kind { shuffled, contiguous, by_label, dirichlet };
  Kind kind = Kind::shuffled;
  double alpha = 0;  ///< of dirichlet

  /// Whether a row's label decides who holds it.
  bool by_labels() const { return kind == Kind::by_label || kind == Kind::dirichlet; }
};
/// Error{usage} unless it is one of the above.
Split parse_split(std::string_view text);
std::string to_string(const Split& split);

/// The rows of `data` in an order such that agent i holds the i-th run of m = floor(rows / agents)
/// rows; the at most agents - 1 rows left over belong to nobody and are not in it, so its size is
/// agents * m. Error{usage} for more agents than rows.
std::vector<std::uint32_t> partition_rows(const Dataset& data, std::size_t agents,
                                          const Split& split, std::uint64_t seed);

}  // namespace porter
