// SPDX-License-Identifier: Apache-2.0
// What an experiment does where its agents are spread over several processes.
#include <algorithm>
#include <cstring>
#include <sstream>

#include "config_keys.hpp"
#include "difference.hpp"
#include "porter/core/error.hpp"
#include "porter/core/text.hpp"
#include "porter/io/file.hpp"
#include "porter/run/agent.hpp"
#include "porter/run/experiment.hpp"

namespace porter {
namespace {

RunId to_run_id(const std::string& digits) {
  RunId id{};
  for (std::size_t i = 0; i < id.size(); ++i)
    id[i] = static_cast<std::byte>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  return id;
}

// The rows of all agents come to process 0; a float is widened on the way, and comes back.
template <class Real>
void gather_into(MpiSession& session, const Hosting& hosting, BasicRows<Real>& rows) {
  const auto& own = hosting.hosted(session.rank());
  Rows hosted(own.size(), rows.dim());
  for (std::size_t i = 0; i < own.size(); ++i)
    std::ranges::copy(rows.row(own[i]), hosted.row(i).begin());
  const auto all = session.gather_rows(hosting, hosted);
  for (std::size_t i = 0; i < all.agents(); ++i)
    std::ranges::transform(all.row(i), rows.row(i).begin(),
                           [](double value) { return static_cast<Real>(value); });
}

template <class T>
std::string hash_of(const std::vector<T>& values) {
  return sha256_hex({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

std::string hash_of(const Dataset& data) {
  return sha256_hex(concat(data.features, hash_of(data.values), hash_of(data.columns),
                           hash_of(data.row_starts), hash_of(data.labels), hash_of(data.classes)));
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

// All data are one owner's here, so a hash of them may travel.
void Experiment::compare_ranks() {
  auto keys = identity(config_);
  keys["run.checkpoint"] = std::to_string(config_.run.checkpoint_every);
  require_equal_facts(*engine_->session, keys);
  // The same keys may name files that are not the same.
  auto facts = agent_facts(config_, *network_, facts_.dim);
  facts["the start x0"] = hash_of(starting_point());
  facts["the training rows"] = hash_of(*data_.train);
  facts["the test rows"] = data_.test ? hash_of(*data_.test) : "none";
  require_equal_facts(*engine_->session, facts);
}

Engine mpi_engine(MpiSession& session, std::function<void(const std::string&)> report) {
  return {.process = session.rank(),
          .processes = session.size(),
          .connect =
              [&session](const RunShape& shape) {
                return session.make_transport(shape.hosting, shape.max_message);
              },
          .session = &session,
          .report = std::move(report)};
}

void Experiment::join() {
  if (meets()) compare_ranks();
  require(engine_->processes <= facts_.agents, ErrorKind::usage, "network.agents: ", facts_.agents,
          " agents cannot be spread over ", engine_->processes, " processes");
  hosting_ = std::make_unique<const Hosting>(
      host_in_blocks(listeners(network_->graph), engine_->processes));
  const auto& algorithm = config_.algorithm;
  transport_ = engine_->connect({.hosting = *hosting_,
                                 .network = *network_,
                                 .dim = facts_.dim,
                                 .max_message = Exchange::max_message(facts_.dim, facts_.agents),
                                 .privacy = *privacy_});
  exchange_ =
      std::make_unique<Exchange>(*transport_, *hosting_, engine_->process,
                                 ExchangeOptions{.run = to_run_id(run_id(config_)),
                                                 .encoding = encoding_id(algorithm.compressor),
                                                 .dim = facts_.dim,
                                                 .names = engine_->names,
                                                 .trace = engine_->trace,
                                                 .report = engine_->report});
}

std::vector<std::uint32_t> Experiment::hosted() const {
  if (hosting_) return hosting_->hosted(engine_->process);
  std::vector<std::uint32_t> all;
  for (std::uint32_t agent = 0; agent < facts_.agents; ++agent) all.push_back(agent);
  return all;
}

void Experiment::gather() {
  if (!meets()) return;
  auto& session = *engine_->session;
  for (const auto& [name, matrix, copied] : algorithm_->state())
    std::visit([&](auto* rows) { gather_into(session, *hosting_, *rows); }, matrix);
  const auto own = algorithm_->traffic();
  gathered_traffic_ = {};
  for (const auto& bytes : session.all_gather(std::as_bytes(std::span(&own, 1)))) {
    Traffic traffic;
    std::memcpy(&traffic, bytes.data(), sizeof traffic);
    gathered_traffic_.message_bytes += traffic.message_bytes;
    gathered_traffic_.link_bytes += traffic.link_bytes;
  }
}

bool Experiment::knows(std::uint32_t agent) const {
  return (is_root() && (!engine_ || meets())) || std::ranges::count(hosted(), agent) > 0;
}

// Everybody gets the row of process 0, and so decides alike whether to go on.
void Experiment::share(MetricsRow& row) {
  if (!meets()) return;
  static_assert(std::is_trivially_copyable_v<MetricsRow>);
  const auto all = engine_->session->all_gather(std::as_bytes(std::span(&row, 1)));
  std::memcpy(&row, all[0].data(), sizeof row);
}

// Whose rows a snapshot holds: nothing for everybody's, where they are here. Otherwise those of the
// hosted agents, and of a copied matrix those of the neighbours, too.
std::optional<std::vector<std::uint32_t>> Experiment::kept_agents(bool copied) const {
  if (!engine_ || meets()) return std::nullopt;
  auto agents = hosted();
  if (copied) agents.insert(agents.end(), exchange_->sources().begin(), exchange_->sources().end());
  std::ranges::sort(agents);
  return agents;
}

}  // namespace porter
