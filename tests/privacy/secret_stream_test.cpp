// SPDX-License-Identifier: Apache-2.0
#include "privacy/secret_stream.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <set>
#include <type_traits>
#include <vector>

#include "chi_square.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "secret_entropy.hpp"

namespace porter {
namespace {

template <class From, class To>
constexpr bool kConverts = std::is_convertible_v<From, To> || std::is_constructible_v<To, From> ||
                           std::is_constructible_v<To, From&> || std::is_assignable_v<To&, From>;
static_assert(!kConverts<NoiseStream, SamplingStream> && !kConverts<SamplingStream, NoiseStream>);
static_assert(!kConverts<NoiseStream, RngStream> && !kConverts<RngStream, NoiseStream>);
static_assert(!kConverts<SamplingStream, RngStream> && !kConverts<RngStream, SamplingStream>);
static_assert(!kConverts<std::uint64_t, NoiseStream>, "there is no seed");
static_assert(!std::is_copy_constructible_v<NoiseStream> && !std::is_copy_assignable_v<NoiseStream>,
              "a copy would be the same noise twice");
static_assert(std::is_nothrow_move_constructible_v<NoiseStream>);

constexpr std::size_t kBlockWords = 2040;

std::vector<std::uint64_t> draw(NoiseStream& stream, std::size_t count) {
  std::vector<std::uint64_t> words(count);
  for (auto& word : words) word = stream.next_u64();
  return words;
}

// NIST SP 800-38A, F.5.5: the key, the first counter block and the first two output blocks.
bool nist_entropy(std::span<std::byte> out) {
  static constexpr unsigned char kKeyAndCounter[] = {
      0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae, 0xf0,
      0x85, 0x7d, 0x77, 0x81, 0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61, 0x08, 0xd7,
      0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4, 0xf0, 0xf1, 0xf2, 0xf3,
      0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff};
  if (out.size() != sizeof kKeyAndCounter) return false;
  std::copy(std::begin(kKeyAndCounter), std::end(kKeyAndCounter),
            reinterpret_cast<unsigned char*>(out.data()));
  return true;
}

TEST(SecretStream, IsAes256InCounterMode) {
  NoiseStream stream(nist_entropy);
  EXPECT_EQ(draw(stream, 4), (std::vector<std::uint64_t>{0x33161759f17ddf0b, 0x02c560c8158b9a5e,
                                                         0x061961539d696e5a, 0x947b658f3c863354}));
}

TEST(SecretStream, ManyWordsAtATimeAreTheSameWords) {
  NoiseStream one_by_one(fixed_entropy), many(fixed_entropy);
  std::vector<std::uint64_t> words;
  for (const std::size_t count : {0, 1, 256, 2000, 5000, 3}) {
    std::vector<std::uint64_t> part(count);
    many.fill(part);
    words.insert(words.end(), part.begin(), part.end());
    words.push_back(many.next_u64());
  }
  EXPECT_EQ(words, draw(one_by_one, words.size()));
}

TEST(SecretStream, NeverRepeatsABlock) {
  NoiseStream stream(fixed_entropy);
  const auto words = draw(stream, 5 * kBlockWords);
  EXPECT_EQ(std::set<std::uint64_t>(words.begin(), words.end()).size(), words.size());
}

TEST(SecretStream, TwoStreamsDiffer) {
  NoiseStream a, b;
  SamplingStream c;
  const auto first = a.next_u64();
  EXPECT_NE(first, b.next_u64());
  EXPECT_NE(first, c.next_u64());
}

TEST(SecretStream, GoesOnAfterAMove) {
  NoiseStream whole(fixed_entropy), start(fixed_entropy);
  const auto expected = draw(whole, 20);
  auto moved_words = draw(start, 10);
  NoiseStream moved(std::move(start));
  const auto rest = draw(moved, 10);
  moved_words.insert(moved_words.end(), rest.begin(), rest.end());
  EXPECT_EQ(moved_words, expected);
}

// Whether memory that a fork wipes holds the word.
bool is_in_memory(std::uint64_t word) {
  std::ifstream maps("/proc/self/smaps");
  const std::uint64_t *first = nullptr, *last = nullptr;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
      first = reinterpret_cast<const std::uint64_t*>(begin);
      last = reinterpret_cast<const std::uint64_t*>(end);
    }
    const bool wiped = line.starts_with("VmFlags:") && line.find(" wf") != line.npos;
    if (wiped && std::find(first, last, word) != last) return true;
  }
  return false;
}

