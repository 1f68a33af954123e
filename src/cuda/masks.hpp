// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "block.hpp"
#include "core/philox.hpp"
#include "core/sampling.hpp"

namespace porter::cuda {

/// choose(kept, size) of sampling.hpp, the same subset drawn in parallel. Floyd's draw i takes t_i
/// unless it is taken, else j_i = size - kept + i. What is taken before it is {t_h : h < i} and the
/// j_h of draws h < i that collided. So draw i collides iff t_i = t_h for some h < i, or t_i = j_h
/// with h < i and draw h collided: a chain of steps down, on average kept / size long.
///
/// Block (drawer, channel) writes the positions of message drawer * channels + channel, ascending,
/// and where those of each tile of `tile` positions, a multiple of 32, start. Block (drawer,
/// channel
/// + r channels) does so for round + r, drawn ahead: rounds have `slots` places that take turns.
struct MaskKernel {
  static constexpr int kThreads = 256;
  static constexpr int kBlocks = 4;
  static constexpr std::uint32_t kListed = 1024;  // 2^10: see slot_of
  static constexpr std::uint32_t kStretches = 256;
  static constexpr std::uint32_t kNone = ~0U;

  std::uint64_t seed;
  std::uint32_t use, round;  ///< use + channel is the Draw
  bool same_for_all;         ///< all draw what drawer 0 draws
  std::uint32_t size, kept, channels, tile, tiles;
  std::uint32_t *positions, *starts;
  std::uint32_t* scratch;  ///< words() per block, where they do not fit its own memory; else null
  std::uint16_t* low_halves = nullptr;  ///< of positions, which are not written then
  std::uint32_t drawers = 0, slots = 1;

  PORTER_DEVICE std::uint32_t bitmap_words() const { return (size + 31) / 32; }
  PORTER_DEVICE std::size_t words() const {
    return kept + 2 * std::size_t{bitmap_words()} + (kept + 31) / 32 + 2 * kListed + kStretches + 2;
  }
  std::size_t bytes() const { return words() * sizeof(std::uint32_t); }

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::uint32_t channel = block.y % channels, at_round = round + block.y / channels;
    const std::size_t message =
        (std::size_t{at_round % slots} * drawers + block.x) * channels + channel;
    const std::size_t in_launch =
        (std::size_t{block.y / channels} * drawers + block.x) * channels + channel;
    auto* const memory = scratch ? scratch + in_launch * words() : block.memory_as<std::uint32_t>();
    const auto maps = bitmap_words();
    Work w{.draws = memory,
           .bitmap = memory + kept,
           .contended = memory + kept + maps,
           .repeats = memory + kept + 2 * maps};
    w.keys = w.repeats + (kept + 31) / 32;
    w.firsts = w.keys + kListed;
    w.counts = w.firsts + kListed;
    w.rejected = w.counts + kStretches;
    w.crowded = w.rejected + 1;
    draw(block, w, {block.x, channel, at_round});
    find_collisions(block, w);
    write(block, w, message * kept, starts + message * (tiles + 1));
  }

 private:
  struct Work {
    std::uint32_t *draws, *bitmap, *contended, *repeats;
    std::uint32_t *keys = nullptr, *firsts = nullptr;  // of places that several draws hit
    std::uint32_t *counts = nullptr, *rejected = nullptr, *crowded = nullptr;
  };

