// SPDX-License-Identifier: Apache-2.0
// The compressors of src/compress: the same words of the same streams, sums in the same order, the
// same roundings. Block (agent, channel) makes the vector of that agent and channel.
#pragma once

#include <cmath>

#include "core/philox.hpp"
#include "mail.hpp"

namespace porter::cuda {

inline constexpr std::uint32_t kChecksumBytes = 4;

/// The public stream that a vector's compressor draws from.
struct MailStream {
  std::uint64_t seed;
  std::uint32_t use, step;  ///< use + channel is the Draw
  bool same_for_all;        ///< all draw what agent 0 draws

  /// The two words of uniform number i.
  struct Words {
    std::uint32_t low, high;
  };
  PORTER_DEVICE Words uniform(const Block& block, std::uint32_t i) const {
    const auto words =
        philox_words_of({i / 2, step, same_for_all ? 0 : block.x, use + block.y},
                        {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    return i % 2 == 0 ? Words{words[0], words[1]} : Words{words[2], words[3]};
  }
};

/// Sums as floats.hpp has them: sixteen that take turns, then halves.
inline constexpr std::uint32_t kFormatLanes = 16;
inline constexpr std::size_t kFormatBytes = (kSumTile + kFormatLanes) * sizeof(double);
template <class Term>
PORTER_DEVICE double format_sum(const Block& block, double* memory, std::uint32_t size,
                                const Term& term) {
  double* const sums = memory + kSumTile;
  block.each(kFormatLanes, [&](std::uint32_t lane) { sums[lane] = 0; });
  for (std::uint32_t first = 0; first < size; first += kSumTile) {
    const std::uint32_t count = size - first < kSumTile ? size - first : kSumTile;
    block.each(count, [&](std::uint32_t i) { memory[i] = term(first + i); });
    block.each(kFormatLanes, [&](std::uint32_t lane) {
      double sum = sums[lane];
      for (std::uint32_t i = lane; i < count; i += kFormatLanes) sum += memory[i];
      sums[lane] = sum;
    });
  }
  for (std::uint32_t half = kFormatLanes / 2; half > 0; half /= 2)
    block.each(half, [&](std::uint32_t lane) { sums[lane] += sums[lane + half]; });
  const double sum = sums[0];
  block.each(0, [](std::uint32_t) {});  // all have read it before it is used again
  return sum;
}

/// Writes positions[n] = i and calls take(n, i) for the n-th i < size that is kept, ascending, and
/// where the positions of each tile start. class_of(i): 0 is left out, 1 is kept, and of those of
/// class 2 the first `ties` are. `memory` has room for kCompactWords.
inline constexpr std::uint32_t kStretches = 256, kCompactWords = 2 * kStretches + 1;
struct Compaction {
  std::uint32_t size, tile, tiles, ties;
  std::uint32_t *positions, *starts, *memory;

  template <class ClassOf, class Take>
  PORTER_DEVICE void run(const Block& block, const ClassOf& class_of, const Take& take) const {
    const std::uint32_t per = (size + kStretches - 1) / kStretches;
    const auto end_of = [=, all = size](std::uint32_t s) {
      return (s + 1) * per < all ? (s + 1) * per : all;
    };
    block.each(kStretches, [&](std::uint32_t s) {
      std::uint32_t counts[3] = {};
      for (std::uint32_t i = s * per; i < end_of(s); ++i) ++counts[class_of(i)];
      memory[2 * s] = counts[1];
      memory[2 * s + 1] = counts[2];
    });
    block.once([&] {
      std::uint32_t sure = 0, tied = 0;
      for (std::uint32_t s = 0; s < kStretches; ++s) {
        const auto more_sure = memory[2 * s], more_tied = memory[2 * s + 1];
        memory[2 * s] = sure;
        memory[2 * s + 1] = tied;
        sure += more_sure;
        tied += more_tied;
      }
      starts[tiles] = sure + (tied < ties ? tied : ties);
    });
    block.each(kStretches, [&](std::uint32_t s) {
      std::uint32_t tied = memory[2 * s + 1];
      std::uint32_t at = memory[2 * s] + (tied < ties ? tied : ties);
      for (std::uint32_t i = s * per; i < end_of(s); ++i) {
        if (i % tile == 0) starts[i / tile] = at;
        const auto kind = class_of(i);
        const bool kept = kind == 1 || (kind == 2 && tied < ties);
        if (kind == 2) ++tied;
        if (!kept) continue;
        positions[at] = i;
        take(at++, i);
      }
    });
  }
};

/// bernoulli: the positions.
struct BernoulliKernel {
  static constexpr int kThreads = 256;
  static constexpr std::size_t kBytes = kCompactWords * sizeof(std::uint32_t);

  MailStream stream;
  std::int64_t limit;  ///< p 2^53, rounded up
  std::uint32_t size, tile, tiles, channels;
  std::uint32_t *positions, *starts;  ///< of all vectors; `size` positions each
  std::uint32_t* bitmaps;             ///< a bit for each entry

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t number = std::size_t{block.x} * channels + block.y;
    const std::uint32_t words = (size + 31) / 32;
    std::uint32_t* const bitmap = bitmaps + number * words;
    block.each(words, [&](std::uint32_t w) {
      const std::uint32_t count = size - 32 * w < 32 ? size - 32 * w : 32;
      std::uint32_t bits = 0;
      for (std::uint32_t i = 0; i < count; ++i) {
        const auto u = stream.uniform(block, 32 * w + i);
        bits |= (is_kept(u.low, u.high, limit) ? 1U : 0U) << i;
      }
      bitmap[w] = bits;
    });
    const Compaction compaction{size,
                                tile,
                                tiles,
                                0,
                                positions + number * size,
                                starts + number * (tiles + 1),
                                block.memory_as<std::uint32_t>()};
    compaction.run(
        block, [&](std::uint32_t i) { return bitmap[i / 32] >> (i % 32) & 1; },
        [](std::uint32_t, std::uint32_t) {});
  }
};

/// random_k, bernoulli and sweeps: the entries at positions that are there already.
template <class Source>
struct GatherKernel {
  static constexpr int kThreads = 256;
  static constexpr std::size_t kBytes = kSumBytes;

