// SPDX-License-Identifier: Apache-2.0
#include "push_weights.hpp"

#include <vector>

namespace porter {

using Weights = std::vector<MixingWeight>;

void PushWeights::move(std::uint32_t step) {
  const auto now = [&](std::size_t i) -> const Weights& { return link_.incoming(i); };
  if (step != step_ + 1 || step == 1) {
    for (std::size_t i = 0; i < w_.agents(); ++i) w_.row(i)[0] = 1;
    const bool changes = team_.changing && !stays(*team_.changing);
    for (std::uint32_t s = 1; s < step; ++s)
      if (changes)
        move_by([then = team_.changing->weights(s)](std::size_t i) -> const Weights& {
          return then.incoming[i];
        });
      else
        move_by(now);
  }
  move_by(now);
  step_ = step;
}

void PushWeights::divide(std::size_t agent, std::span<const double> x, std::span<double> z) const {
  const double w = w_.row(agent)[0];
  for (std::size_t j = 0; j < z.size(); ++j) z[j] = x[j] / w;
}

template <class Incoming>
void PushWeights::move_by(const Incoming& incoming) {
  const auto sent = w_;
  for (std::size_t i = 0; i < w_.agents(); ++i)
    for (const auto& [sender, weight] : incoming(i))
      w_.row(i)[0] += gamma_ * weight * sent.row(sender)[0];
}

}  // namespace porter
