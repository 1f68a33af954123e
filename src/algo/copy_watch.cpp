// SPDX-License-Identifier: Apache-2.0
#include "copy_watch.hpp"

#include <algorithm>
#include <utility>

#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::uint32_t kComparePeriod = 8;
constexpr std::uint32_t kMaxRequests = 3;

}  // namespace

template <class Real>
CopyWatch<Real>::CopyWatch(Exchange& exchange, MessageLink& link, Surrogates<Real>& surrogates,
                           std::uint32_t last_step)
    : exchange_(exchange), link_(link), surrogates_(surrogates), last_step_(last_step) {}

template <class Real>
void CopyWatch<Real>::start(std::uint32_t step) {
  if (const auto mended = surrogates_.mend_gaps(std::exchange(repaired_, {})))
    exchange_.report(concat("step ", step_, ": ", mended, " sums of messages are mended, too"));
  step_ = step;
  wanted_.clear();
  for (auto& [sender, wrong] : wrong_) {
    if (wrong.asked != 0 && step - wrong.asked < 2) continue;  // the answer is on its way
    require(wrong.times < kMaxRequests, ErrorKind::protocol, exchange_.name(sender),
            " was asked for its Q ", kMaxRequests, " times and did not send it");
    wrong = {step, wrong.times + 1};
    wanted_.push_back(sender);
  }
  replies_ = std::exchange(replies_next_, {});
}

// Whether all copies are up to date in this step, and compared.
template <class Real>
bool CopyWatch<Real>::compares_copies() const {
  return step_ % kComparePeriod == 0 || step_ == last_step_;
}

template <class Real>
void CopyWatch<Real>::send(std::size_t agent) {
  Exchange::Outgoing message{.wanted = wanted_};
  std::vector<std::vector<double>> wide;
  std::vector<std::span<const double>> dense;
  if (replies_.contains(static_cast<std::uint32_t>(agent))) {
    for (std::size_t c = 0; c < link_.channels(); ++c) {
      const auto Q = surrogates_.Q(c, agent);
      dense.emplace_back(wide.emplace_back(Q.begin(), Q.end()));
    }
    message.dense = dense;
  }
  const bool proves = compares_copies() && link_.travels(agent);
  if (proves || !dense.empty()) message.digest = surrogates_.digest(agent);
  link_.send(agent, message);
}

template <class Real>
void CopyWatch<Real>::take(const Exchange::Incoming& message) {
  surrogates_.arrived(message.sender);
  for (const auto agent : message.wanted)
    if (std::ranges::binary_search(exchange_.hosted(), agent)) {
      count_request(message.sender, agent);
      replies_next_.insert(agent);
    }
  if (surrogates_.shares(message.sender)) return;  // there is no copy
  if (!message.dense.empty() && wrong_.contains(message.sender)) return repair(message);
  if (!compares_copies()) return;
  if (surrogates_.mixes_copies())
    claims_[message.sender] = message.digest;
  else
    compare(message.sender, message.digest, surrogates_.proof(message.sender));
}

template <class Real>
void CopyWatch<Real>::finish() {
  surrogates_.distrust(wrong_);
  if (!claims_.empty()) surrogates_.prove_while_mixing();
}

template <class Real>
void CopyWatch<Real>::mixed() {
  for (const auto& claim : std::exchange(claims_, {})) {
    const auto sender = claim.first;
    exchange_.naming(sender,
                     [&] { compare(sender, claim.second, surrogates_.mixed_proof(sender)); });
  }
}

// Copies are compared once in a period, and one that differs is asked for no more often than that.
template <class Real>
void CopyWatch<Real>::count_request(std::uint32_t asker, std::uint32_t agent) {
  auto& [first, times] = requests_[{asker, agent}];
  if (step_ - first >= kComparePeriod) first = step_, times = 0;
  require(++times <= kMaxRequests, ErrorKind::protocol, "more than ", kMaxRequests,
          " requests for one surrogate in ", kComparePeriod, " steps");
}

template <class Real>
void CopyWatch<Real>::compare(std::uint32_t sender, std::uint64_t digest, std::uint64_t proof) {
  if (proof == digest || !wrong_.try_emplace(sender).second) return;
  exchange_.report(concat("step ", step_, ": the copy of ", exchange_.name(sender),
                          "'s surrogate differs from its own; ",
                          step_ == last_step_ ? "too late to ask, so the last steps are not what "
                                                "they should be"
                                              : "asking for it"));
}

template <class Real>
void CopyWatch<Real>::repair(const Exchange::Incoming& message) {
  const auto sender = message.sender;
  surrogates_.replace(sender, message.dense);
  require(surrogates_.proof(sender) == message.digest, ErrorKind::protocol,
          "a surrogate that does not have the digest it claims");
  wrong_.erase(sender);
  repaired_.insert(sender);
  exchange_.report(
      concat("step ", step_, ": the copy of ", exchange_.name(sender), "'s surrogate is repaired"));
}

template class CopyWatch<double>;
template class CopyWatch<float>;

}  // namespace porter
