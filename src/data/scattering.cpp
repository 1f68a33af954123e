// SPDX-License-Identifier: Apache-2.0
// Wavelet scattering (Bruna and Mallat, 2013): what is left of an image, smoothed, of its edges in
// each direction and size, and of the edges among those. Several images are computed side by side,
// so that a register holds the same pixel of each, and no sum goes over a register.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "core/exact_math.hpp"
#include "core/vector_math.hpp"
#include "core/vectors.hpp"
#include "image_features.hpp"

namespace porter {
namespace {

constexpr std::size_t kImages = 8;  // side by side
constexpr std::size_t kAngles = 8;  // of half a turn
constexpr std::size_t kChannels = 1 + 2 * kAngles + kAngles * kAngles;
constexpr std::size_t kStep = 4;    // pixels from one place that is kept to the next, along a side
constexpr std::size_t kMargin = 2;  // pixels, at least, between an image and its periodic copies
constexpr double kSmoothing = 1.6;  // deviation of the last filter, in pixels

std::size_t kept_places(std::size_t side) { return (side + kStep - 1) / kStep; }

template <std::size_t lanes>
PORTER_INLINE inline void load(const double* from, Register<double, lanes>& to) {
  std::memcpy(&to, from, sizeof(to));
}
template <std::size_t lanes>
PORTER_INLINE inline void store(const Register<double, lanes>& from, double* to) {
  std::memcpy(to, &from, sizeof(from));
}

// sin and cos of k / points of a turn, for the first half of them.
std::vector<SinCos> turns_of(std::size_t points) {
  std::vector<SinCos> turns;
  for (std::size_t k = 0; k < points / 2; ++k)
    turns.push_back(sincos_turn(static_cast<double>(k) / static_cast<double>(points)));
  return turns;
}

/// Complex numbers [rows][columns][kImages].
struct Plane {
  std::size_t rows, columns;
  std::vector<double> re, im;
  std::vector<SinCos> row_turns, column_turns;

  Plane(std::size_t row_count, std::size_t column_count)
      : rows(row_count),
        columns(column_count),
        re(row_count * column_count * kImages),
        im(re.size()),
        row_turns(turns_of(row_count)),
        column_turns(turns_of(column_count)) {}
};

// --- Fourier transforms: natural order forth, bits reversed in between, and back without a factor

struct Axis {
  std::size_t outer, points, inner;  // of an array [outer][points][inner]
};

// (a, b) <- (a + b, (a - b) conj(w)), or back: (a + b w, a - b w).
template <std::size_t lanes, bool back>
PORTER_INLINE inline void butterflies(double* re, double* im, std::size_t distance,
                                      std::size_t count, const SinCos& w) {
  using Vector = Register<double, lanes>;
  for (std::size_t i = 0; i < count; i += lanes) {
    Vector ar, ai, br, bi, x, y;
    load<lanes>(re + i, ar);
    load<lanes>(im + i, ai);
    load<lanes>(re + distance + i, br);
    load<lanes>(im + distance + i, bi);
    if constexpr (back) {
      x = br * w.cos - bi * w.sin;
      y = br * w.sin + bi * w.cos;
      br = ar - x;
      bi = ai - y;
      ar += x;
      ai += y;
    } else {
      x = ar - br;
      y = ai - bi;
      ar += br;
      ai += bi;
      br = x * w.cos + y * w.sin;
      bi = y * w.cos - x * w.sin;
    }
    store<lanes>(ar, re + i);
    store<lanes>(ai, im + i);
    store<lanes>(br, re + distance + i);
    store<lanes>(bi, im + distance + i);
  }
}

template <bool back>
void transform_axis(Plane& plane, const Axis& axis, const std::vector<SinCos>& turns) {
  with_vectors([&]<Width width>() PORTER_INLINE {
    const auto pass = [&](std::size_t length) PORTER_INLINE {
      const std::size_t half = length / 2;
      for (std::size_t start = 0; start < axis.outer * axis.points; start += length)
        for (std::size_t k = 0; k < half; ++k) {
          const std::size_t at = (start + k) * axis.inner;
          butterflies<width.lanes, back>(plane.re.data() + at, plane.im.data() + at,
                                         half * axis.inner, axis.inner,
                                         turns[k * (axis.points / length)]);
        }
    };
    if constexpr (back)
      for (std::size_t length = 2; length <= axis.points; length *= 2) pass(length);
    else
      for (std::size_t length = axis.points; length >= 2; length /= 2) pass(length);
  });
}

template <bool back>
void transform(Plane& plane) {
  transform_axis<back>(plane, {1, plane.rows, plane.columns * kImages}, plane.row_turns);
  transform_axis<back>(plane, {plane.rows, plane.columns, kImages}, plane.column_turns);
}

// --- filters

std::size_t reversed_bits(std::size_t value, std::size_t count) {
  std::size_t reversed = 0;
  for (std::size_t bit = 1; bit < count; bit *= 2) reversed = 2 * reversed + (value / bit) % 2;
  return reversed;
}

// The frequency at a place of a transform of so many points, in radians a pixel.
double frequency_at(std::size_t place, std::size_t points) {
  const auto k = static_cast<double>(reversed_bits(place, points));
  const auto n = static_cast<double>(points);
  return 2 * std::numbers::pi * (k < n / 2 ? k : k - n) / n;
}

/// A Gaussian of frequencies: around `centre` in the given direction, twice as narrow across it.
struct Bell {
  double deviation, centre;  ///< the deviation of its envelope in the image, in pixels
  SinCos direction;

