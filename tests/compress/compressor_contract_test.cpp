// SPDX-License-Identifier: Apache-2.0
// What every compressor owes: these tests walk the table, so a new one is held to it by its line.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

#include "compress_cases.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kDims[] = {1, 2, 7, 64, 1000};

struct Case {
  std::string name;
  std::unique_ptr<const Compressor> compressor;
};

// Every example of the table, and its unbiased form where there is one.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& info : compressor_table()) {
    all.push_back({info.example, make_compressor(info.example)});
    if (const std::set<std::string> biased = {"top_k", "gsgd", "sign"}; !biased.contains(info.name))
      all.push_back({info.example + " unbiased", make_compressor(info.example, true)});
  }
  return all;
}

struct Input {
  std::string name;
  std::vector<float> x;
};

std::vector<Input> inputs(std::size_t dim) {
  std::vector<Input> all = {
      {"gaussian", gaussian_vector(dim)},       {"sparse", gaussian_vector(dim)},
      {"one huge entry", gaussian_vector(dim)}, {"all equal", std::vector<float>(dim, -0.7F)},
      {"zero", std::vector<float>(dim, 0.0F)},  {"tiny", gaussian_vector(dim, 1e-30)},
      {"large", gaussian_vector(dim, 1e30)}};
  for (std::size_t i = 0; i < dim; ++i)
    if (i % 10 != 0) all[1].x[i] = 0;
  all[2].x[dim / 2] = 1e6F;
  return all;
}

// Calls check(case, input) for every compressor, dimension and kind of input.
template <class Check>
void for_each_case(Check check) {
  const auto all = cases();
  for (const std::size_t dim : kDims)
    for (const auto& input : inputs(dim))
      for (const auto& c : all) {
        SCOPED_TRACE(c.name + ", dim " + std::to_string(dim) + ", " + input.name);
        check(*c.compressor, input.x);
      }
}

constexpr std::uint32_t kDraws = 400;
constexpr double kStandardErrors = 5;
// Values are rounded to float, 2^-24 relative; sums of them stay well below this.
constexpr double kRounding = 1e-6;

