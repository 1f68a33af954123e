// SPDX-License-Identifier: Apache-2.0
// The small languages of config values: compressors, graphs, mixing rules, clips, splits, outliers.
#include "data/holdout.hpp"
#include "fuzz.hpp"
#include "porter/compress/compressor.hpp"
#include "porter/core/error.hpp"
#include "porter/data/load.hpp"
#include "porter/graph/mixing.hpp"
#include "porter/privacy/clip.hpp"
#include "toy_data.hpp"

namespace {

template <class Use>
void use_or_refuse(const Use& use) {
  try {
    use();
  } catch (const porter::Error&) {
  }
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  std::vector<std::string> seeds = {"smooth:1.0",    "linear:0.5", "shuffled", "by-label:2",
                                    "dirichlet:0.5", "1e-3",       "k=12",     "2/5"};
  for (const auto& info : porter::compressor_table()) seeds.push_back(info.example);
  for (const auto& info : porter::graph_table()) seeds.push_back(info.example);
  for (const auto& info : porter::mixing_table()) seeds.push_back(info.example);
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace porter;
  const std::string spec(reinterpret_cast<const char*>(data), size);
  static const auto rows = toy_data(24, 3, 2, false);
  for (const bool unbiased : {false, true})
    use_or_refuse([&] {
      const auto compressor = make_compressor(spec, unbiased);
      const std::vector<float> x = {1, -2, 0, 4, 0.5F, -0.25F, 8};
      Payload payload;
      compressor->encode(x, RngStream(1, Draw::compress_x, 0, 0), payload);
    });
  use_or_refuse([&] { parse_clip(spec); });
  use_or_refuse([&] { partition_rows(rows, 4, parse_split(spec), 1); });
  use_or_refuse([&] {
    DataOptions options;
    options.fold = parse_fold(spec);
    held_out_rows(rows, options);
  });
  if (spec.find("file") != spec.npos) return 0;  // opens what it names
  use_or_refuse([&] { make_graph(spec, 8, 1); });
  static const auto ring = make_graph("ring", 8, 1);
  use_or_refuse([&] { make_mixing(spec, ring); });
  return 0;
}