  // Frequencies a whole turn apart are the same on the grid of pixels.
  double at(double y, double x) const {
    constexpr double kTurn = 2 * std::numbers::pi;
    double sum = 0;
    for (const double dy : {-kTurn, 0.0, kTurn})
      for (const double dx : {-kTurn, 0.0, kTurn}) {
        const double along = (x + dx) * direction.cos + (y + dy) * direction.sin - centre;
        const double across = 2 * ((y + dy) * direction.cos - (x + dx) * direction.sin);
        sum += exact_exp(-0.5 * (deviation * deviation) * (along * along + across * across));
      }
    return sum;
  }
};

// A Morlet wavelet of size 2^scale, which takes nothing from a constant; [rows][columns], divided
// by their number.
std::vector<double> wavelet(std::size_t rows, std::size_t columns, int scale,
                            std::size_t direction) {
  const double size = scale == 0 ? 1 : 2;
  const auto turn = sincos_turn(static_cast<double>(direction) / (2.0 * kAngles));
  const Bell wave{0.8 * size, 0.75 * std::numbers::pi / size, turn};
  const Bell envelope{wave.deviation, 0, turn};
  const double mean = wave.at(0, 0) / envelope.at(0, 0);
  std::vector<double> filter;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      const double y = frequency_at(row, rows), x = frequency_at(column, columns);
      filter.push_back((wave.at(y, x) - mean * envelope.at(y, x)) /
                       static_cast<double>(rows * columns));
    }
  return filter;
}

void multiply(const std::vector<double>& filter, const Plane& in, Plane& out) {
  with_vectors([&]<Width width>() PORTER_INLINE {
    Register<double, width.lanes> value;
    for (const auto& [from, to] : {std::pair(&in.re, &out.re), {&in.im, &out.im}})
      for (std::size_t at = 0; at < filter.size(); ++at)
        for (std::size_t i = at * kImages; i < (at + 1) * kImages; i += width) {
          load<width.lanes>(from->data() + i, value);
          value *= filter[at];
          store<width.lanes>(value, to->data() + i);
        }
  });
}

// The same at every second pixel of both sides, whose transform is the sum of the parts half a turn
// apart: neighbours, as bits are reversed.
void multiply_and_halve(const std::vector<double>& filter, const Plane& in, Plane& out) {
  with_vectors([&]<Width width>() PORTER_INLINE {
    Register<double, width.lanes> value, sum;
    for (const auto& [from, to] : {std::pair(&in.re, &out.re), {&in.im, &out.im}})
      for (std::size_t row = 0; row < out.rows; ++row)
        for (std::size_t column = 0; column < out.columns; ++column)
          for (std::size_t i = 0; i < kImages; i += width) {
            sum = Register<double, width.lanes>{};
            for (const std::size_t part : {0, 1, 2, 3}) {
              const auto at = (2 * row + part / 2) * in.columns + 2 * column + part % 2;
              load<width.lanes>(from->data() + at * kImages + i, value);
              sum += filter[at] * value;
            }
            store<width.lanes>(sum, to->data() + (row * out.columns + column) * kImages + i);
          }
  });
}

void take_modulus(Plane& plane) {
  with_vectors([re = plane.re.data(), im = plane.im.data(), count = plane.re.size()]<Width width>()
                   PORTER_INLINE {
                     for (std::size_t i = 0; i < count; i += width)
                       for (std::size_t lane = i; lane < i + width; ++lane) {
                         re[lane] = std::sqrt(re[lane] * re[lane] + im[lane] * im[lane]);
                         im[lane] = 0;
                       }
                   });
}

// --- smoothing

/// For each place that is kept, what the samples of a side count: [places][samples], each row with
/// the sum 1. Sample i is at pixel `spacing` i - `margin`; outside of the image it counts nothing.
std::vector<double> smoothing_weights(std::size_t side, std::size_t samples, double spacing,
                                      double margin) {
  const auto pixels = static_cast<double>(side);
  const auto places = kept_places(side);
  std::vector<double> weights(places * samples);
  for (std::size_t place = 0; place < places; ++place) {
    const double centre =
        (static_cast<double>(place) + 0.5) * pixels / static_cast<double>(places) - 0.5;
    const auto row = std::span(weights).subspan(place * samples, samples);
    double sum = 0;
    for (std::size_t i = 0; i < samples; ++i) {
      const double pixel = spacing * static_cast<double>(i) - margin;
      if (pixel < 0 || pixel > pixels - 1) continue;
      const double distance = (pixel - centre) / kSmoothing;
      sum += row[i] = exact_exp(-0.5 * (distance * distance));
    }
    for (double& weight : row) weight /= sum;
  }
  return weights;
}

// out = the weighted sum of `weights.size()` blocks of `size` numbers.
void weighted_sum(std::span<const double> weights, const double* blocks, std::size_t stride,
                  std::size_t size, double* out) {
  with_vectors([=]<Width width>() PORTER_INLINE {
    using Vector = Register<double, width.lanes>;
    for (std::size_t i = 0; i < size; i += width) {
      Vector sum{}, value;
      for (std::size_t block = 0; block < weights.size(); ++block) {
        load<width.lanes>(blocks + block * stride + i, value);
        sum += weights[block] * value;
      }
      store<width.lanes>(sum, out + i);
    }
  });
}

/// The smoothing filter at the places that are kept.
struct Smoothing {
  std::size_t rows, columns;  ///< places
  std::vector<double> down, across;

