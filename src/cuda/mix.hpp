// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/normal_pair.hpp"
#include "perceptron_sample.hpp"

namespace porter::cuda {

/// G of an agent before the noise, wherever it comes from.
template <class Real>
struct Gradient {
  enum class Kind {
    none,     ///< a further gossip step of a round
    factors,  ///< of one sample
    wide,     ///< rows in double, to be rounded when they are scaled
    own,      ///< rows of the state's type
  };
  Kind kind;
  SampleKernel<Real> sample;
  const double* wide;
  const Real* own;
  const double* scales;
  std::uint32_t stride;
  std::uint32_t per_input;  ///< see row_of

  /// What all entries of an agent share.
  struct View {
    double scale;
    std::size_t row;
    typename SampleKernel<Real>::View sample;
  };
  PORTER_DEVICE View of(std::size_t agent) const {
    View view{scales[agent], agent * stride, {}};
    if (kind == Kind::factors) view.sample = sample.view(agent);
    return view;
  }
  /// Entries j, which is even, and j + 1; zeros behind the last of `dim`.
  PORTER_DEVICE Pair<Real> pair(const View& view, std::uint32_t j, std::uint32_t dim) const {
    if (view.scale == 0 || j >= dim) return {};
    const bool both = j + 1 < dim;
    if (kind == Kind::own) {
      const auto scale = static_cast<Real>(view.scale);
      return {{scale * own[view.row + j], both ? scale * own[view.row + j + 1] : Real{0}}};
    }
    Pair<double> g{};
    if (kind == Kind::wide)
      g = {{wide[view.row + j], both ? wide[view.row + j + 1] : 0}};
    else if (both)
      g = sample.pair(view.sample, j);
    else
      g.at[0] = sample.at(view.sample, j);
    return {{static_cast<Real>(view.scale * g.at[0]),
             both ? static_cast<Real>(view.scale * g.at[1]) : Real{0}}};
  }

  /// Whether entries below `end` are products of a first layer and nothing else, two of a row side
  /// by side; and small enough for `row_of`.
  PORTER_DEVICE bool is_plain(std::uint32_t end, std::uint32_t dim) const {
    const auto& first = sample.net.layers[0];
    return kind == Kind::factors && !sample.sparse && !(sample.lambda > 0) &&
           end <= first.outputs * first.inputs && first.inputs % 2 == 0 &&
           std::uint64_t{dim} * first.inputs < std::uint64_t{1} << 32;
  }
  /// j / inputs without a division.
  PORTER_DEVICE std::uint32_t row_of(std::uint32_t j) const {
    return static_cast<std::uint32_t>(std::uint64_t{j} * per_input >> 32);
  }
  static std::uint32_t per_input_of(std::uint32_t inputs) {
    return inputs < 2 ? 0 : static_cast<std::uint32_t>((std::uint64_t{1} << 32) / inputs + 1);
  }
  /// Entries j and j + 1 of those, first what they are made of.
  struct Loaded {
    double delta;
    Pair<float> input;
  };
  PORTER_DEVICE Loaded load(const View& view, std::uint32_t j) const {
    const std::uint32_t o = row_of(j), i = j - o * sample.net.layers[0].inputs;
    return {view.sample.deltas[o], load_pair(view.sample.input + i)};
  }
  PORTER_DEVICE Pair<Real> made_of(const View& view, const Loaded& loaded) const {
    if (view.scale == 0) return {};  // what is left out may be NaN
    const auto& [delta, input] = loaded;
    return {{static_cast<Real>(view.scale * (delta * double{input.at[0]})),
             static_cast<Real>(view.scale * (delta * double{input.at[1]}))}};
  }

  PORTER_DEVICE Real at(std::size_t agent, std::uint32_t j) const {
    const double scale = scales[agent];
    if (scale == 0) return 0;  // what is left out may be NaN
    if (kind == Kind::factors) return static_cast<Real>(scale * sample.at(agent, j));
    if (kind == Kind::wide) return static_cast<Real>(scale * wide[agent * stride + j]);
    return static_cast<Real>(scale) * own[agent * stride + j];
  }
};

/// The numbers of block 16 g + q of a noise stream: 64 g + 2 q + {0, 1}, and 32 further on.
struct NoiseQuad {
  float at[4];
};
// Pairs whose radius word is so small that it leaves few bits to its logarithm.
PORTER_DEVICE PORTER_RARE inline void refine_noise(std::uint64_t seed, std::uint32_t agent,
                                                   std::uint32_t round, std::uint32_t block,
                                                   NormalPair& first, NormalPair& second) {
  constexpr auto kUse = static_cast<std::uint32_t>(Draw::noise);
  const auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  const auto words = philox_words_of({block, round, agent, kUse}, {key0, key1});
  const auto more = philox_words_of({block | kRefinementBlock, round, agent, kUse}, {key0, key1});
  if (words[0] < kRefineBelow)
    first = refined_pair(words[0], words[1], join_words(more[0], more[1]));
  if (words[2] < kRefineBelow)
    second = refined_pair(words[2], words[3], join_words(more[2], more[3]));
}
PORTER_DEVICE inline NoiseQuad noise_quad(std::uint64_t seed, std::uint32_t agent,
                                          std::uint32_t round, std::uint32_t block) {
  constexpr auto kUse = static_cast<std::uint32_t>(Draw::noise);
  const auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  const auto words = philox_words_of({block, round, agent, kUse}, {key0, key1});
  NormalPair first = plain_pair(words[0], words[1]), second = plain_pair(words[2], words[3]);
  if (words[0] < kRefineBelow || words[2] < kRefineBelow)
    refine_noise(seed, agent, round, block, first, second);
  return {{first.cosine, second.cosine, first.sine, second.sine}};
}

}  // namespace porter::cuda
