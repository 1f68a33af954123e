// SPDX-License-Identifier: Apache-2.0
#include "spec.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr unsigned kMinBits = 2, kMaxBits = 16;

}  // namespace

Keep::Keep(SpecArgument argument) {
  require(argument.has_value(), ErrorKind::usage, "it does not say how many entries to keep");
  if (argument->starts_with("k=")) {
    const auto count = parse_number<std::size_t>(argument->substr(2));
    require(count && *count >= 1, ErrorKind::usage, "k must be a whole number >= 1, got '",
            argument->substr(2), "'");
    count_ = *count;
    return;
  }
  const auto fraction = parse_number<double>(*argument);
  require(fraction && *fraction > 0 && *fraction <= 1, ErrorKind::usage,
          "the fraction must be a number in (0, 1], got '", *argument, "'");
  fraction_ = *fraction;
}

std::size_t Keep::of(std::size_t dim) const {
  const auto share = static_cast<std::size_t>(fraction_ * static_cast<double>(dim));
  const auto k = count_ > 0 ? count_ : std::max<std::size_t>(1, share);
  require(k <= dim, ErrorKind::usage, "the compressor keeps k = ", k,
          " entries, but the vector has only d = ", dim);
  return k;
}

unsigned parse_bits(SpecArgument argument) {
  require(argument.has_value(), ErrorKind::usage, "it does not say how many bits an entry has");
  const auto bits = parse_number<unsigned>(*argument);
  require(bits && *bits >= kMinBits && *bits <= kMaxBits, ErrorKind::usage,
          "the bits must be a whole number from ", kMinBits, " to ", kMaxBits, ", got '", *argument,
          "'");
  return *bits;
}

void expect_no_argument(SpecArgument argument) {
  require(!argument, ErrorKind::usage, "it takes no argument, got '", argument.value_or(""), "'");
}

void expect_biased(bool unbiased) {
  require(!unbiased, ErrorKind::usage, "it is biased and has no unbiased form");
}

}  // namespace porter
