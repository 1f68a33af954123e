// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "porter/compress/compressor.hpp"
#include "spec.hpp"

namespace porter {

// One maker per compressor, in the file of its name; the table in registry.cpp lists them.
using CompressorPtr = std::unique_ptr<const Compressor>;

CompressorPtr make_identity(SpecArgument argument, bool unbiased);
CompressorPtr make_random_k(SpecArgument argument, bool unbiased);
CompressorPtr make_bernoulli(SpecArgument argument, bool unbiased);
CompressorPtr make_top_k(SpecArgument argument, bool unbiased);
CompressorPtr make_qsgd(SpecArgument argument, bool unbiased);
CompressorPtr make_gsgd(SpecArgument argument, bool unbiased);
CompressorPtr make_sign(SpecArgument argument, bool unbiased);
CompressorPtr make_natural(SpecArgument argument, bool unbiased);

/// Entries that are drawn and coded at a time.
inline constexpr std::size_t kPiece = 256;

}  // namespace porter