// Mean and standard error over kDraws rounds of what `measure` says of C(x).
struct Estimate {
  double mean, error;
};
template <class Measure>
Estimate estimate(const Compressor& c, std::span<const float> x, Measure measure) {
  double sum = 0, squares = 0;
  for (std::uint32_t round = 0; round < kDraws; ++round) {
    const double value = measure(compress(c, x, round));
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  return {mean, std::sqrt(std::max(0.0, squares / kDraws - mean * mean) / kDraws)};
}

// E|C(x) - x|^2 / |x|^2, for x that is not zero.
Estimate relative_error(const Compressor& c, std::span<const float> x) {
  const double norm2 = squared_norm(x);
  return estimate(c, x, [&](const auto& y) { return squared_distance(y, x) / norm2; });
}

TEST(CompressorContract, ContractsAndVariesAsPromised) {
  for_each_case([](const Compressor& c, std::span<const float> x) {
    if (squared_norm(x) == 0) return;
    const auto rho = c.rho(x.size()), omega = c.omega(x.size());
    EXPECT_TRUE(rho || omega) << "a compressor promises something";
    const auto [mean, error] = relative_error(c, x);
    if (rho) {
      EXPECT_TRUE(*rho > 0 && *rho <= 1) << *rho;
      EXPECT_LE(mean, 1 - *rho + kStandardErrors * error + kRounding);
    }
    if (omega) {
      EXPECT_GE(*omega, 0);
      EXPECT_LE(mean, *omega + kStandardErrors * error + kRounding);
    }
  });
}

TEST(CompressorContract, IsUnbiasedWhereItPromisesOmega) {
  for_each_case([](const Compressor& c, std::span<const float> x) {
    const auto omega = c.omega(x.size());
    if (!omega || squared_norm(x) == 0) return;
    const double norm2 = squared_norm(x);
    // Along x: E <C(x), x> = |x|^2.
    const auto [mean, error] = estimate(c, x, [&](const auto& y) {
      double dot = 0;
      for (std::size_t i = 0; i < x.size(); ++i) dot += double(y[i]) * double(x[i]);
      return dot / norm2;
    });
    EXPECT_NEAR(mean, 1, kStandardErrors * error + kRounding);
    // In all directions: the mean of n draws is within omega |x|^2 / n of x in expectation; for few
    // entries the square of a normal exceeds 16 times its mean with probability 6e-5.
    std::vector<double> average(x.size(), 0.0);
    for (std::uint32_t round = 0; round < kDraws; ++round) {
      const auto y = compress(c, x, round);
      for (std::size_t i = 0; i < x.size(); ++i) average[i] += double(y[i]) / kDraws;
    }
    double distance = 0;
    for (std::size_t i = 0; i < x.size(); ++i) distance += std::pow(average[i] - double(x[i]), 2);
    EXPECT_LE(distance / norm2, 16 * *omega / kDraws + kRounding * kRounding);
  });
}

TEST(CompressorContract, GivesZeroForZero) {
  for_each_case([](const Compressor& c, std::span<const float> x) {
    const std::vector<float> zero(x.size(), 0.0F), minus_zero(x.size(), -0.0F);
    EXPECT_EQ(compress(c, zero), zero);
    EXPECT_EQ(compress(c, minus_zero), zero);
  });
}

TEST(CompressorContract, DecodesToFiniteEntriesAtAscendingPositions) {
  for_each_case([](const Compressor& c, std::span<const float> x) {
    const auto decoded = round_trip(c, x);
    EXPECT_EQ(decoded.values.size(), decoded.dense ? x.size() : decoded.indices.size());
    EXPECT_TRUE(!decoded.dense || decoded.indices.empty());
    for (std::size_t i = 0; i < decoded.indices.size(); ++i) {
      EXPECT_LT(decoded.indices[i], x.size());
      if (i > 0) {
        EXPECT_LT(decoded.indices[i - 1], decoded.indices[i]);
      }
    }
    for (const float value : decoded.values) EXPECT_TRUE(std::isfinite(value));
    EXPECT_EQ(decoded.values.size(), c.kept(x.size()).value_or(decoded.values.size()));
  });
}

TEST(CompressorContract, DependsOnTheInputAndTheStreamAlone) {
  for_each_case([](const Compressor& c, std::span<const float> x) {
    const auto payload = encode(c, x, 5);
    const auto fresh = decode(c, payload, x.size(), 5);
    // Neither old content of the buffers nor an earlier failure may leave a trace.
    Payload reused(10000, std::byte{0xAB});
    Decoded out{.dense = !fresh.dense, .indices = {9, 9, 9}, .values = {7, 7}, .tile_starts = {5}};
    EXPECT_THROW(c.decode(reused, x.size(), compress_stream(5), out), Error);
    c.encode(x, compress_stream(5), reused);
    EXPECT_EQ(reused, payload);
    c.decode(reused, x.size(), compress_stream(5), out);
    EXPECT_EQ(out.dense, fresh.dense);
    EXPECT_EQ(out.indices, fresh.indices);
    EXPECT_EQ(out.values, fresh.values);
    EXPECT_EQ(out.tile_starts, fresh.tile_starts);
  });
}

// Bit for bit: -0.0 and 0.0 are not the same.
std::vector<std::uint32_t> bit_patterns(std::span<const float> x) {
  std::vector<std::uint32_t> bits;
  for (const float value : x) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

void expect_difference_is_encoded(const Compressor& c, std::span<const double> a,
                                  std::span<const double> b, std::uint32_t round, Payload& payload,
                                  Decoded& out) {
  std::vector<float> x(a.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(a[i] - b[i]);
  const auto expected = encode(c, x, round);
  const auto decoded = decode(c, expected, x.size(), round);
  c.encode_difference(a, b, compress_stream(round), payload, out);
  EXPECT_EQ(payload, expected);
  EXPECT_EQ(out.dense, decoded.dense);
  EXPECT_EQ(out.indices, decoded.indices);
  EXPECT_EQ(bit_patterns(out.values), bit_patterns(decoded.values));
  EXPECT_EQ(out.tile_starts, decoded.tile_starts);

  // Without the bytes it is the same vector, and as many bytes are counted.
  EXPECT_EQ(c.compress_difference(a, b, compress_stream(round), payload, out), expected.size());
  EXPECT_EQ(out.dense, decoded.dense);
  EXPECT_EQ(out.indices, decoded.indices);
  EXPECT_EQ(bit_patterns(out.values), bit_patterns(decoded.values));
  EXPECT_EQ(out.tile_starts, decoded.tile_starts);
}

TEST(CompressorContract, EncodesADifferenceAsEncodeAndDecodeDo) {
  Payload payload;
  Decoded out;  // used again by all of them
  for_each_case([&](const Compressor& c, std::span<const float> x) {
    // Differences that a float does not hold, and subnormal ones.
    for (const double offset : {0.0, 1.0 / 3, 1e-42}) {
      std::vector<double> a(x.size()), b(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        b[i] = i % 2 == 0 ? offset : -offset;
        a[i] = double{x[i]} + b[i] + offset;
      }
      for (std::uint32_t round = 0; round < 3; ++round)
        expect_difference_is_encoded(c, a, b, round, payload, out);
    }
  });
}

TEST(CompressorContract, EncodesLongDifferencesAsEncodeAndDecodeDo) {
  Payload payload;
  Decoded out;
  for (const std::size_t dim : {2047, 2048, 2049, 50890}) {
    std::vector<double> a(dim), b(dim);
    RngStream(2, Draw::test, 0, 0).fill_normal(a);
    RngStream(2, Draw::test, 0, 1).fill_normal(b);
    for (const auto& [name, c] : cases()) {
      SCOPED_TRACE(name + ", dim " + std::to_string(dim));
      expect_difference_is_encoded(*c, a, b, 1, payload, out);
    }
  }
}

TEST(CompressorContract, SaysWhereEachTileStarts) {
  for (const std::size_t dim : {1, 2047, 2048, 2049, 10000})
    for (const auto& [name, c] : cases()) {
      SCOPED_TRACE(name + ", dim " + std::to_string(dim));
      const auto out = round_trip(*c, gaussian_vector(dim));
      if (out.dense) {
        EXPECT_TRUE(out.tile_starts.empty());
        continue;
      }
      std::vector<std::uint32_t> expected;
      for (std::size_t at = 0; at < dim + kTileSize; at += kTileSize)
        expected.push_back(static_cast<std::uint32_t>(
            std::lower_bound(out.indices.begin(), out.indices.end(), at) - out.indices.begin()));
      EXPECT_EQ(out.tile_starts, expected);
    }
}

TEST(CompressorContract, RefusesADifferenceThatIsNotFinite) {
  for (const auto& [name, c] : cases())
    for (const double value : {std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity(), 1e39}) {
      const std::vector<double> a(64, value), b(64, -1.0);
      Payload payload;
      Decoded out;
      if (name.starts_with("bernoulli")) continue;  // it may keep none of 64
      try {
        c->encode_difference(a, b, compress_stream(0), payload, out);
        ADD_FAILURE() << name << " took " << value;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::numeric) << error.what();
      }
    }
}

TEST(CompressorContract, RandomOnesDifferFromRoundToRoundAndTheOthersDoNot) {
  const std::set<std::string> deterministic = {"identity", "top_k", "sign"};
  const auto x = gaussian_vector(1000);
  for (const auto& info : compressor_table()) {
    const auto c = make_compressor(info.example);
    EXPECT_EQ(compress(*c, x, 1) == compress(*c, x, 2), deterministic.contains(info.name))
        << info.name;
  }
}

TEST(CompressorContract, IsLosslessWhenNothingIsDropped) {
  for (const std::size_t dim : kDims)
    for (const auto& input : inputs(dim))
      for (const std::string name : {"identity", "random_k", "bernoulli", "top_k"})
        for (const bool unbiased : {false, true}) {
          if (unbiased && name == "top_k") continue;
          for (const auto& argument : {std::string(":1"), ":k=" + std::to_string(dim)}) {
            SCOPED_TRACE(name + argument + ", " + input.name);
            const auto c = make_compressor(name == "identity" ? name : name + argument, unbiased);
            EXPECT_EQ(compress(*c, input.x), input.x);
          }
        }
}

// The one entry of a vector of length 1 is its own norm, mean and largest: only natural and gsgd
// change it.
TEST(CompressorContract, KeepsTheEntryOfAVectorOfLengthOne) {
  const std::vector<float> x = {-3.3F};
  for (const auto& [name, c] : cases()) {
    if (name.starts_with("natural") || name.starts_with("gsgd")) continue;
    EXPECT_EQ(compress(*c, x), x) << name;
  }
}

TEST(CompressorContract, RefusesInputThatIsNotFinite) {
  const float bad[] = {std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity()};
  for (const auto& [name, c] : cases())
    for (const float value : bad)
      for (const std::size_t at : {0, 63}) {
        auto x = gaussian_vector(64);
        x[at] = value;
        try {
          encode(*c, x);
          ADD_FAILURE() << name << " took " << value;
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::numeric) << error.what();
        }
      }
}

TEST(CompressorContract, RefusesAVectorWithoutEntries) {
  for (const auto& [name, c] : cases()) {
    EXPECT_THROW(encode(*c, {}), Error) << name;
    EXPECT_THROW(decode(*c, with_checksum({}), 0), Error) << name;
  }
}

void expect_refused(const Compressor& c, std::span<const std::byte> payload, std::size_t dim,
                    const std::string& what) {
  try {
    decode(c, payload, dim);
    ADD_FAILURE() << "accepted: " << what;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::protocol) << what << ": " << error.what();
  }
}

