// SPDX-License-Identifier: Apache-2.0
// For whoever draws; others know of BatchSampler what is public.
#pragma once

#include "core/sampling.hpp"
#include "porter/privacy/batch_sampler.hpp"

namespace porter {

template <class Stream>
void BatchSampler::draw(Stream& stream, std::vector<std::uint32_t>& out) const {
  if (kind_ == Sampler::fixed) return choose(batch_, records_, stream, out);
  out.clear();
  // uniform() is a multiple of 2^-53: this is so with the rate rounded down to one, never more.
  const double rate = static_cast<double>(batch_) / static_cast<double>(records_);
  for (std::size_t i = 0; i < records_; ++i)
    if (kind_ == Sampler::full || stream.uniform() + 0x1p-53 <= rate)
      out.push_back(static_cast<std::uint32_t>(i));
}

}  // namespace porter