  // [rows][columns][kImages]
  void apply(const Plane& plane, std::vector<double>& scratch, double* out) const {
    const auto width = plane.columns * kImages;
    scratch.resize(width);
    for (std::size_t row = 0; row < rows; ++row) {
      weighted_sum(std::span(down).subspan(row * plane.rows, plane.rows), plane.re.data(), width,
                   width, scratch.data());
      for (std::size_t column = 0; column < columns; ++column)
        weighted_sum(std::span(across).subspan(column * plane.columns, plane.columns),
                     scratch.data(), kImages, kImages, out + (row * columns + column) * kImages);
    }
  }
};

// --- the whole

// Every channel counts alike, and how it changes from place to place, not how strong it is; but
// what is less than a thousandth of the rest is rounding, or next to nothing. A row has at most
// length 1.
void normalise(std::span<double> row, std::size_t places, std::span<float> out) {
  constexpr double kNothing = 1e-3;
  const auto size = static_cast<double>(row.size()), count = static_cast<double>(places);
  double squares = 0;
  for (const double value : row) squares += value * value;
  const double floor = squares == 0 ? 1 : kNothing * std::sqrt(squares / size);
  for (std::size_t first = 0; first < row.size(); first += places) {
    const auto channel = row.subspan(first, places);
    double sum = 0, variance = 0;
    for (const double value : channel) sum += value;
    for (double& value : channel) value -= sum / count;
    for (const double value : channel) variance += value * value / count;
    const double divisor = (std::sqrt(variance) + floor) * std::sqrt(size);
    for (std::size_t i = 0; i < places; ++i)
      out[first + i] = static_cast<float>(channel[i] / divisor);
  }
}

std::size_t mirrored(std::ptrdiff_t place, std::size_t side) {
  const auto last = static_cast<std::ptrdiff_t>(side) - 1;
  if (place < 0) place = -place;
  return static_cast<std::size_t>(place > last ? 2 * last - place : place);
}

class Scattering final : public ImageMap {
 public:
  explicit Scattering(const ImageShape& shape)
      : shape_(shape),
        rows_(std::bit_ceil(shape.height + 2 * kMargin)),
        columns_(std::bit_ceil(shape.width + 2 * kMargin)),
        top_((rows_ - shape.height) / 2),
        left_((columns_ - shape.width) / 2),
        fine_(smoothing(1)),
        coarse_(smoothing(2)) {
    for (std::size_t k = 0; k < kAngles; ++k) {
      small_.push_back(wavelet(rows_, columns_, 0, k));
      large_.push_back(wavelet(rows_, columns_, 1, k));
    }
  }

