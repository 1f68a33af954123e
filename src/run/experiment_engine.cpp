// SPDX-License-Identifier: Apache-2.0
// What an experiment does where its agents are spread over several processes.
#include <algorithm>
#include <cstring>

#include "porter/core/error.hpp"
#include "porter/core/text.hpp"
#include "porter/io/file.hpp"
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

}  // namespace

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

Config shared_config(Config config) {
  config.run.threads = 0;
  config.run.checkpoint_every = 0;
  config.run.engine = "simulate";
  auto& data = config.data;
  for (auto* path : {&data.train, &data.test, &data.train_images, &data.train_labels,
                     &data.test_images, &data.test_labels})
    *path = std::filesystem::path(*path).filename().string();
  for (auto* text : {&config.network.graph, &config.network.mixing, &config.algorithm.start}) {
    const auto spec = split_spec(*text);
    if (spec.name == "file" && spec.argument)
      *text = "file:" + std::filesystem::path(*spec.argument).filename().string();
  }
  return config;
}

std::string run_id(const Config& config) {
  return sha256_hex(to_toml(shared_config(config))).substr(0, 32);
}

void Experiment::join() {
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
