// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "porter/privacy/accountant.hpp"

namespace porter {

/// How many clips one record moves a sum of clipped samples.
constexpr double records_moved(Adjacency adjacency) {
  return adjacency == Adjacency::replace ? 2 : 1;
}

/// How an agent draws the samples of a round, and what that is worth to its privacy: the accountant
/// is told by the very object that draws, so the two cannot disagree.
class BatchSampler {
 public:
  /// b of m samples. Error{usage} unless 1 <= b <= m; b = m is a full batch whatever the kind.
  BatchSampler(Sampler kind, std::size_t records, std::size_t batch);

  Sampler kind() const { return kind_; }
  std::size_t records() const { return records_; }
  /// b: what sums are divided by, however many samples were drawn.
  std::size_t batch() const { return batch_; }

  /// Replaces `out` by the samples of one round, ascending. fixed: choose(b, m). poisson: sample i
  /// iff the i-th uniform is below b / m, so it may be none. full: all, and nothing is drawn from
  /// the stream.
  template <class Stream>  // defined for our own streams
  void draw(Stream& stream, std::vector<std::uint32_t>& out) const;

  /// How far one record moves the computed mean of samples clipped to `clip`: records_moved() clip
  /// / b, and what sums in floating point are off by.
  double sensitivity(Adjacency adjacency, double clip) const;
  /// `steps` rounds of: draw, clip each sample to `clip`, add up, divide by b, add N(0, sigma^2 I).
  PrivacyEvent event(Adjacency adjacency, double sigma, double clip, std::uint64_t steps) const;
  /// The same with secure noise, charged for the most that its grid may cost: 1e-3 of the
  /// sensitivity and 2.4e-6 of sigma. It depends on nothing but what a ledger knows, and so a run
  /// and its ledger tell one epsilon. It is that of secure_delta().
  PrivacyEvent secure_event(Adjacency adjacency, double sigma, double clip,
                            std::uint64_t steps) const;

 private:
  Sampler kind_;
  std::size_t records_, batch_;
};

/// What the accountant is given of delta; a millionth is for the distance between the secure
/// sampler and the exact Gaussian.
inline constexpr double kSecureShare = 1e-6;
constexpr double secure_delta(double delta) { return delta * (1 - kSecureShare); }

}  // namespace porter