  Mail mail;
  MailReport report;
  Source source;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t number = mail.number(block.x, block.y);
    const auto* positions = mail.positions_of(number);
    const std::uint32_t count = mail.count_of(number);
    float* const values = mail.values_of(number);
    report.start(block, number);
    block.each(count, [&](std::uint32_t i) {
      values[i] = source.value(block.y, block.x, positions[i]);
      report.look_at(number, positions[i], values[i]);
      source.sent(block.y, block.x, positions[i], values[i]);
    });
    if (!report.finite(block, number)) return;
    report.finish(block, block.memory_as<double>(), number, block.y, values, count,
                  4 * count + kChecksumBytes);
  }
};

/// Those that send all entries.
enum class DenseCode { identity, sign, levels, natural };
template <class Source>
struct DenseKernel {
  static constexpr int kThreads = 512;
  static constexpr std::size_t kBytes = kFormatBytes;

  Mail mail;
  MailReport report;
  Source source;
  MailStream stream;
  DenseCode code;
  std::int32_t top;       ///< of levels
  double divisor;         ///< of what they stand for
  std::uint32_t payload;  ///< bytes of a vector

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t number = mail.number(block.x, block.y);
    const std::uint32_t size = mail.room;
    float* const x = mail.values_of(number);
    auto* const memory = block.memory_as<double>();
    report.start(block, number);
    block.each(size, [&](std::uint32_t j) {
      x[j] = source.value(block.y, block.x, j);
      report.look_at(number, j, x[j]);
    });
    if (!report.finite(block, number)) return;
    const bool coded = code == DenseCode::sign      ? put_signs(block, memory, number, x)
                       : code == DenseCode::levels  ? put_levels(block, memory, number, x)
                       : code == DenseCode::natural ? put_powers(block, number, x)
                                                    : true;
    if (!coded) return;
    block.each(size, [&](std::uint32_t j) { source.sent(block.y, block.x, j, x[j]); });
    report.finish(block, memory, number, block.y, x, size, payload);
  }

 private:
  PORTER_DEVICE bool put_signs(const Block& block, double* memory, std::size_t number,
                               float* x) const {
    const double mean = format_sum(block, memory, mail.room,
                                   [&](std::uint32_t j) { return std::abs(double{x[j]}); }) /
                        static_cast<double>(mail.room);
    if (!report.fits(block, number, mean)) return false;
    const auto scale = static_cast<float>(mean);
    block.each(mail.room, [&](std::uint32_t j) { x[j] = x[j] < 0 && scale > 0 ? -scale : scale; });
    return true;
  }

  PORTER_DEVICE bool put_levels(const Block& block, double* memory, std::size_t number,
                                float* x) const {
    const double exact = std::sqrt(format_sum(
        block, memory, mail.room, [&](std::uint32_t j) { return double{x[j]} * double{x[j]}; }));
    if (!report.fits(block, number, exact)) return false;
    auto rounded = static_cast<float>(exact);
    if (double{rounded} < exact)  // the next one that is not smaller
      rounded = std::bit_cast<float>(std::bit_cast<std::uint32_t>(rounded) + 1);
    const double norm = rounded;
    block.each(mail.room, [&](std::uint32_t j) {
      std::uint32_t level = 0;
      if (norm > 0) {
        const auto u = stream.uniform(block, j);
        level = level_code(x[j], norm, top, u.low, u.high);
      }
      x[j] = level_value(level, norm, top, divisor);
    });
    return true;
  }

