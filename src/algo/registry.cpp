// SPDX-License-Identifier: Apache-2.0
#include "porter/algo/algorithm.hpp"
#include "porter/core/error.hpp"

namespace porter {

const std::vector<AlgorithmInfo>& algorithm_table() {
  using Clipping = AlgorithmInfo::Clipping;
  using Noise = AlgorithmInfo::Noise;
  static const std::vector<AlgorithmInfo> table = {
      {"porter-dp", "PORTER, every sample clipped, noise added (Algorithm 1, option I)",
       Clipping::sample, Noise::always, true, false, make_porter},
      {"porter-gc", "PORTER, the mini-batch gradient clipped (Algorithm 1, option II)",
       Clipping::batch, Noise::never, true, false, make_porter},
      {"beer", "BEER: gradient tracking with compression, no clipping", Clipping::none,
       Noise::never, true, false, make_porter},
      {"choco-sgd", "CHOCO-SGD: compressed gossip of the iterates", Clipping::free, Noise::optional,
       true, false, make_choco_sgd},
      {"dsgd", "decentralised SGD with dense messages", Clipping::free, Noise::optional, false,
       false, make_dsgd},
      {"soteriafl-sgd", "SoteriaFL-SGD: server and clients, shifted compression", Clipping::free,
       Noise::always, true, true, make_soteriafl_sgd},
  };
  return table;
}

const AlgorithmInfo& find_algorithm(std::string_view name) {
  std::string known;
  for (const auto& info : algorithm_table()) {
    if (info.name == name) return info;
    known += (known.empty() ? "" : ", ") + info.name;
  }
  fail(ErrorKind::usage, "algorithm.name: expected one of ", known, "; found \"", name, "\"");
}

}  // namespace porter
