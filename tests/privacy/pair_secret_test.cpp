// SPDX-License-Identifier: Apache-2.0
#include "privacy/pair_secret.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "core/normal_noise.hpp"
#include "porter/core/error.hpp"
#include "privacy/secure_noise.hpp"
#include "says.hpp"
#include "secret_entropy.hpp"

namespace porter {
namespace {

const std::string kRun = "0123456789abcdef0123456789abcdef";

bool counted_entropy(std::span<std::byte> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i);
  return true;
}

std::string hex(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    text += kDigits[std::to_integer<int>(byte) >> 4];
    text += kDigits[std::to_integer<int>(byte) & 15];
  }
  return text;
}

PublicKey from_hex(const std::string& digits) {
  PublicKey key;
  for (std::size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<std::byte>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  return key;
}

std::vector<std::uint64_t> words(NoiseStream stream, std::size_t count = 5000) {
  std::vector<std::uint64_t> out(count);
  stream.fill(out);
  return out;
}

// Two agents with keys of their own.
struct Pair {
  SecretKey low_key = make_private_key(counted_entropy), high_key = make_private_key(fixed_entropy);
  PairEnd low{1, "anna", public_key(low_key)}, high{4, "bruno", public_key(high_key)};

  SecretKey at_low(const std::string& run = kRun) const { return agree(low_key, run, low, high); }
  SecretKey at_high(const std::string& run = kRun) const { return agree(high_key, run, high, low); }
};

// What vectors/pair_secret.py prints, which shares nothing with the library.
TEST(PairSecret, IsThatOfAnIndependentX25519AndHkdf) {
  const Pair pair;
  EXPECT_EQ(hex(pair.low.key), "8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f");
  EXPECT_EQ(hex(pair.high.key), "5e9d342b7ca9dd7483c1617c8d07c3e99bff21c855a89951e548c85df975b94d");
  EXPECT_EQ(hex(pair.at_low().bytes()),
            "36636d12a443cf6926ecf063766b4dbbd66f8201583f3992dcba8d68b4a1e127");
  PairChain chain(pair.at_low());
  chain.skip_to(2);
  EXPECT_EQ(hex(chain.key().bytes()),
            "5d3c2644a450c2d5f6db433fbb82b8d77f82456917f8da1e87147a12c634e13a");
  StreamKey key;
  const auto first = from_hex("e7778542150e056411590e4db0505dc2d139a6a750d5f48e0b3c829ab64816b1"),
             rest = from_hex("a4d17ee9eb9e7b358cc3f7ede7ec0c17" + std::string(32, '0'));
  std::ranges::copy(first, key.bytes().begin());
  std::copy_n(rest.begin(), 16, key.bytes().begin() + 32);
  EXPECT_EQ(words(chain.draw(2)), words(NoiseStream(std::move(key))));
}

TEST(PairSecret, IsTheSameAtBothEndsAndAnotherForAnyOtherPairRunNameOrKey) {
  const Pair pair;
  const auto secret = hex(pair.at_low().bytes());
  EXPECT_EQ(hex(pair.at_high().bytes()), secret);
  EXPECT_NE(hex(pair.at_low("1123456789abcdef0123456789abcdef").bytes()), secret);
  auto renamed = pair.high;
  renamed.name = "brunos";
  EXPECT_NE(hex(agree(pair.low_key, kRun, pair.low, renamed).bytes()), secret);
  renamed = pair.high;
  renamed.agent = 5;
  EXPECT_NE(hex(agree(pair.low_key, kRun, pair.low, renamed).bytes()), secret);
  // An agent in the middle has a key of its own, and can neither find the secret of the two nor
  // pass for one of them at the other.
  const auto other = make_private_key();
  const PairEnd middle{2, "mallory", public_key(other)};
  EXPECT_NE(hex(agree(other, kRun, middle, pair.high).bytes()), secret);
  const PairEnd posing{1, "anna", public_key(other)};
  EXPECT_NE(hex(agree(other, kRun, posing, pair.high).bytes()), secret);
  // Keys are fresh in every run.
  EXPECT_NE(hex(make_private_key().bytes()), hex(make_private_key().bytes()));
}

TEST(PairSecret, RefusesKeysThatMakeNone) {
  const Pair pair;
  // All points of low order, and encodings of them beyond the field (RFC 7748, section 6.1).
  for (const char* u : {"0000000000000000000000000000000000000000000000000000000000000000",
                        "0100000000000000000000000000000000000000000000000000000000000000",
                        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
                        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
                        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"}) {
    const PairEnd weak{4, "bruno", from_hex(u)};
    EXPECT_TRUE(says(what_fails([&] { agree(pair.low_key, kRun, pair.low, weak); }),
                     "the key of bruno makes no secret"))
        << u;
  }
  auto reflected = pair.high;
  reflected.key = pair.low.key;
  EXPECT_TRUE(says(what_fails([&] { agree(pair.low_key, kRun, pair.low, reflected); }),
                   "bruno shows the key of anna as its own"));
  EXPECT_TRUE(says(what_fails([] { make_private_key([](std::span<std::byte>) { return false; }); }),
                   "no entropy"));
}

// Whatever happened before: both ends, one of which was killed and goes on from a later key.
TEST(PairChain, ARoundIsAddressedByItsNumberAndDrawnOnce) {
  const Pair pair;
  PairChain all(pair.at_low()), few(pair.at_high());
  std::vector<std::vector<std::uint64_t>> rounds;
  for (std::uint32_t round = 1; round <= 7; ++round) rounds.push_back(words(all.draw(round)));
  for (std::size_t i = 0; i < rounds.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(rounds[i], rounds[j]);
  EXPECT_EQ(words(few.draw(3)), rounds[2]);
  EXPECT_TRUE(says(what_fails([&] { few.draw(3); }), "round 3 was drawn before"));
  EXPECT_TRUE(says(what_fails([&] { few.draw(1); }), "round 1 was drawn before"));
  few.skip_to(5);
  few.skip_to(2);  // is past
  EXPECT_EQ(few.round(), 5U);
  SecretKey kept;
  std::ranges::copy(few.key().bytes(), kept.bytes().begin());
  PairChain resumed(std::move(kept), 5);
  EXPECT_TRUE(says(what_fails([&] { resumed.draw(4); }), "round 4 was drawn before"));
  EXPECT_EQ(words(resumed.draw(6)), rounds[5]);
  EXPECT_TRUE(says(what_fails([&] { resumed.draw(~std::uint32_t{0}); }), "was drawn before"));
}

// The integers of a round, at an end.
std::vector<double> steps_of(SecretKey secret, double sign, std::uint32_t round,
                             const SecureNoise& noise, std::size_t dim) {
  std::vector<double> steps(dim, 0.0);
  auto stream = PairChain(std::move(secret)).draw(round);
  noise.share_end(steps, sign, stream);
  return steps;
}

double correlation(std::span<const double> a, std::span<const double> b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

TEST(PairSecret, BothEndsDrawEqualStepsWithOppositeSignsAndNobodyElseDoes) {
  constexpr std::size_t kDim = 20'000;
  const SecureNoise noise(0.5, 0.5, kDim, {.stddev = 1, .most_pairs = 3, .vectors = 11});
  const Pair pair;
  const auto low = steps_of(pair.at_low(), 1, 9, noise, kDim);
  const auto high = steps_of(pair.at_high(), -1, 9, noise, kDim);
  double square = 0;
  for (std::size_t j = 0; j < kDim; ++j) {
    ASSERT_EQ(low[j] + high[j], 0);
    square += low[j] * low[j];
  }
  // Their deviation is 1 / grid; five standard errors.
  const double deviation = std::sqrt(square / kDim) * noise.grid();
  EXPECT_NEAR(deviation, 1, 5 / std::sqrt(2.0 * kDim));
  // Another round, another run, the secret of another agent, and whoever has the public seed.
  std::vector<std::vector<double>> others;
  others.push_back(steps_of(pair.at_low(), 1, 8, noise, kDim));
  others.push_back(steps_of(pair.at_low("1123456789abcdef0123456789abcdef"), 1, 9, noise, kDim));
  const auto key = make_private_key();
  const PairEnd third{2, "carla", public_key(key)};
  others.push_back(steps_of(agree(key, kRun, third, pair.high), 1, 9, noise, kDim));
  for (const std::uint32_t pair_number : {0U, 1U, 4U}) {
    std::vector<float> simulated(kDim);
    NormalNoise(1, pair_number, 9, Draw::pair).fill(0, simulated);
    others.emplace_back(simulated.begin(), simulated.end());
  }
  for (const auto& other : others)
    EXPECT_LT(std::abs(correlation(low, other)), 5 / std::sqrt(double{kDim}));
}

TEST(PairSecret, AForkedProcessHasNoPartInIt) {
  const Pair pair;
  auto stream = PairChain(pair.at_low()).draw(1);
  const auto child = ::fork();
  if (child == 0) {
    try {
      stream.next_u64();
    } catch (const Error& error) {
      ::_exit(error.kind() == ErrorKind::privacy ? 7 : 1);
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace porter
