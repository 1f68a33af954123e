// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "core/sampling.hpp"

namespace porter {

/// Fills the bytes with fresh entropy; false, with errno set, where there is none.
using EntropySource = bool (*)(std::span<std::byte> out);

/// getrandom(2): waits until the kernel's generator is seeded.
bool system_entropy(std::span<std::byte> out);

/// Overwrites them with zeros, also where nobody reads them again.
void erase_bytes(std::span<std::byte> bytes);

/// So many bytes that are overwritten when they are given up, and are in one place only.
template <std::size_t Size>
class SecretBytes {
 public:
  SecretBytes() = default;
  ~SecretBytes() { erase_bytes(bytes_); }
  SecretBytes(SecretBytes&& other) noexcept : bytes_(other.bytes_) { erase_bytes(other.bytes_); }
  SecretBytes& operator=(SecretBytes&& other) noexcept {
    if (this != &other) {
      bytes_ = other.bytes_;
      erase_bytes(other.bytes_);
    }
    return *this;
  }

  std::span<std::byte, Size> bytes() { return bytes_; }
  std::span<const std::byte, Size> bytes() const { return bytes_; }

 private:
  std::array<std::byte, Size> bytes_{};
};

/// What a stream that two agents share is drawn from: key and counter of its cipher.
using StreamKey = SecretBytes<48>;

/// The engine of the secret streams: AES-256 in counter mode, keyed by the entropy source. After
/// every block of words the next key comes from the key stream itself and the old one is erased
/// (fast key erasure), and words are erased as they are handed out, so what lies in memory does not
/// tell earlier words.
/// The words lie in a page that a fork wipes: a child finds it empty and draws a key of its own.
class SecretWords {
 public:
  /// Error{privacy} where the entropy or the wiped page cannot be had.
  explicit SecretWords(EntropySource entropy);
  /// The same key gives the same words. A forked child cannot go on with them: Error{privacy}.
  explicit SecretWords(StreamKey key);
  ~SecretWords();
  SecretWords(SecretWords&&) noexcept;
  SecretWords& operator=(SecretWords&&) noexcept;

  std::uint64_t next() {
    if (block_->left == 0) refill();
    return std::exchange(block_->words[kWords - block_->left--], 0);
  }
  /// The words of as many calls of next().
  void fill(std::span<std::uint64_t> out);

 private:
  static constexpr std::size_t kWords = 2040, kKeyWords = 6;  // with the counts, four pages
  struct Block {
    std::uint64_t keyed, left;  // zero, as everything here, in a child process
    std::array<std::uint64_t, kWords + kKeyWords> words;
  };
  struct UnmapBlock {
    void operator()(Block* block) const;
  };
  struct Cipher;

  static Block* map_block();
  void refill();

  EntropySource entropy_;  // null where a key was given
  std::unique_ptr<Cipher> cipher_;
  std::unique_ptr<Block, UnmapBlock> block_;
};

/// Random numbers that nobody else can know or replay: no seed, no copy, never inherited over fork;
/// but for those that are drawn from a key which two agents have agreed on (pair_secret.hpp).
/// One stream per agent and purpose, used by one thread at a time. Streams of different purposes do
/// not convert into each other, and none converts from or to the public RngStream.
template <class Purpose>
class SecretStream {
 public:
  /// Another source than the operating system is for tests.
  explicit SecretStream(EntropySource entropy = system_entropy) : words_(entropy) {}
  explicit SecretStream(StreamKey key) : words_(std::move(key)) {}

  std::uint64_t next_u64() { return words_.next(); }
  /// The words of as many calls of next_u64().
  void fill(std::span<std::uint64_t> out) { words_.fill(out); }
  /// 32-bit words; every two are the halves of one 64-bit word, the low one first.
  void fill_words(std::span<std::uint32_t> out) {
    for (std::size_t i = 0; i < out.size(); i += 2) {
      const std::uint64_t word = next_u64();
      out[i] = static_cast<std::uint32_t>(word);
      if (i + 1 < out.size()) out[i + 1] = static_cast<std::uint32_t>(word >> 32);
    }
  }
  /// Uniform on [0, 1), 53 random bits.
  double uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }
  /// Uniform on {0, ..., bound - 1} by rejection; bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    return word_below(bound, [this] { return next_u64(); });
  }

 private:
  SecretWords words_;
};

/// The noise that protects a gradient.
using NoiseStream = SecretStream<struct NoisePurpose>;
/// Which records a batch takes: as secret as the noise, or sampling amplifies nothing.
using SamplingStream = SecretStream<struct SamplingPurpose>;

}  // namespace porter
