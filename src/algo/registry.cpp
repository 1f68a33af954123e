// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "methods.hpp"
#include "porter/comm/exchange.hpp"
#include "porter/core/error.hpp"

namespace porter {

std::vector<std::uint32_t> AlgorithmSetup::hosted() const {
  if (exchange != nullptr) return exchange->hosted();
  std::vector<std::uint32_t> all(problem.agents);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

const Network& AlgorithmSetup::neighbours() const {
  require(network != nullptr, ErrorKind::usage,
          "a method whose agents talk to neighbours needs a network");
  return *network;
}

const std::vector<AlgorithmInfo>& algorithm_table() {
  using Clipping = AlgorithmInfo::Clipping;
  using Noise = AlgorithmInfo::Noise;
  using Meeting = AlgorithmInfo::Meeting;
  static const std::vector<AlgorithmInfo> table = {
      {.name = "porter-dp",
       .help = "PORTER, every sample clipped, noise added (Algorithm 1, option I)",
       .clipping = Clipping::sample,
       .noise = Noise::always,
       .compresses = true,
       .meeting = Meeting::neighbours,
       .make = make_porter,
       .may_be_narrow = true,
       .sends_first = true},
      {.name = "porter-gc",
       .help = "PORTER, the mini-batch gradient clipped (Algorithm 1, option II)",
       .clipping = Clipping::batch,
       .noise = Noise::never,
       .compresses = true,
       .meeting = Meeting::neighbours,
       .make = make_porter,
       .may_be_narrow = true,
       .sends_first = true},
      {.name = "porter-sweep",
       .help = "PORTER without surrogates: all agents sweep through the same coordinates",
       .clipping = Clipping::sample,
       .noise = Noise::always,
       .compresses = true,
       .meeting = Meeting::neighbours,
       .make = make_porter_sweep,
       .mask_is_sweep = true},
      {.name = "beer",
       .help = "BEER: gradient tracking with compression, no clipping",
       .clipping = Clipping::none,
       .noise = Noise::never,
       .compresses = true,
       .meeting = Meeting::neighbours,
       .make = make_porter,
       .may_be_narrow = true,
       .sends_first = true},
      {.name = "choco-sgd",
       .help = "CHOCO-SGD: compressed gossip of the iterates",
       .clipping = Clipping::free,
       .noise = Noise::optional,
       .compresses = true,
       .meeting = Meeting::neighbours,
       .make = make_choco_sgd},
      {.name = "deepsqueeze",
       .help = "DeepSqueeze: gossip of compressed iterates, the error kept for later",
       .clipping = Clipping::free,
       .noise = Noise::optional,
       .compresses = true,
       .meeting = Meeting::neighbours,
       .make = make_deepsqueeze,
       .gossips_once = true},
      {.name = "dsgd",
       .help = "decentralised SGD with dense messages",
       .clipping = Clipping::free,
       .noise = Noise::optional,
       .compresses = false,
       .meeting = Meeting::neighbours,
       .make = make_dsgd,
       .sends_first = true},
      {.name = "dp-dsgd",
       .help = "decentralised SGD with dense messages, every sample clipped, noise added",
       .clipping = Clipping::sample,
       .noise = Noise::always,
       .compresses = false,
       .meeting = Meeting::neighbours,
       .make = make_dsgd,
       .sends_first = true},
      {.name = "dsgt",
       .help = "decentralised gradient tracking with dense messages",
       .clipping = Clipping::free,
       .noise = Noise::optional,
       .compresses = false,
       .meeting = Meeting::neighbours,
       .make = make_dsgt,
       .sends_first = true},
      {.name = "soteriafl-sgd",
       .help = "SoteriaFL-SGD: server and clients, shifted compression",
       .clipping = Clipping::free,
       .noise = Noise::always,
       .compresses = true,
       .meeting = Meeting::server,
       .make = make_soteriafl_sgd,
       .shifts = true},
      {.name = "soteriafl-svrg",
       .help = "SoteriaFL-SVRG: the same with snapshot-corrected gradients",
       .clipping = Clipping::sample,
       .noise = Noise::always,
       .compresses = true,
       .meeting = Meeting::server,
       .make = make_soteriafl_svrg,
       .shifts = true,
       .two_gradients = true},
      {.name = "cdp-sgd",
       .help = "CDP-SGD: server and clients, direct compression",
       .clipping = Clipping::free,
       .noise = Noise::always,
       .compresses = true,
       .meeting = Meeting::server,
       .make = make_soteriafl_sgd},
      {.name = "ldp-sgd",
       .help = "LDP-SGD: server and clients, dense messages",
       .clipping = Clipping::free,
       .noise = Noise::always,
       .compresses = false,
       .meeting = Meeting::server,
       .make = make_soteriafl_sgd},
      {.name = "ddp-srm",
       .help = "DDP-SRM: recursive momentum, noise once on a secure aggregate (central DP)",
       .clipping = Clipping::sample,
       .noise = Noise::always,
       .compresses = false,
       .meeting = Meeting::aggregator,
       .make = make_ddp_srm},
      {.name = "dp-sgd",
       .help = "DP-SGD on all data in one place (central DP)",
       .clipping = Clipping::sample,
       .noise = Noise::always,
       .compresses = false,
       .meeting = Meeting::pooled,
       .make = make_sgd},
      {.name = "dp-sgd-alone",
       .help = "DP-SGD at every agent alone: what it gets without taking part",
       .clipping = Clipping::sample,
       .noise = Noise::always,
       .compresses = false,
       .meeting = Meeting::nobody,
       .make = make_sgd},
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