  void apply(std::span<const float> images, std::span<float> features) const override {
    Work work(*this);
    const auto count = images.size() / shape_.pixels(), size = features.size() / count;
    std::vector<double> row(size);
    for (std::size_t first = 0; first < count; first += kImages) {
      const auto batch = std::min(kImages, count - first);
      scatter(images.subspan(first * shape_.pixels(), batch * shape_.pixels()), work);
      for (std::size_t image = 0; image < batch; ++image) {
        for (std::size_t i = 0; i < size; ++i) row[i] = work.channels[i * kImages + image];
        normalise(row, places(), features.subspan((first + image) * size, size));
      }
    }
  }

 private:
  struct Work {
    Plane image, edges, halved;
    std::vector<double> scratch, channels;  // [kChannels][places][kImages]

    explicit Work(const Scattering& of)
        : image(of.rows_, of.columns_),
          edges(of.rows_, of.columns_),
          halved(of.rows_ / 2, of.columns_ / 2),
          channels(kChannels * of.places() * kImages) {}
  };

  std::size_t places() const { return fine_.rows * fine_.columns; }

  Smoothing smoothing(std::size_t spacing) const {
    const auto weights = [&](std::size_t side, std::size_t padded, std::size_t margin) {
      return smoothing_weights(side, padded / spacing, static_cast<double>(spacing),
                               static_cast<double>(margin));
    };
    return {kept_places(shape_.height), kept_places(shape_.width),
            weights(shape_.height, rows_, top_), weights(shape_.width, columns_, left_)};
  }

  void scatter(std::span<const float> images, Work& work) const {
    const auto channel = [&](std::size_t number) {
      return work.channels.data() + number * places() * kImages;
    };
    place(images, work.image);
    fine_.apply(work.image, work.scratch, channel(0));
    transform<false>(work.image);
    for (std::size_t k = 0; k < kAngles; ++k) {
      multiply(small_[k], work.image, work.edges);
      transform<true>(work.edges);
      take_modulus(work.edges);
      fine_.apply(work.edges, work.scratch, channel(1 + k));
      transform<false>(work.edges);
      large_edges(work.edges, work, channel(1 + (2 + k) * kAngles));
    }
    large_edges(work.image, work, channel(1 + kAngles));
  }

  // A channel for each direction.
  void large_edges(const Plane& transformed, Work& work, double* channels) const {
    for (const auto& filter : large_) {
      multiply_and_halve(filter, transformed, work.halved);
      transform<true>(work.halved);
      take_modulus(work.halved);
      coarse_.apply(work.halved, work.scratch, channels);
      channels += places() * kImages;
    }
  }

  // Mirrored at the borders; zeros where there are fewer than kImages.
  void place(std::span<const float> images, Plane& plane) const {
    std::ranges::fill(plane.re, 0.0);
    std::ranges::fill(plane.im, 0.0);
    const auto count = images.size() / shape_.pixels();
    for (std::size_t row = 0; row < rows_; ++row)
      for (std::size_t column = 0; column < columns_; ++column) {
        const auto y = mirrored(std::ptrdiff_t(row) - std::ptrdiff_t(top_), shape_.height);
        const auto x = mirrored(std::ptrdiff_t(column) - std::ptrdiff_t(left_), shape_.width);
        double* pixel = &plane.re[(row * columns_ + column) * kImages];
        for (std::size_t image = 0; image < count; ++image)
          pixel[image] = double{images[image * shape_.pixels() + y * shape_.width + x]};
      }
  }

  ImageShape shape_;
  std::size_t rows_, columns_, top_, left_;
  Smoothing fine_, coarse_;
  std::vector<std::vector<double>> small_, large_;
};

}  // namespace

std::size_t scattering_features(const ImageShape& shape) {
  return kChannels * kept_places(shape.height) * kept_places(shape.width);
}

std::unique_ptr<const ImageMap> make_scattering(const ImageShape& shape) {
  return std::make_unique<Scattering>(shape);
}

}  // namespace porter
