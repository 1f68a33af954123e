// SPDX-License-Identifier: Apache-2.0
// Group normalisation of the maps of one sample: the channels are cut into groups of neighbours of
// the same number, and with mean and variance over the positions and channels of a group
//   z = (in - mean) / sqrt(variance + 1e-5),   out = (1 + s_c) z + b_c.
// Nothing of another sample is in it, so that gradients can be clipped sample by sample. Where s
// and b are 0, as with the starts fan-in and zeros, z goes through as it is. Sums run over
// positions, channel by channel, then over the channels of a group: in the order of the loops,
// whatever the registers hold.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/vectors.hpp"
#include "model/layer_stack.hpp"

namespace porter {

/// What a group norm knows of each channel of a sample; the first two are those of its group.
template <class Real>
struct NormOfChannels {
  std::span<Real> mean, inverse;       ///< 1 / sqrt(variance + 1e-5)
  std::span<Real> by_scale, by_shift;  ///< the derivatives by s and b

  /// In room of any content.
  NormOfChannels(std::size_t channels, std::vector<Real>& room) {
    room.resize(4 * channels);
    const std::span<Real> all = room;
    mean = all.subspan(0, channels);
    inverse = all.subspan(channels, channels);
    by_scale = all.subspan(2 * channels, channels);
    by_shift = all.subspan(3 * channels, channels);
  }
};

/// term(number, channel) of the numbers of maps, one after the other.
template <class Term>
PORTER_INLINE inline void for_each_number(const MapShape& maps, const Term& term) {
  for (std::size_t at = 0; at < maps.size(); at += maps.channels)
    for (std::size_t c = 0; c < maps.channels; ++c) term(at + c, c);
}

/// The sum of each channel becomes the mean of its group.
template <class Real>
void sums_to_group_means(const Stage& stage, std::span<Real> sums) {
  const std::size_t width = stage.in.channels / stage.groups;
  const auto count = static_cast<Real>(stage.in.positions() * width);
  for (std::size_t first = 0; first < sums.size(); first += width) {
    const auto group = sums.subspan(first, width);
    Real sum = 0;
    for (const Real value : group) sum += value;
    std::fill(group.begin(), group.end(), sum / count);
  }
}

/// Sets `mean` and `inverse`.
template <class Real>
void measure_groups(const Stage& stage, std::span<const Real> maps, NormOfChannels<Real>& norm) {
  std::fill(norm.mean.begin(), norm.mean.end(), Real{0});
  std::fill(norm.inverse.begin(), norm.inverse.end(), Real{0});
  Real* __restrict mean = norm.mean.data();
  Real* __restrict inverse = norm.inverse.data();
  const Real* __restrict in = maps.data();
  with_vectors([=, &stage]<Width>() PORTER_INLINE {
    for_each_number(stage.in,
                    [=](std::size_t at, std::size_t c) PORTER_INLINE { mean[c] += in[at]; });
  });
  sums_to_group_means(stage, norm.mean);
  with_vectors([=, &stage]<Width>() PORTER_INLINE {
    for_each_number(stage.in, [=](std::size_t at, std::size_t c) PORTER_INLINE {
      const Real off = in[at] - mean[c];
      inverse[c] += off * off;
    });
  });
  sums_to_group_means(stage, norm.inverse);
  for (Real& variance : norm.inverse) variance = 1 / std::sqrt(variance + static_cast<Real>(1e-5));
}

template <class Real>
void normalise(const Stage& stage, std::span<const Real> x, std::span<const Real> maps,
               std::span<Real> out, std::vector<Real>& room) {
  NormOfChannels<Real> norm(stage.units(), room);
  measure_groups(stage, maps, norm);
  const Real* __restrict in = maps.data();
  const Real* __restrict mean = norm.mean.data();
  const Real* __restrict inverse = norm.inverse.data();
  const Real* __restrict s = stage.weights_of(x).data();
  const Real* __restrict b = stage.biases_of(x).data();
  Real* __restrict to = out.data();
  with_vectors([=, &stage]<Width>() PORTER_INLINE {
    for_each_number(stage.in, [=](std::size_t at, std::size_t c) PORTER_INLINE {
      to[at] = (1 + s[c]) * ((in[at] - mean[c]) * inverse[c]) + b[c];
    });
  });
}

/// Everything that the way back needs of each channel, of the derivatives by the outputs.
template <class Real>
NormOfChannels<Real> measure_derivatives(const Stage& stage, std::span<const Real> maps,
                                         std::span<const Real> above, std::vector<Real>& room) {
  NormOfChannels<Real> norm(stage.units(), room);
  measure_groups(stage, maps, norm);
  std::fill(norm.by_scale.begin(), norm.by_scale.end(), Real{0});
  std::fill(norm.by_shift.begin(), norm.by_shift.end(), Real{0});
  const Real* __restrict in = maps.data();
  const Real* __restrict due = above.data();
  const Real* __restrict mean = norm.mean.data();
  const Real* __restrict inverse = norm.inverse.data();
  Real* __restrict by_scale = norm.by_scale.data();
  Real* __restrict by_shift = norm.by_shift.data();
  with_vectors([=, &stage]<Width>() PORTER_INLINE {
    for_each_number(stage.in, [=](std::size_t at, std::size_t c) PORTER_INLINE {
      by_scale[c] += due[at] * ((in[at] - mean[c]) * inverse[c]);
      by_shift[c] += due[at];
    });
  });
  return norm;
}

/// Adds the derivatives by s and b to the gradient of the stage's own parameters.
template <class Real>
void add_norm_gradient(const Stage& stage, std::span<const Real> maps, std::span<const Real> above,
                       std::span<Real> gradient, std::vector<Real>& room) {
  const auto norm = measure_derivatives(stage, maps, above, room);
  for (std::size_t c = 0; c < stage.units(); ++c) {
    gradient[c] += norm.by_scale[c];
    gradient[stage.units() + c] += norm.by_shift[c];
  }
}

/// Adds to the derivatives by the inputs
///   inverse (t - mean of t - z mean of t z),   t = (1 + s_c) above,
/// the means those of groups: all numbers of a group move its mean and its variance.
template <class Real>
void add_norm_derivatives(const Stage& stage, std::span<const Real> x, std::span<const Real> maps,
                          std::span<const Real> above, std::span<Real> below,
                          std::vector<Real>& room) {
  auto norm = measure_derivatives(stage, maps, above, room);
  const auto scales = stage.weights_of(x);
  for (std::size_t c = 0; c < stage.units(); ++c) {
    norm.by_scale[c] *= 1 + scales[c];
    norm.by_shift[c] *= 1 + scales[c];
  }
  sums_to_group_means(stage, norm.by_scale);
  sums_to_group_means(stage, norm.by_shift);
  const Real* __restrict in = maps.data();
  const Real* __restrict due = above.data();
  const Real* __restrict s = scales.data();
  const Real* __restrict mean = norm.mean.data();
  const Real* __restrict inverse = norm.inverse.data();
  const Real* __restrict mean_tz = norm.by_scale.data();
  const Real* __restrict mean_t = norm.by_shift.data();
  Real* __restrict to = below.data();
  with_vectors([=, &stage]<Width>() PORTER_INLINE {
    for_each_number(stage.in, [=](std::size_t at, std::size_t c) PORTER_INLINE {
      const Real z = (in[at] - mean[c]) * inverse[c];
      to[at] += inverse[c] * ((1 + s[c]) * due[at] - mean_t[c] - z * mean_tz[c]);
    });
  });
}

}  // namespace porter
