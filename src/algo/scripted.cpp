// SPDX-License-Identifier: Apache-2.0
#include "porter/algo/scripted.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "gossip.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

// Names in checkpoints that are not the script's.
constexpr std::string_view kTaken[] = {"X", "Q0", "Q1", "gap0", "gap1"};

class Scripted final : public Algorithm, private ScriptedRound {
 public:
  Scripted(const AlgorithmSetup& setup, ScriptedMethod method)
      : team_(setup),
        method_(std::move(method)),
        gradients_(setup.problem, setup.gradients, setup.pool),
        rows_(std::make_shared<Storage>()) {
    rows_->X = team_.rows(setup.start);
    rows_->G = zeros();
    require(!setup.exchange, ErrorKind::usage, "a scripted method needs all agents in one process");
    require(method_.channels.size() <= 2, ErrorKind::usage,
            "a scripted method has at most two channels, found ", method_.channels.size());
    for (const auto from : method_.channels) {
      const auto use = channels_.empty() ? Draw::compress_x : Draw::compress_v;
      const bool from_start = from == ScriptedMethod::From::start;
      channels_.push_back(std::make_unique<Gossip<>>(
          setup, team_,
          std::vector<Channel>{
              {use, from_start ? std::span(setup.start) : std::span<const double>()}}));
      rows_->gaps.push_back(zeros());
    }
    for (const auto& name : method_.matrices) {
      const bool low_pass = setup.gradients.momentum != 1 && name == "M";
      const bool taken =
          low_pass || std::ranges::count(kTaken, name) > 0 || rows_->matrices.contains(name);
      require(!taken, ErrorKind::usage, "the matrix ", name,
              " of a scripted method: a checkpoint has that name already");
      rows_->matrices[name] = zeros();
    }
  }

  void step(std::uint32_t round) override {
    round_ = round;
    mixed_ = 0;
    released_ = false;
    method_.step(*this);
    require(mixed_ == channels_.size(), ErrorKind::usage, "the method has ", channels_.size(),
            " channels, but mixed ", mixed_, " times in round ", round);
  }

  const Rows& iterates() const override { return rows_->X; }
  Traffic& traffic() override { return traffic_; }
  std::vector<NamedRows> state() override {
    std::vector<NamedRows> all = {{"X", &rows_->X}};
    for (auto& [name, rows] : rows_->matrices) all.push_back({name, &rows});
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      const auto first = all.size();
      channels_[c]->append_state(all);
      for (auto& rows : std::span(all).subspan(first))
        rows.name.back() = static_cast<char>('0' + c);
    }
    gradients_.append_state(all);
    return all;
  }

 private:
  // Apart, as a script may hold on to it.
  struct Storage {
    Rows X, G;
    std::map<std::string, Rows> matrices;
    std::vector<Rows> gaps;  // what `mix` returned, of each channel
  };

  Rows zeros() const { return {rows_->X.agents(), rows_->X.dim()}; }

  std::shared_ptr<const void> storage() const override { return rows_; }
  std::uint32_t number() const override { return round_; }
  Rows& rows() override { return rows_->X; }
  Rows& matrix(const std::string& name) override {
    const auto found = rows_->matrices.find(name);
    require(found != rows_->matrices.end(), ErrorKind::usage, "the method has no matrix ", name);
    return found->second;
  }
  const Rows& gradients(const Rows& at) override {
    require(!released_, ErrorKind::privacy, "gradients were asked for twice in round ", round_,
            ": each is a release, and one is accounted for in a round");
    released_ = true;
    gradients_.estimate(team_.hosted, at, round_, rows_->G);
    return rows_->G;
  }
  const Rows& mix(const Rows& V) override {
    require(mixed_ < channels_.size(), ErrorKind::usage, "the method has ", channels_.size(),
            " channels and mixes more often in round ", round_);
    auto& gap_rows = rows_->gaps[mixed_];
    auto& channel = *channels_[mixed_++];
    const auto before = channel.traffic();
    channel.step(
        round_, [&](std::size_t agent, const auto& publish) { publish({V.row(agent)}); },
        [&](const Tile& tile, const auto& gap) {
          std::ranges::copy(gap(0), tile.of(gap_rows.row(tile.agent)).begin());
        });
    traffic_.message_bytes += channel.traffic().message_bytes - before.message_bytes;
    traffic_.link_bytes += channel.traffic().link_bytes - before.link_bytes;
    return gap_rows;
  }

  Team team_;
  ScriptedMethod method_;
  GradientEstimator gradients_;
  std::vector<std::unique_ptr<Gossip<>>> channels_;
  std::shared_ptr<Storage> rows_;
  Traffic traffic_;
  std::uint32_t round_ = 0;
  std::size_t mixed_ = 0;  // in this round
  bool released_ = false;
};

}  // namespace

std::unique_ptr<Algorithm> make_scripted(const AlgorithmSetup& setup, ScriptedMethod method) {
  return std::make_unique<Scripted>(setup, std::move(method));
}

}  // namespace porter
