// SPDX-License-Identifier: Apache-2.0
// Exact sums in place of gossip averages: what is derived from them must have the same bits at all
// agents, and averages that agree to ten digits still differ where they are rounded. A vector takes
// a step over every edge, and an agent sends one vector per step, so it takes at most about as many
// steps as there are agents, plus the diameter.
#include "algo/flood.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/vector_math.hpp"
#include "message_link.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

class Flood final : public Algorithm {
 public:
  explicit Flood(const AlgorithmSetup& setup)
      : team_(setup),
        graph_(setup.neighbours().graph),
        plan_(flood_plan(graph_)),
        link_(setup, team_, Mask::own, {{Draw::compress_v}}),
        clock_{setup.gossip},
        gradients_(setup.problem, setup.gradients, setup.pool),
        weight_unit_(setup.gradients.clip.tau),
        records_(static_cast<double>(setup.problem.samples_per_agent())),
        X_(team_.rows(setup.start)),
        G_(X_.agents(), X_.dim()),
        none_(setup.start.size(), 0.0) {
    require(setup.gossip == plan_.size(), ErrorKind::usage, "algorithm.gossip: this graph takes ",
            plan_.size(), " steps to tell everybody everything, found ", setup.gossip);
    for (const auto agent : team_.hosted) known_.emplace(agent, Rows(team_.agents, X_.dim()));
  }

  void step(std::uint32_t round) override {
    gradients_.estimate(team_.hosted, X_, round, G_);
    team_.for_each([&](std::size_t agent) {
      G_.row(agent).back() = weight_unit_ / records_;  // the number of records is public
      for (std::size_t j = 0; j < G_.dim(); ++j)       // as the others get it
        known_.at(agent).row(agent)[j] = double{static_cast<float>(G_.row(agent)[j])};
    });
    clock_.all(round,
               [&](std::uint32_t step) { exchange(step, plan_[step - clock_.first(round)]); });
    team_.for_each([&](std::size_t agent) { add_up(known_.at(agent), X_.row(agent)); });
  }

  const Rows& iterates() const override { return X_; }
  Traffic& traffic() override { return link_.traffic(); }
  std::vector<NamedRows> state() override { return state_of({{"X", &X_}}, gradients_); }

 private:
  void exchange(std::uint32_t step, const std::vector<std::uint32_t>& whose) {
    link_.start(step);
    team_.for_each([&](std::size_t agent) {
      const std::span<const double> sent = known_.at(agent).row(whose[agent]);
      link_.encode(agent, 0, sent, std::span<const double>(none_));
      link_.send(agent);
    });
    link_.collect();
    team_.for_each([&](std::size_t agent) {
      for (const auto sender : graph_.neighbours(agent)) {
        const auto row = known_.at(agent).row(whose[sender]);
        std::ranges::fill(row, 0.0);
        add_decoded(1.0, link_.message(0, sender), row);
      }
    });
  }

  void add_up(const Rows& known, std::span<double> sum) const {
    std::ranges::fill(sum, 0.0);
    double records = 0;
    for (std::size_t agent = 0; agent < team_.agents; ++agent) {
      const auto vector = known.row(agent);
      const double count = std::round(weight_unit_ / vector.back());
      require(count >= 1 && count < 0x1p53, ErrorKind::protocol, "agent ", agent,
              " says that it has ", count, " records");
      axpy(count, vector, sum);
      records += count;
    }
    scale(1 / records, sum);
    sum.back() = records;
  }

  Team team_;
  const Graph& graph_;
  const std::vector<std::vector<std::uint32_t>> plan_;
  MessageLink link_;
  GossipClock clock_;
  GradientEstimator gradients_;
  double weight_unit_, records_;
  Rows X_, G_;
  std::vector<double> none_;
  std::map<std::size_t, Rows> known_;  // per hosted agent: what it has of everybody
};

}  // namespace

// The lowest number that an agent has and has not sent; its own again where there is none.
std::vector<std::vector<std::uint32_t>> flood_plan(const Graph& graph) {
  const auto nodes = static_cast<std::uint32_t>(graph.nodes());
  std::vector<std::vector<bool>> has(nodes, std::vector<bool>(nodes)), sent = has;
  for (std::uint32_t i = 0; i < nodes; ++i) has[i][i] = true;
  const auto all_have_all = [&] {
    return std::ranges::all_of(has, [](const auto& row) {
      return std::ranges::all_of(row, [](bool known) { return known; });
    });
  };
  std::vector<std::vector<std::uint32_t>> plan;
  while (plan.empty() || !all_have_all()) {
    std::vector<std::uint32_t> whose(nodes);
    for (std::uint32_t i = 0; i < nodes; ++i) {
      std::uint32_t next = 0;
      while (next < nodes && (!has[i][next] || sent[i][next])) ++next;
      whose[i] = next < nodes ? next : i;
      sent[i][whose[i]] = true;
    }
    for (std::uint32_t i = 0; i < nodes; ++i)
      for (const auto neighbour : graph.neighbours(i)) has[i][whose[neighbour]] = true;
    plan.push_back(std::move(whose));
  }
  return plan;
}

std::unique_ptr<Algorithm> make_flood(const AlgorithmSetup& setup) {
  return std::make_unique<Flood>(setup);
}

}  // namespace porter