TEST(SecretStream, ForgetsTheWordsThatItHasHandedOut) {
  NoiseStream reference(fixed_entropy);
  const auto words = draw(reference, 20);
  NoiseStream stream(fixed_entropy);
  reference = NoiseStream();
  EXPECT_TRUE(is_in_memory(words[0]));
  EXPECT_EQ(draw(stream, 10).back(), words[9]);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_FALSE(is_in_memory(words[i])) << i;
  EXPECT_TRUE(is_in_memory(words[10]));
  std::vector<std::uint64_t> many(9);
  stream.fill(many);
  for (std::size_t i = 10; i < 19; ++i) EXPECT_FALSE(is_in_memory(words[i])) << i;
  EXPECT_TRUE(is_in_memory(words[19]));
}

// The words that a forked child draws from the stream; empty if that ended in Error{privacy}.
std::vector<std::uint64_t> drawn_by_child(NoiseStream& stream, std::size_t count) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      const auto words = draw(stream, count);
      const auto bytes = std::as_bytes(std::span(words));
      ::_exit(::write(ends[1], bytes.data(), bytes.size()) == ssize_t(bytes.size()) ? 0 : 1);
    } catch (const Error& error) {
      ::_exit(error.kind() == ErrorKind::privacy ? 0 : 1);
    }
  }
  ::close(ends[1]);
  std::vector<std::uint64_t> words;
  for (std::uint64_t word; ::read(ends[0], &word, sizeof word) == sizeof word;)
    words.push_back(word);
  ::close(ends[0]);
  int status = 1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return words;
}

TEST(SecretStream, AChildNeverRepeatsItsParentOrSibling) {
  NoiseStream stream;
  draw(stream, 100);
  // More than a block, so that the child's own next key is in it; less than a pipe holds.
  const std::size_t count = 3000;
  const auto first = drawn_by_child(stream, count), second = drawn_by_child(stream, count);
  ASSERT_EQ(first.size(), count);
  ASSERT_EQ(second.size(), count);
  const auto parent = draw(stream, count);
  std::set<std::uint64_t> all(parent.begin(), parent.end());
  all.insert(first.begin(), first.end());
  all.insert(second.begin(), second.end());
  EXPECT_EQ(all.size(), 3 * count);  // a chance collision has probability 2^-37
}

bool no_entropy(std::span<std::byte>) {
  errno = ENOSYS;
  return false;
}

TEST(SecretStream, RefusesWithoutEntropy) {
  try {
    NoiseStream stream(no_entropy);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::privacy);
    EXPECT_NE(std::string(error.what()).find("no entropy"), std::string::npos) << error.what();
  }
  EXPECT_THROW(SamplingStream{no_entropy}, Error);
}

TEST(SecretStream, AChildWithoutEntropyRefuses) {
  static const pid_t parent = ::getpid();
  NoiseStream stream([](std::span<std::byte> out) {
    return ::getpid() == parent ? fixed_entropy(out) : no_entropy(out);
  });
  EXPECT_EQ(drawn_by_child(stream, 10).size(), 0U);
}

TEST(SecretStream, BelowIsUniform) {
  SamplingStream stream(fixed_entropy);
  std::vector<std::uint64_t> counts(7);
  for (int i = 0; i < 700'000; ++i) ++counts.at(stream.below(7));
  EXPECT_LT(chi_square_score(counts, std::vector<double>(7, 100'000)), 4);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(stream.below(1), 0U);
    EXPECT_LT(stream.below((1ULL << 63) + 1), (1ULL << 63) + 1);  // half of the words are rejected
    const double u = stream.uniform();
    EXPECT_TRUE(u >= 0 && u < 1) << u;
  }
}

TEST(SecretStream, BitsAreFairAndIndependentOfTheirNeighbours) {
  NoiseStream stream(fixed_entropy);
  std::vector<std::uint64_t> ones(64), changes(64);
  const int count = 200'000;
  std::uint64_t previous = stream.next_u64();
  for (int i = 0; i < count; ++i) {
    const auto word = stream.next_u64();
    for (std::size_t bit = 0; bit < 64; ++bit) {
      ones[bit] += (word >> bit) & 1;
      changes[bit] += ((word ^ previous) >> bit) & 1;
    }
    previous = word;
  }
  for (std::size_t bit = 0; bit < 64; ++bit) {  // five standard deviations of a fair coin
    EXPECT_NEAR(double(ones[bit]), count / 2.0, 5 * std::sqrt(count / 4.0)) << bit;
    EXPECT_NEAR(double(changes[bit]), count / 2.0, 5 * std::sqrt(count / 4.0)) << bit;
  }
}

}  // namespace
}  // namespace porter
