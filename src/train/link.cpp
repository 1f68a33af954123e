// SPDX-License-Identifier: Apache-2.0
#include "porter/train/link.hpp"

#include <sstream>

#include "comm/exchange.hpp"
#include "config/config_keys.hpp"
#include "config/difference.hpp"
#include "core/text.hpp"
#include "io/file.hpp"
#include "porter/comm/mpi.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

RunId to_run_id(const std::string& digits) {
  RunId id{};
  for (std::size_t i = 0; i < id.size(); ++i)
    id[i] = static_cast<std::byte>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  return id;
}

template <class T>
std::string hash_of(const std::vector<T>& values) {
  return sha256_hex({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

std::string hash_of(const std::vector<std::string>& texts) {
  std::string all;
  for (const auto& text : texts) all += concat(text.size(), ' ', text);
  return sha256_hex(all);
}

std::string hash_of(const Dataset& data) {
  if (!data.lent_rows.empty()) {
    auto own = data;
    own_rows(own);
    return hash_of(own);
  }
  return sha256_hex(concat(data.features, ' ', data.outputs, hash_of(data.values),
                           hash_of(data.columns), hash_of(data.row_starts), hash_of(data.labels),
                           hash_of(data.classes), hash_of(data.voids), hash_of(data.weights)));
}

using Facts = std::map<std::string, std::string>;

std::string to_text(const Facts& facts) {
  std::string text;
  for (const auto& [key, value] : facts) text += key + '\0' + value + '\0';
  return text;
}

Facts to_facts(std::span<const std::byte> bytes) {
  Facts facts;
  std::istringstream in(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  for (std::string key, value; std::getline(in, key, '\0') && std::getline(in, value, '\0');)
    facts[key] = value;
  return facts;
}

}  // namespace

void require_equal_facts(MpiSession& session, const Facts& facts) {
  const auto text = to_text(facts);
  const auto all = session.all_gather(std::as_bytes(std::span(text)));
  const auto root = to_facts(all[0]);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const auto difference =
        differing_keys(root, "rank 0", to_facts(all[rank]), concat("rank ", rank));
    require(difference.empty(), ErrorKind::usage,
            "the ranks of the job must be started alike; these differ: ", difference);
  }
}

std::map<std::string, std::string> shared_facts(const Config& config, const Network& network,
                                                std::size_t dim, const std::vector<double>& start) {
  auto facts = identity(config);
  const auto& graph = network.graph;
  std::string edges, weights;
  for (const auto& [a, b] : graph.edges()) edges += concat(a, ' ', b, '\n');
  for (std::size_t i = 0; i < graph.nodes(); ++i)
    for (const auto& [j, weight] : network.mixing.weights.row(i))
      weights += concat(i, ' ', j, ' ', shortest(weight), '\n');
  facts["graph"] = sha256_hex(edges);
  facts["mixing"] = sha256_hex(weights);
  facts["dim"] = std::to_string(dim);
  if (!start.empty()) facts["the start x0"] = hash_of(start);
  return facts;
}

std::shared_ptr<const Hosting> host_agents(const RunParts& parts, std::size_t processes) {
  require(parts.network != nullptr, ErrorKind::usage, "run.engine: the agents of ",
          parts.config.algorithm.name, " do not talk to neighbours");
  const auto agents = parts.facts.agents;
  require(processes <= agents, ErrorKind::usage, "network.agents: ", agents,
          " agents cannot be spread over ", processes, " processes");
  return std::make_shared<const Hosting>(
      host_in_blocks(parts.network->graph.neighbours(), processes));
}

// All data are one owner's here, so a hash of them may travel.
Link mpi_link(MpiSession& session, const RunParts& parts,
              std::function<void(const std::string&)> report) {
  auto keys = identity(parts.config);
  keys["run.checkpoint"] = std::to_string(parts.config.run.checkpoint_every);
  require_equal_facts(session, keys);
  auto hosting = host_agents(parts, session.size());
  // The same keys may name files that are not the same.
  auto facts = shared_facts(parts.config, *parts.network, parts.facts.dim, parts.start);
  facts["the training rows"] = hash_of(*parts.data.train);
  facts["the test rows"] = parts.data.test ? hash_of(*parts.data.test) : "none";
  require_equal_facts(session, facts);
  auto transport =
      session.make_transport(*hosting, Exchange::max_message(parts.facts.dim, parts.facts.agents));
  return {.process = session.rank(),
          .hosting = std::move(hosting),
          .transport = std::move(transport),
          .session = &session,
          .report = std::move(report)};
}

std::unique_ptr<Exchange> make_exchange(const Link& link, const RunParts& parts) {
  return std::make_unique<Exchange>(
      *link.transport, *link.hosting, link.process,
      ExchangeOptions{.run = to_run_id(run_id(parts.config)),
                      .encoding = encoding_id(parts.config.algorithm.compressor),
                      .dim = parts.facts.dim,
                      .names = link.names,
                      .trace = link.trace,
                      .report = link.report});
}

}  // namespace porter
