// SPDX-License-Identifier: Apache-2.0
// Layers over images: convolutions, pools, group norms, dense layers, each with an activation
// behind it or none. Between layers are maps, height x width x channels, channels next to each
// other, so that a window of a map is a few runs of numbers; a dense layer takes all of them in
// this order.
//   convolution   out(y, x, o) = b_o + sum_{i, j, c} W(o, i, j, c) in(y s + i - p, x s + j - p, c),
//                 where what lies outside is 0
//   maxpool       the largest number of a window, channel by channel; of equal ones the first, row
//                 by row, has the derivative
//   avgpool       their mean
//   groupnorm     group_norm.hpp has it
// x = vec(W_1, b_1, ..., W_L, b_L) of the layers that have parameters; the last is dense and has a
// score for each class or target.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "porter/data/image.hpp"
#include "porter/model/model.hpp"

namespace porter {

/// The extents of what travels between layers.
struct MapShape {
  std::size_t height = 1, width = 1, channels = 1;

  std::size_t positions() const { return height * width; }
  std::size_t size() const { return positions() * channels; }
};

/// What slides over maps: square, `stride` apart, beginning `padding` outside.
struct Window {
  std::size_t kernel = 1, stride = 1, padding = 0;

  std::size_t area() const { return kernel * kernel; }
};

enum class StageKind { dense, convolution, max_pool, average_pool, group_norm };

/// One layer and the activation behind it.
struct Stage {
  StageKind kind = StageKind::dense;
  MapShape in = {}, out = {};
  Window window = {};
  std::size_t groups = 1;  ///< of channels, of a group norm
  std::optional<Activation> activation = {};
  /// Where W (units x inputs, row-major), or the scales of a group norm, and b are in x.
  std::size_t weights = 0, biases = 0;

  /// Whether its units are sums of weights times inputs.
  bool has_weights() const { return kind == StageKind::dense || kind == StageKind::convolution; }
  bool has_parameters() const { return has_weights() || kind == StageKind::group_norm; }
  std::size_t units() const { return out.channels; }
  /// Of a unit at one position.
  std::size_t inputs() const {
    if (kind == StageKind::group_norm) return 1;
    return kind == StageKind::dense ? in.size() : window.area() * in.channels;
  }
  std::size_t parameters() const { return has_parameters() ? units() * (inputs() + 1) : 0; }

  template <class T>
  std::span<T> weights_of(std::span<T> x) const {
    return x.subspan(weights, units() * inputs());
  }
  template <class T>
  std::span<T> biases_of(std::span<T> x) const {
    return x.subspan(biases, units());
  }
  /// Both: biases lie behind the weights.
  template <class T>
  std::span<T> parameters_of(std::span<T> x) const {
    return x.subspan(weights, parameters());
  }
};

struct LayerStack {
  std::vector<Stage> stages;
  std::size_t dim = 0;
  std::size_t numbers = 0;  ///< of a sample behind all layers

  /// Of specs as check_layers knows them, then a dense layer for the scores. Error{usage} names
  /// the layer that does not fit what is below it.
  LayerStack(const std::vector<std::string>& specs, const ImageShape& image, std::size_t scores);

  const MapShape& input() const { return stages.front().in; }

 private:
  void add(Stage stage);
  void add(const Activation& activation);
};

/// The stack of a model that takes images. Error{usage} where their shape is not known, or is not
/// that of `features` pixels.
LayerStack stack_of(const ModelOptions& options, std::size_t features, std::size_t scores);

}  // namespace porter
