// SPDX-License-Identifier: Apache-2.0
// What a trainer keeps in a checkpoint and takes from one.
#include "porter/core/error.hpp"
#include "porter/train/trainer.hpp"

namespace porter {
namespace {

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

Checkpoint Trainer::checkpoint() {
  gather();
  Checkpoint checkpoint{.run = run_id(config()), .now = now_, .traffic = traffic()};
  if (auto agents = kept_agents(true)) checkpoint.agents = std::move(*agents);
  for (const auto& [name, matrix, copied] : algorithm_->state()) {
    const auto agents = kept_agents(copied);
    std::visit([&](const auto* rows) { checkpoint.matrices[name] = pack(*rows, agents); }, matrix);
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
          ": --raw-metrics: the run began without them, so their means are not known");
  for (const auto& [name, matrix, copied] : algorithm_->state()) {
    const auto& array = member(checkpoint.matrices, name, source);
    const auto agents = kept_agents(copied);
    std::visit([&](auto* rows) { unpack(array, name, source, agents, *rows); }, matrix);
  }
  const auto releases = now_.releases;
  now_ = now;
  raise_releases(releases);
  if (is_root() || !meets())  // the processes' counts are summed up
    algorithm_->traffic() = checkpoint.traffic;
}

}  // namespace porter