TEST(CompressorContract, RefusesEveryTruncationAndEveryAppendedByte) {
  for (const auto& [name, c] : cases())
    for (const std::size_t dim : {1, 7, 64}) {
      SCOPED_TRACE(name + ", dim " + std::to_string(dim));
      const auto payload = encode(*c, gaussian_vector(dim));
      const Payload body(payload.begin(), payload.end() - 4);
      for (std::size_t size = 0; size < payload.size(); ++size)
        expect_refused(*c, std::span(payload).first(size), dim, "cut to " + std::to_string(size));
      auto longer = payload, longer_body = body;
      for (int extra = 1; extra <= 8; ++extra) {
        longer.push_back(std::byte{0});
        longer_body.push_back(std::byte{0});
        expect_refused(*c, longer, dim, std::to_string(extra) + " appended");
        expect_refused(*c, with_checksum(longer_body), dim,
                       std::to_string(extra) + " appended, checksum renewed");
      }
      for (std::size_t size = 0; size < body.size(); ++size)
        expect_refused(*c, with_checksum(Payload(body.begin(), body.begin() + long(size))), dim,
                       "body cut to " + std::to_string(size) + ", checksum renewed");
    }
}

TEST(CompressorContract, RefusesEveryFlippedBit) {
  for (const auto& [name, c] : cases())
    for (const std::size_t dim : {1, 7, 64}) {
      SCOPED_TRACE(name + ", dim " + std::to_string(dim));
      auto payload = encode(*c, gaussian_vector(dim));
      for (std::size_t bit = 0; bit < payload.size() * 8; ++bit) {
        payload[bit / 8] ^= std::byte(1U << bit % 8);
        expect_refused(*c, payload, dim, "bit " + std::to_string(bit));
        payload[bit / 8] ^= std::byte(1U << bit % 8);
      }
    }
}

}  // namespace
}  // namespace porter