  PORTER_DEVICE bool put_powers(const Block& block, std::size_t number, float* x) const {
    auto* const largest = block.memory_as<std::uint32_t>();  // complemented
    block.once([&] { *largest = ~0U; });
    block.each(mail.room, [&](std::uint32_t j) {
      if (magnitude_bits(x[j]) > kNaturalTop) atomic_min(largest, ~magnitude_bits(x[j]));
    });
    const auto found = std::bit_cast<float>(~*largest);
    block.each(0, [](std::uint32_t) {});  // all have read it
    if (!report.fits(block, number, double{found}, double{std::bit_cast<float>(kNaturalTop)}))
      return false;
    block.each(mail.room, [&](std::uint32_t j) {
      x[j] = natural_value(natural_code(x[j], stream.uniform(block, j).high));
    });
    return true;
  }
};

/// top_k: of equal magnitudes the smaller position comes first.
template <class Source>
struct TopKernel {
  static constexpr int kThreads = 512;
  static constexpr std::uint32_t kDigits = 256;  ///< of 8 bits
  static constexpr std::size_t kBytes = kSumBytes;
  static_assert(kBytes >= (kDigits + kCompactWords + 3) * sizeof(std::uint32_t));

  Mail mail;
  MailReport report;
  Source source;
  std::uint32_t size, tile;
  std::uint32_t *positions, *starts;  ///< as the mail has them
  float* differences;                 ///< `size` of each vector

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t number = mail.number(block.x, block.y);
    float* const x = differences + number * size;
    report.start(block, number);
    block.each(size, [&](std::uint32_t j) {
      x[j] = source.value(block.y, block.x, j);
      report.look_at(number, j, x[j]);
    });
    if (!report.finite(block, number)) return;
    auto* const memory = block.memory_as<std::uint32_t>();
    const Selection selected = select(block, memory, x);
    float* const values = mail.values_of(number);
    std::uint32_t* const at = positions + number * mail.room;
    const Compaction compaction{
        size, tile, mail.tiles, selected.ties, at, starts + number * (mail.tiles + 1), memory};
    compaction.run(
        block,
        [&](std::uint32_t j) -> std::uint32_t {
          const auto m = magnitude_bits(x[j]);
          return m > selected.threshold ? 1 : m == selected.threshold ? 2 : 0;
        },
        [&](std::uint32_t n, std::uint32_t j) {
          values[n] = x[j];
          source.sent(block.y, block.x, j, x[j]);
        });
    // Positions travel as distances, seven bits a byte.
    block.once([&] { *memory = 0; });
    block.each(mail.room, [&](std::uint32_t n) {
      std::uint32_t length = 1;
      for (auto gap = n == 0 ? at[0] : at[n] - at[n - 1] - 1; gap >= 0x80; gap >>= 7) ++length;
      atomic_add(memory, length);
    });
    const std::uint32_t distances = *memory;
    block.each(0, [](std::uint32_t) {});  // all have read it
    report.finish(block, block.memory_as<double>(), number, block.y, values, mail.room,
                  distances + 4 * mail.room + kChecksumBytes);
  }

 private:
  struct Selection {
    std::uint32_t threshold, ties;  ///< the k-th magnitude; how many that equal it are kept
  };

  // Digit by digit from the top, each from the histogram of those that share the digits before.
  PORTER_DEVICE Selection select(const Block& block, std::uint32_t* memory, const float* x) const {
    std::uint32_t* const result = memory + kDigits;
    block.once([&] {
      result[0] = 0;          // the digits so far
      result[1] = mail.room;  // how many are wanted of those that share them
    });
    for (int shift = 24; shift >= 0; shift -= 8) {
      block.each(kDigits, [&](std::uint32_t digit) { memory[digit] = 0; });
      const std::uint32_t prefix = result[0];
      block.each(size, [&](std::uint32_t j) {
        const auto m = magnitude_bits(x[j]);
        if (shift == 24 || m >> (shift + 8) == prefix >> (shift + 8))
          atomic_add(&memory[m >> shift & (kDigits - 1)], 1);
      });
      block.once([&] {
        std::uint32_t digit = kDigits - 1, wanted = result[1];
        for (; memory[digit] < wanted; --digit) wanted -= memory[digit];
        result[0] = prefix | digit << shift;
        result[1] = wanted;
      });
    }
    const Selection selection{result[0], result[1]};
    block.each(0, [](std::uint32_t) {});  // all have read it
    return selection;
  }
};

}  // namespace porter::cuda
