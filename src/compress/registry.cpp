// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "compressors.hpp"
#include "core/registry.hpp"
#include "core/text.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

struct Row {
  std::string_view name, example, grammar, help;
  CompressorPtr (*make)(SpecArgument, bool);
  bool dense = false, has_mask = false;
};

// Adding a compressor: its file, its line here and in compressors.hpp, its test, its section in
// docs/compressors.md.
constexpr Row kTable[] = {
    {"identity", "identity", "identity", "sends every entry", make_identity, true},
    {"random_k", "random_k:0.05", "random_k:FRACTION or random_k:k=NUMBER",
     "keeps k entries chosen at random", make_random_k, false, true},
    {"bernoulli", "bernoulli:0.05", "bernoulli:FRACTION or bernoulli:k=NUMBER",
     "keeps each entry with probability k/d", make_bernoulli},
    {"top_k", "top_k:0.05", "top_k:FRACTION or top_k:k=NUMBER",
     "keeps the k entries of largest magnitude", make_top_k},
    {"qsgd", "qsgd:4", "qsgd:BITS, BITS from 2 to 16",
     "rounds to levels of the norm at random, unbiased", make_qsgd},
    {"gsgd", "gsgd:4", "gsgd:BITS, BITS from 2 to 16", "qsgd scaled down to a contraction",
     make_gsgd},
    {"sign", "sign", "sign", "one bit an entry and the mean magnitude", make_sign},
    {"natural", "natural", "natural", "rounds to powers of two at random, unbiased", make_natural},
};

}  // namespace

CompressorPtr make_compressor(std::string_view spec, bool unbiased) {
  const auto parts = split_spec(spec);
  const auto* row = std::find_if(std::begin(kTable), std::end(kTable),
                                 [&](const Row& r) { return r.name == parts.name; });
  require(row != std::end(kTable), ErrorKind::usage, "compressor '", spec, "': there is no '",
          parts.name, "'; expected NAME or NAME:ARGUMENT, known compressors: ", names_of(kTable));
  try {
    return row->make(parts.argument, unbiased);
  } catch (const Error& error) {
    fail(error.kind(), "compressor '", spec, "'", unbiased ? " (unbiased)" : "", ": ", error.what(),
         "; expected ", row->grammar, "; known compressors: ", names_of(kTable));
  }
}

std::vector<CompressorInfo> compressor_table() {
  std::vector<CompressorInfo> table;
  for (const auto& row : kTable)
    table.push_back({.name = std::string(row.name),
                     .example = std::string(row.example),
                     .grammar = std::string(row.grammar),
                     .help = std::string(row.help),
                     .dense = row.dense,
                     .has_mask = row.has_mask});
  return table;
}

}  // namespace porter
