// SPDX-License-Identifier: Apache-2.0
// The part of gossip that is about agents in other processes: their messages, and the proof that
// both ends hold the same Q. A step in which a copy is found wrong is t: the messages of t + 1 ask
// for it, those of t + 2 bring it. Until then no stored gap is built from that copy; gaps that are
// not stored have no other source.
#include <algorithm>
#include <cmath>
#include <utility>

#include "gossip.hpp"
#include "porter/algo/bounds.hpp"
#include "porter/comm/replica_digest.hpp"
#include "porter/core/error.hpp"
#include "porter/core/vector_math.hpp"

namespace porter {
namespace {

constexpr std::uint32_t kComparePeriod = 8;
constexpr std::uint32_t kMostRequests = 3;

// How far an incremental gap may be from its Q, relative to the sum of magnitudes, by rounding.
template <class Real>
constexpr double kRounding = sizeof(Real) < sizeof(double) ? 1e-4 : 1e-9;

}  // namespace

std::vector<std::vector<std::uint32_t>> listeners(const Graph& graph) {
  std::vector<std::vector<std::uint32_t>> all;
  for (std::size_t i = 0; i < graph.nodes(); ++i) all.push_back(graph.neighbours(i));
  return all;
}

template <class Real>
void BasicGossip<Real>::start_exchange(std::uint32_t step) {
  mend_gaps();
  wanted_.clear();
  for (auto& [sender, wrong] : wrong_) {
    if (wrong.asked != 0 && step - wrong.asked < 2) continue;  // the answer is on its way
    require(wrong.times < kMostRequests, ErrorKind::protocol, exchange_->name(sender),
            " was asked for its Q ", kMostRequests, " times and did not send it");
    wrong = {step, wrong.times + 1};
    wanted_.push_back(sender);
  }
  owed_ = std::exchange(owed_next_, {});
}

// Whether all copies are up to date in this step, and compared.
template <class Real>
bool BasicGossip<Real>::compares_copies() const {
  return step_ % kComparePeriod == 0 || step_ == last_step_;
}

// Of all vectors of a message.
template <class Real>
std::uint64_t BasicGossip<Real>::digest(std::size_t agent) const {
  std::uint64_t sum = 0;
  for (std::uint32_t c = 0; c < lines_.size(); ++c)
    sum += replica_digest(lines_[c].Q.row(agent), c);
  return sum;
}

template <class Real>
void BasicGossip<Real>::send(std::size_t agent) {
  Exchange::Outgoing message;
  std::vector<std::span<const std::byte>> vectors;
  for (const auto& line : lines_) vectors.emplace_back(line.messages[agent].payload);
  message.vectors = vectors;
  message.wanted = wanted_;
  std::vector<std::vector<double>> wide;
  std::vector<std::span<const double>> dense;
  if (owed_.contains(static_cast<std::uint32_t>(agent))) {
    for (auto& line : lines_) {
      const auto Q = line.Q.row(agent);
      dense.emplace_back(wide.emplace_back(Q.begin(), Q.end()));
    }
    message.dense = dense;
  }
  if (compares_copies() || !dense.empty()) message.digest = digest(agent);
  exchange_->post(step_, static_cast<std::uint32_t>(agent), message);
}

template <class Real>
void BasicGossip<Real>::receive() {
  exchange_->collect(step_, lines_.size(), [&](const auto& message) { take(message); });
  unproven_.assign(degrees_.size(), false);
  for (const auto agent : hosted_)
    for (const auto& [sender, weight] : incoming_[agent])
      if (wrong_.contains(sender)) unproven_[agent] = true;
}

template <class Real>
void BasicGossip<Real>::take(const Exchange::Incoming& message) {
  const auto sender = message.sender;
  for (std::size_t c = 0; c < lines_.size(); ++c) {
    auto& line = lines_[c];
    auto& backlog = line.backlogs[sender];
    if (backlog.size > 0) {
      backlog.older.resize(std::max(backlog.older.size(), backlog.size));
      std::swap(backlog.older[backlog.size - 1], line.messages[sender]);
    }
    ++backlog.size;
    auto& decoded = line.messages[sender].decoded;
    if (sweep_) {
      decoded.indices.assign(positions_.begin(), positions_.end());
      unseal_floats(message.vectors[c], line.Q.dim(), decoded);
    } else {
      compressor_.decode(message.vectors[c], line.Q.dim(), stream(line, sender), decoded);
    }
    check_received(decoded, line.bound, step_);
    if (!copies_lag_ || compares_copies() || rebuild_) {
      catch_up(line, sender, 0, line.Q.dim());
      backlog.size = 0;
    }
  }
  for (const auto agent : message.wanted)
    if (std::ranges::binary_search(hosted_, agent)) owed_next_.insert(agent);
  judge(message);
}

// Q <- Q + C(S - Q) for some tiles, message by message, so the copy has the bits of its original.
template <class Real>
void BasicGossip<Real>::catch_up(Line& line, std::size_t sender, std::size_t first,
                                 std::size_t size) {
  const auto& [waiting, older] = line.backlogs[sender];
  if (waiting == 0) return;
  for (const std::size_t end = first + size; first < end; first += kTileSize) {
    const auto tile = line.Q.row(sender).subspan(first, std::min(kTileSize, end - first));
    prefetch(tile);
    for (std::size_t i = 0; i + 1 < waiting; ++i) add_decoded(1.0, older[i], first, tile);
    add_decoded(1.0, line.messages[sender], first, tile);
  }
}

template <class Real>
void BasicGossip<Real>::catch_up(std::size_t first, std::size_t size) {
  for (auto& line : lines_)
    for (const auto sender : exchange_->sources()) catch_up(line, sender, first, size);
}

template <class Real>
void BasicGossip<Real>::caught_up() {
  for (auto& line : lines_)
    for (const auto sender : exchange_->sources()) line.backlogs[sender].size = 0;
}

template <class Real>
void BasicGossip<Real>::catch_up_all() {
  catch_up(0, lines_.front().Q.dim());
  caught_up();
}

template <class Real>
void BasicGossip<Real>::judge(const Exchange::Incoming& message) {
  const auto sender = message.sender;
  if (!message.dense.empty() && wrong_.contains(sender)) {
    repair(message);
    return;
  }
  if (!compares_copies()) return;
  // Many messages may be too much together.
  for (const auto& line : lines_)
    check_received(std::sqrt(squared_norm(line.Q.row(sender))), line.bound, step_);
  if (digest(sender) != message.digest && wrong_.try_emplace(sender).second) {
    exchange_->report(concat("step ", step_, ": the copy of ", exchange_->name(sender),
                             "'s surrogate differs from its own; ",
                             step_ == last_step_
                                 ? "too late to ask, so the last steps are not what "
                                   "they should be"
                                 : "asking for it"));
  }
}

template <class Real>
void BasicGossip<Real>::repair(const Exchange::Incoming& message) {
  const auto sender = message.sender;
  for (std::size_t c = 0; c < lines_.size(); ++c) {
    const auto Q = lines_[c].Q.row(sender);
    ByteReader in(message.dense[c]);
    for (auto& q : Q) q = static_cast<Real>(in.get<double>());
    check_received(std::sqrt(squared_norm(std::span<const Real>(Q))), lines_[c].bound, step_);
    lines_[c].backlogs[sender].size = 0;  // it has them all
  }
  require(digest(sender) == message.digest, ErrorKind::protocol,
          "a surrogate that does not have the digest it claims");
  wrong_.erase(sender);
  repaired_.insert(sender);
  exchange_->report(concat("step ", step_, ": the copy of ", exchange_->name(sender),
                           "'s surrogate is repaired"));
}

// A gap is a sum of messages, so it may be right where a copy of Q was wrong; then it stays, and
// the run keeps its bits. Where it is not what the repaired Q say, it becomes that. Between two
// steps, when all messages are in.
template <class Real>
void BasicGossip<Real>::mend_gaps() {
  const auto repaired = std::exchange(repaired_, {});
  if (repaired.empty() || !stores_gaps_) return;
  catch_up_all();
  std::size_t mended = 0;
  for (const auto agent : hosted_) {
    const auto hears = [&](const MixingWeight& w) { return repaired.contains(w.node); };
    if (std::ranges::none_of(incoming_[agent], hears)) continue;
    for (auto& line : lines_)
      for (std::size_t j = 0; j < line.Q.dim(); ++j) {
        double sum = 0, magnitude = 0;
        for (const auto& [sender, weight] : incoming_[agent]) {
          const double term = weight * double{line.Q.row(sender)[j]};
          sum += term;
          magnitude += std::abs(term);
        }
        auto& gap = line.gap.row(agent)[j];
        if (std::abs(sum - double{gap}) <= kRounding<Real> * magnitude) continue;
        gap = static_cast<Real>(sum);
        ++mended;
      }
  }
  if (mended > 0)
    exchange_->report(concat("step ", step_, ": ", mended, " sums of messages are mended, too"));
}

template void BasicGossip<double>::start_exchange(std::uint32_t);
template void BasicGossip<float>::start_exchange(std::uint32_t);
template void BasicGossip<double>::send(std::size_t);
template void BasicGossip<float>::send(std::size_t);
template void BasicGossip<double>::receive();
template void BasicGossip<float>::receive();
template void BasicGossip<double>::catch_up(std::size_t, std::size_t);
template void BasicGossip<float>::catch_up(std::size_t, std::size_t);
template void BasicGossip<double>::caught_up();
template void BasicGossip<float>::caught_up();
template void BasicGossip<double>::catch_up_all();
template void BasicGossip<float>::catch_up_all();

}  // namespace porter
