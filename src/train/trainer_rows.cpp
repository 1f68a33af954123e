// SPDX-License-Identifier: Apache-2.0
// The rows of a trainer's state: gathered where agents are spread over several processes, kept in a
// checkpoint and taken from one.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "comm/exchange.hpp"
#include "porter/comm/mpi.hpp"
#include "porter/core/error.hpp"
#include "porter/train/trainer.hpp"

namespace porter {
namespace {

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

using Agents = std::optional<std::vector<std::uint32_t>>;

// Calls work(row) for the rows of the given agents, or for all rows.
template <class Rows, class Work>
void for_rows(Rows& rows, const Agents& agents, const Work& work) {
  if (!agents)
    for (std::size_t i = 0; i < rows.agents(); ++i) work(rows.row(i));
  else
    for (const auto agent : *agents) work(rows.row(agent));
}

template <class Real>
NpyArray pack(const BasicRows<Real>& rows, const Agents& agents) {
  NpyArray array{{agents ? agents->size() : rows.agents(), rows.dim()}, {}};
  array.values.reserve(array.shape[0] * array.shape[1]);
  for_rows(rows, agents, [&](std::span<const Real> row) {
    array.values.insert(array.values.end(), row.begin(), row.end());
  });
  return array;
}

// A float was widened without loss, so it comes back as it was.
template <class Real>
void unpack(const NpyArray& array, const std::string& name, const std::string& source,
            const Agents& agents, BasicRows<Real>& rows) {
  const std::vector<std::size_t> shape = {agents ? agents->size() : rows.agents(), rows.dim()};
  require(array.shape == shape, ErrorKind::io, source, ": the matrix ", name, " must be ", shape[0],
          " x ", shape[1], "; this is the checkpoint of another run");
  auto value = array.values.begin();
  for_rows(rows, agents, [&](std::span<Real> row) {
    for (auto& entry : row) entry = static_cast<Real>(*value++);
  });
}

}  // namespace

std::vector<std::uint32_t> Trainer::hosted() const {
  if (link_) return link_->hosting->hosted(link_->process);
  std::vector<std::uint32_t> all(facts().agents);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

std::vector<NamedRows> Trainer::state() {
  auto state = algorithm_->state();
  if (config().run.ema) state.push_back({"ema", &averages_});
  return state;
}

void Trainer::gather() {
  if (!meets()) return;
  auto& session = *link_->session;
  for (const auto& [name, matrix, copied] : state())
    std::visit([&](auto* rows) { gather_into(session, *link_->hosting, *rows); }, matrix);
  const auto own = algorithm_->traffic();
  gathered_traffic_ = {};
  for (const auto& bytes : session.all_gather(std::as_bytes(std::span(&own, 1)))) {
    Traffic traffic;
    std::memcpy(&traffic, bytes.data(), sizeof traffic);
    gathered_traffic_.message_bytes += traffic.message_bytes;
    gathered_traffic_.link_bytes += traffic.link_bytes;
  }
}

bool Trainer::knows(std::uint32_t agent) const {
  return (is_root() && (!link_ || meets())) || std::ranges::count(hosted(), agent) > 0;
}

// Everybody gets the row of process 0, and so decides alike whether to go on.
void Trainer::share(MetricsRow& row) {
  if (!meets()) return;
  static_assert(std::is_trivially_copyable_v<MetricsRow>);
  const auto all = link_->session->all_gather(std::as_bytes(std::span(&row, 1)));
  std::memcpy(&row, all[0].data(), sizeof row);
}

// Whose rows a checkpoint holds: nothing for everybody's, where they are here. Otherwise those of
// the hosted agents, and of a copied matrix those of the neighbours, too.
std::optional<std::vector<std::uint32_t>> Trainer::kept_agents(bool copied) const {
  if (!link_ || meets()) return std::nullopt;
  auto agents = hosted();
  if (copied) agents.insert(agents.end(), exchange_->sources().begin(), exchange_->sources().end());
  std::ranges::sort(agents);
  return agents;
}

Checkpoint Trainer::checkpoint() {
  gather();
  Checkpoint checkpoint{.run = run_id(config()),
                        .earlier_runs = earlier_runs_,
                        .output_round = facts().output_round,
                        .output_agent = facts().output_agent,
                        .now = now_,
                        .traffic = traffic()};
  if (auto agents = kept_agents(true)) checkpoint.agents = std::move(*agents);
  for (const auto& [name, matrix, copied] : state()) {
    const auto agents = kept_agents(copied);
    auto& packed = checkpoint.matrices[name];
    std::visit([&](const auto* rows) { packed = pack(*rows, agents); }, matrix);
  }
  return checkpoint;
}

Checkpoint Trainer::extended(Checkpoint checkpoint) const {
  auto& now = checkpoint.now;
  checkpoint.earlier_runs.push_back(checkpoint.run);
  checkpoint.run = run_id(config());
  if (facts().output_round > now.round) {
    checkpoint.output_round = facts().output_round;
    checkpoint.output_agent = facts().output_agent;
    now.x_out.clear();
  }
  return checkpoint;
}

void Trainer::restore(const Checkpoint& checkpoint, const std::string& source) {
  const auto& now = checkpoint.now;
  const auto expected = run_id(config());
  require(checkpoint.run == expected, ErrorKind::io, source,
          ": a checkpoint of another run: expected run ", expected, ", found run ", checkpoint.run);
  require(now.round <= config().algorithm.rounds, ErrorKind::io, source,
          ": not a checkpoint of this run: its round must be from 0 to ", config().algorithm.rounds,
          ", found ", now.round);
  for (const auto* x : {&now.x_best, &now.x_out})
    require(x->empty() || x->size() == facts().dim, ErrorKind::io, source, ": ",
            x == &now.x_best ? "x_best" : "x_out", " must be empty or have ", facts().dim,
            " entries, found ", x->size());
  require(!now.previous || now.previous->raw || !raw_metrics_, ErrorKind::usage, source,
          ": raw metrics: the run began without them, so their means are not known");
  if (now.previous && now.previous->raw) include_raw_metrics();
  for (const auto& [name, matrix, copied] : state()) {
    const auto& array = member(checkpoint.matrices, name, source);
    const auto agents = kept_agents(copied);
    std::visit([&, &key = name](auto* rows) { unpack(array, key, source, agents, *rows); }, matrix);
  }
  const auto releases = now_.releases;
  now_ = now;
  earlier_runs_ = checkpoint.earlier_runs;
  if (checkpoint.output_round > 0) {  // of a run that was extended it may be another than drawn
    parts_.facts.output_round = checkpoint.output_round;
    parts_.facts.output_agent = checkpoint.output_agent;
  }
  raise_releases(releases);
  if (is_root() || !meets())  // the processes' counts are summed up
    algorithm_->traffic() = checkpoint.traffic;
}

}  // namespace porter
