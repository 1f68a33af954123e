// SPDX-License-Identifier: Apache-2.0
// What a trainer does where its agents are spread over several processes.
#include <algorithm>
#include <cstring>

#include "comm/exchange.hpp"
#include "porter/comm/mpi.hpp"
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

}  // namespace

std::vector<std::uint32_t> Trainer::hosted() const {
  if (link_) return link_->hosting->hosted(link_->process);
  std::vector<std::uint32_t> all;
  for (std::uint32_t agent = 0; agent < facts().agents; ++agent) all.push_back(agent);
  return all;
}

void Trainer::gather() {
  if (!meets()) return;
  auto& session = *link_->session;
  for (const auto& [name, matrix, copied] : algorithm_->state())
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

// Whose rows a snapshot holds: nothing for everybody's, where they are here. Otherwise those of the
// hosted agents, and of a copied matrix those of the neighbours, too.
std::optional<std::vector<std::uint32_t>> Trainer::kept_agents(bool copied) const {
  if (!link_ || meets()) return std::nullopt;
  auto agents = hosted();
  if (copied) agents.insert(agents.end(), exchange_->sources().begin(), exchange_->sources().end());
  std::ranges::sort(agents);
  return agents;
}

}  // namespace porter
