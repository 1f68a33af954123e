// SPDX-License-Identifier: Apache-2.0
#include "porter/comm/transport.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "porter/core/error.hpp"

namespace porter {
namespace {

void sort_unique(std::vector<std::uint32_t>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

Hosting::Hosting(std::vector<std::uint32_t> process_of,
                 std::vector<std::vector<std::uint32_t>> listeners)
    : process_of_(std::move(process_of)) {
  const auto n = process_of_.size();
  require(n > 0 && listeners.size() == n, ErrorKind::usage, "hosting: ", n, " agents have ",
          listeners.size(), " lists of listeners");
  const auto processes = *std::max_element(process_of_.begin(), process_of_.end()) + std::size_t{1};
  require(processes <= n, ErrorKind::usage, "hosting: ", processes, " processes for ", n,
          " agents; each needs at least one");
  hosted_.resize(processes);
  targets_.resize(n);
  sources_.resize(processes);
  for (std::uint32_t i = 0; i < n; ++i) {
    hosted_[process_of_[i]].push_back(i);
    for (const auto j : listeners[i]) {
      require(j < n && j != i, ErrorKind::usage, "hosting: agent ", i, " cannot be heard by agent ",
              j);
      if (process_of_[j] == process_of_[i]) continue;
      targets_[i].push_back(process_of_[j]);
      sources_[process_of_[j]].push_back(i);
    }
    sort_unique(targets_[i]);
  }
  for (std::uint32_t p = 0; p < processes; ++p) {
    require(!hosted_[p].empty(), ErrorKind::usage, "hosting: process ", p, " has no agent");
    sort_unique(sources_[p]);
  }
  for (std::uint32_t p = 0; p < processes; ++p)
    for (const auto q : neighbours(p))
      require(std::ranges::binary_search(neighbours(q), p), ErrorKind::usage, "hosting: process ",
              p, " hears process ", q, ", which does not hear it");
}

std::vector<std::uint32_t> Hosting::neighbours(std::size_t process) const {
  std::vector<std::uint32_t> list;
  for (const auto agent : sources_[process]) list.push_back(process_of_[agent]);
  sort_unique(list);
  return list;
}

std::string Hosting::describe(std::size_t process) const {
  const auto& agents = hosted_[process];
  return fmt::format("process {} (agent{} {})", process, agents.size() == 1 ? "" : "s",
                     fmt::join(agents, ", "));
}

Hosting host_in_blocks(std::vector<std::vector<std::uint32_t>> listeners, std::size_t processes) {
  const auto n = listeners.size();
  require(processes >= 1 && processes <= n, ErrorKind::usage, "1 to ", n, " processes can host ", n,
          " agents; there are ", processes);
  std::vector<std::uint32_t> process_of(n);
  for (std::size_t p = 0; p < processes; ++p)
    for (std::size_t i = p * n / processes; i < (p + 1) * n / processes; ++i)
      process_of[i] = static_cast<std::uint32_t>(p);
  return {std::move(process_of), std::move(listeners)};
}

}  // namespace porter
