// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "porter/algo/algorithm.hpp"
#include "porter/comm/exchange.hpp"
#include "porter/core/error.hpp"

namespace porter {

std::vector<std::uint32_t> AlgorithmSetup::hosted() const {
  if (exchange != nullptr) return exchange->hosted();
  std::vector<std::uint32_t> all(problem.agents);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

const std::vector<AlgorithmInfo>& algorithm_table() {
  using Clipping = AlgorithmInfo::Clipping;
  using Noise = AlgorithmInfo::Noise;
  using Meeting = AlgorithmInfo::Meeting;
  static const std::vector<AlgorithmInfo> table = {
      {"porter-dp", "PORTER, every sample clipped, noise added (Algorithm 1, option I)",
       Clipping::sample, Noise::always, true, Meeting::neighbours, make_porter, false, true, true},
      {"porter-gc", "PORTER, the mini-batch gradient clipped (Algorithm 1, option II)",
       Clipping::batch, Noise::never, true, Meeting::neighbours, make_porter, false, true, true},
      {"porter-sweep", "PORTER without surrogates: all agents sweep through the same coordinates",
       Clipping::sample, Noise::always, true, Meeting::neighbours, make_porter_sweep, true},
      {"beer", "BEER: gradient tracking with compression, no clipping", Clipping::none,
       Noise::never, true, Meeting::neighbours, make_porter, false, true, true},
      {"choco-sgd", "CHOCO-SGD: compressed gossip of the iterates", Clipping::free, Noise::optional,
       true, Meeting::neighbours, make_choco_sgd},
      {"deepsqueeze", "DeepSqueeze: gossip of compressed iterates, the error kept for later",
       Clipping::free, Noise::optional, true, Meeting::neighbours, make_deepsqueeze},
      {"dsgd", "decentralised SGD with dense messages", Clipping::free, Noise::optional, false,
       Meeting::neighbours, make_dsgd, false, false, true},
      {"dp-dsgd", "decentralised SGD with dense messages, every sample clipped, noise added",
       Clipping::sample, Noise::always, false, Meeting::neighbours, make_dsgd, false, false, true},
      {"dsgt", "decentralised gradient tracking with dense messages", Clipping::free,
       Noise::optional, false, Meeting::neighbours, make_dsgt, false, false, true},
      {"soteriafl-sgd", "SoteriaFL-SGD: server and clients, shifted compression", Clipping::free,
       Noise::always, true, Meeting::server, make_soteriafl_sgd},
      {"soteriafl-svrg", "SoteriaFL-SVRG: the same with snapshot-corrected gradients",
       Clipping::sample, Noise::always, true, Meeting::server, make_soteriafl_svrg},
      {"cdp-sgd", "CDP-SGD: server and clients, direct compression", Clipping::free, Noise::always,
       true, Meeting::server, make_soteriafl_sgd},
      {"ldp-sgd", "LDP-SGD: server and clients, dense messages", Clipping::free, Noise::always,
       false, Meeting::server, make_soteriafl_sgd},
      {"ddp-srm", "DDP-SRM: recursive momentum, noise once on a secure aggregate (central DP)",
       Clipping::sample, Noise::always, false, Meeting::aggregator, make_ddp_srm},
      {"dp-sgd", "DP-SGD on all data in one place (central DP)", Clipping::sample, Noise::always,
       false, Meeting::pooled, make_sgd},
      {"dp-sgd-alone", "DP-SGD at every agent alone: what it gets without taking part",
       Clipping::sample, Noise::always, false, Meeting::nobody, make_sgd},
  };
  return table;
}

const AlgorithmInfo& find_algorithm(std::string_view name) {
  std::string known;
  for (const auto& info : algorithm_table()) {
    if (info.name == name) return info;
    known += (known.empty() ? "" : ", ") + info.name;
  }
  fail(ErrorKind::usage, "expected one of ", known, "; found \"", name, "\"");
}

}  // namespace porter