  struct Stream {
    std::uint32_t drawer, channel, round;
  };
  /// Words 4 number, ..., 4 number + 3.
  PORTER_DEVICE auto words_at(const Stream& stream, std::uint32_t number) const {
    return philox_words_of(
        {number, stream.round, same_for_all ? 0 : stream.drawer, use + stream.channel},
        {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  }
  PORTER_DEVICE std::uint32_t word(const Stream& stream, std::uint32_t number) const {
    const auto words = words_at(stream, number / 4);
    return number % 4 == 0   ? words[0]
           : number % 4 == 1 ? words[1]
           : number % 4 == 2 ? words[2]
                             : words[3];
  }

  PORTER_DEVICE void draw(const Block& block, const Work& w, const Stream& stream) const {
    block.alone(2 * bitmap_words() + (kept + 31) / 32, [&](std::uint32_t i) { w.bitmap[i] = 0; });
    block.alone(2 * kListed, [&](std::uint32_t i) { w.keys[i] = kNone; });
    block.once([&] { *w.rejected = kNone; });
    block.each((kept + 3) / 4, [&](std::uint32_t quad) {
      const auto words = words_at(stream, quad);
      for (std::uint32_t n = 0; n < 4; ++n) {
        const std::uint32_t i = 4 * quad + n;
        if (i < kept && !draw_from(words[n], size - kept + i + 1, w.draws[i]))
          atomic_min(w.rejected, i);
      }
    });
    // A rejected word moves all later draws on by one word.
    for (std::uint32_t shift = 1; *w.rejected < kept; ++shift) {
      const std::uint32_t from = *w.rejected;
      block.each(0, [](std::uint32_t) {});  // all have read it
      block.once([&] { *w.rejected = kNone; });
      block.each(kept - from, [&](std::uint32_t offset) {
        const std::uint32_t i = from + offset;
        if (!draw_from(word(stream, i + shift), size - kept + i + 1, w.draws[i]))
          atomic_min(w.rejected, i);
      });
    }
  }

  PORTER_DEVICE static bool has(const std::uint32_t* bits, std::uint32_t i) {
    return (bits[i / 32] >> (i % 32) & 1) != 0;
  }
  PORTER_DEVICE static bool set(std::uint32_t* bits, std::uint32_t i) {
    const std::uint32_t bit = 1U << (i % 32);
    return (atomic_or(&bits[i / 32], bit) & bit) != 0;
  }
  /// The place of t in the table, which gets one where `insert`; kNone: it is full.
  PORTER_DEVICE static std::uint32_t slot_of(const Work& w, std::uint32_t t, bool insert) {
    std::uint32_t at = t * 2654435769U >> 22;
    PORTER_ROLLED
    for (std::uint32_t tries = 0; tries < kListed; ++tries, at = (at + 1) % kListed) {
      const auto old = insert ? atomic_swap_if(&w.keys[at], kNone, t) : w.keys[at];
      if (old == t || (insert && old == kNone)) return at;
    }
    return kNone;
  }

  PORTER_DEVICE void find_collisions(const Block& block, const Work& w) const {
    const std::uint32_t first = size - kept;
    block.once([&] { *w.crowded = std::uint64_t{kept} * kept > 512ULL * size ? 1 : 0; });
    block.each(kept, [&](std::uint32_t i) {
      if (set(w.bitmap, w.draws[i])) set(w.contended, w.draws[i]);
    });
    // Of the draws that hit one place the first takes it: found in a small hash table.
    if (*w.crowded == 0) {
      block.each(0, [](std::uint32_t) {});
      block.each(kept, [&](std::uint32_t i) {
        if (!has(w.contended, w.draws[i])) return;
        const auto slot = slot_of(w, w.draws[i], true);
        if (slot == kNone)
          *w.crowded = 1;
        else
          atomic_min(&w.firsts[slot], i);
      });
    }
    if (*w.crowded != 0) return one_after_the_other(block, w);
    block.each(kept, [&](std::uint32_t i) {
      if (has(w.contended, w.draws[i]) && w.firsts[slot_of(w, w.draws[i], false)] != i)
        set(w.repeats, i);
    });
    block.each(kept, [&](std::uint32_t i) {
      for (std::uint32_t at = i;;) {
        if (has(w.repeats, at)) {
          set(w.bitmap, first + i);
          return;
        }
        const auto t = w.draws[at];
        if (t < first || t >= first + at) return;
        at = t - first;
      }
    });
  }

  // More places are contended than the table has.
  PORTER_DEVICE void one_after_the_other(const Block& block, const Work& w) const {
    block.each(bitmap_words(), [&](std::uint32_t i) { w.bitmap[i] = 0; });
    block.once([&] {
      PORTER_ROLLED
      for (std::uint32_t i = 0; i < kept; ++i)
        if (set(w.bitmap, w.draws[i])) set(w.bitmap, size - kept + i);
    });
  }

  // The bits in order.
  PORTER_DEVICE void write(const Block& block, const Work& w, std::size_t first,
                           std::uint32_t* tile_starts) const {
    const auto maps = bitmap_words();
    const std::uint32_t per = (maps + kStretches - 1) / kStretches;
    const auto end_of = [=](std::uint32_t stretch) {
      return (stretch + 1) * per < maps ? (stretch + 1) * per : maps;
    };
    block.each(kStretches, [&](std::uint32_t s) {
      std::uint32_t count = 0;
      PORTER_ROLLED
      for (std::uint32_t i = s * per; i < end_of(s); ++i) count += ones(w.bitmap[i]);
      w.counts[s] = count;
    });
    // What is before a stretch: sums of kGroup counts first. The table is free by now.
    constexpr std::uint32_t kGroup = 16;
    block.each(kStretches / kGroup, [&](std::uint32_t g) {
      std::uint32_t sum = 0;
      for (std::uint32_t s = g * kGroup; s < (g + 1) * kGroup; ++s) sum += w.counts[s];
      w.keys[g] = sum;
    });
    block.each(kStretches, [&](std::uint32_t s) {
      std::uint32_t at = 0;
      PORTER_ROLLED
      for (std::uint32_t g = 0; g < s / kGroup; ++g) at += w.keys[g];
      PORTER_ROLLED
      for (std::uint32_t other = s / kGroup * kGroup; other < s; ++other) at += w.counts[other];
      PORTER_ROLLED
      for (std::uint32_t i = s * per; i < end_of(s); ++i) {
        if (32 * i % tile == 0) tile_starts[32 * i / tile] = at;
        PORTER_ROLLED
        for (std::uint32_t bits = w.bitmap[i]; bits != 0; bits &= bits - 1) {
          const std::uint32_t position = 32 * i + lowest_one(bits);
          if (low_halves)
            low_halves[first + at] = static_cast<std::uint16_t>(position);
          else
            positions[first + at] = position;
          ++at;
        }
      }
      if (s + 1 == kStretches) tile_starts[tiles] = kept;
    });
  }
};

}  // namespace porter::cuda
