// SPDX-License-Identifier: Apache-2.0
#include "porter/core/bytes.hpp"

#include <array>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include "core/simd.hpp"
#define PORTER_CARRYLESS 1
#endif

// CRC-32: the bytes, lowest bit first, are the coefficients of a polynomial over GF(2), highest
// power first; the checksum is its remainder modulo P, with 2^32 - 1 added at the front and at the
// end. All words below hold polynomials in this reflected order: bit 0 is the highest power.

namespace porter {
namespace {

constexpr std::uint32_t kPolynomial = 0xEDB88320;  // P without x^32

// x times a polynomial, modulo P.
constexpr std::uint32_t times_x(std::uint32_t value) {
  return value >> 1 ^ (value & 1 ? kPolynomial : 0);
}

// Row r, column b: what byte b does to the remainder with r more bytes after it.
constexpr auto make_table() {
  std::array<std::array<std::uint32_t, 256>, 8> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (auto& row : table) {
      for (int bit = 0; bit < 8; ++bit) value = times_x(value);
      row[byte] = value;
    }
  }
  return table;
}
constexpr auto kTable = make_table();

// Eight bytes a step (Kounavis, Berry: Novel Table Lookup-Based Algorithms, 2008).
std::uint32_t by_table(std::uint32_t crc, const std::byte* data, std::size_t size) {
  for (; size >= 8; data += 8, size -= 8) {
    std::uint64_t word;
    std::memcpy(&word, data, sizeof word);
    word ^= crc;
    crc = 0;
    for (std::size_t i = 0; i < 8; ++i) crc ^= kTable[7 - i][word >> 8 * i & 0xFF];
  }
  for (; size > 0; ++data, --size)
    crc = kTable[0][(crc ^ std::to_integer<std::uint32_t>(*data)) & 0xFF] ^ crc >> 8;
  return crc;
}

#ifdef PORTER_CARRYLESS

constexpr std::size_t kLanes = 4, kLaneBytes = 16, kStep = kLanes * kLaneBytes;

// x^n modulo P, for _mm_clmulepi64_si128: a product of two reflected words comes out one bit low.
constexpr long long power(int n) {
  std::uint32_t value = 0x80000000;  // 1
  for (int i = 0; i < n; ++i) value = times_x(value);
  return static_cast<long long>(std::uint64_t{value} << 1);
}

// The 16 bytes `lane`, moved `bits` bits up by the powers, onto the 16 bytes that stand there.
[[gnu::target("pclmul"), gnu::always_inline]] inline __m128i fold(__m128i lane, __m128i powers,
                                                                  __m128i onto) {
  const auto high = _mm_clmulepi64_si128(lane, powers, 0x00);
  const auto low = _mm_clmulepi64_si128(lane, powers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(high, low), onto);
}

[[gnu::target("pclmul"), gnu::always_inline]] inline __m128i load(const std::byte* data) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
}

// The first half of a lane stands 64 bits higher than the second. The 32 bits of a power lie at the
// end of its 64-bit word, hence the 32.
constexpr auto powers_over(int bytes) {
  return std::array{power(8 * bytes + 32), power(8 * bytes - 32)};
}
constexpr auto kOverStep = powers_over(kStep), kOverLane = powers_over(kLaneBytes);
constexpr std::size_t kFoldsAtOnce = 4;  // that do not wait for each other
constexpr auto kOverSteps = powers_over(kFoldsAtOnce * kStep);

// The remainder of lanes that stand one after the other, and of the whole lanes of data after them.
[[gnu::target("pclmul"), gnu::always_inline]] inline std::uint32_t remainder_of(
    const __m128i (&lanes)[kLanes], const std::byte* data, std::size_t size) {
  const auto over_lane = _mm_set_epi64x(kOverLane[1], kOverLane[0]);
  auto all = lanes[0];
  for (std::size_t i = 1; i < kLanes; ++i) all = fold(all, over_lane, lanes[i]);
  for (; size > 0; data += kLaneBytes, size -= kLaneBytes) all = fold(all, over_lane, load(data));
  std::array<std::byte, kLaneBytes> rest;
  std::memcpy(rest.data(), &all, sizeof all);
  return by_table(0, rest.data(), rest.size());
}

// Folds with carry-less products (Gopal et al.: Fast CRC Computation for Generic Polynomials Using
// PCLMULQDQ Instruction; Intel 2009): four lanes of 16 bytes step over the data and are folded into
// one, whose remainder is that of all. At least kStep bytes; whole lanes.
[[gnu::target("pclmul")]] std::uint32_t by_folding(std::uint32_t crc, const std::byte* data,
                                                   std::size_t size) {
  const auto over_step = _mm_set_epi64x(kOverStep[1], kOverStep[0]);
  __m128i lanes[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = load(data + i * kLaneBytes);
  lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(static_cast<int>(crc)));
  for (data += kStep, size -= kStep; size >= kStep; data += kStep, size -= kStep)
    for (std::size_t i = 0; i < kLanes; ++i)
      lanes[i] = fold(lanes[i], over_step, load(data + i * kLaneBytes));
  return remainder_of(lanes, data, size);
}

// The same with all lanes in one register, and four of these where there is enough.
#define PORTER_WIDE gnu::target("avx512f,pclmul,vpclmulqdq")
[[PORTER_WIDE, gnu::always_inline]] inline __m512i wide(std::array<long long, 2> p) {
  return _mm512_set_epi64(p[1], p[0], p[1], p[0], p[1], p[0], p[1], p[0]);
}
[[PORTER_WIDE, gnu::always_inline]] inline __m512i fold_wide(__m512i lanes, __m512i powers,
                                                             __m512i onto) {
  const auto high = _mm512_clmulepi64_epi128(lanes, powers, 0x00);
  const auto low = _mm512_clmulepi64_epi128(lanes, powers, 0x11);
  return _mm512_xor_si512(_mm512_xor_si512(high, low), onto);
}
[[PORTER_WIDE]] std::uint32_t by_wide_folding(std::uint32_t crc, const std::byte* data,
                                              std::size_t size) {
  static_assert(sizeof(__m512i) == kStep);
  const auto over_step = wide(kOverStep);
  auto all = _mm512_xor_si512(_mm512_loadu_si512(data),
                              _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(crc))));
  data += kStep, size -= kStep;
  if (size >= (2 * kFoldsAtOnce - 1) * kStep) {
    const auto over_steps = wide(kOverSteps);
    __m512i others[kFoldsAtOnce - 1];
    for (auto& other : others) {
      other = _mm512_loadu_si512(data);
      data += kStep, size -= kStep;
    }
    for (; size >= kFoldsAtOnce * kStep; size -= kFoldsAtOnce * kStep) {
      all = fold_wide(all, over_steps, _mm512_loadu_si512(data));
      data += kStep;
      for (auto& other : others) {
        other = fold_wide(other, over_steps, _mm512_loadu_si512(data));
        data += kStep;
      }
    }
    for (const auto& other : others) all = fold_wide(all, over_step, other);
  }
  for (; size >= kStep; data += kStep, size -= kStep)
    all = fold_wide(all, over_step, _mm512_loadu_si512(data));
  __m128i lanes[kLanes];
  std::memcpy(lanes, &all, sizeof all);
  return remainder_of(lanes, data, size);
}
#undef PORTER_WIDE

#endif

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
#ifdef PORTER_CARRYLESS
  if (bytes.size() >= kStep && __builtin_cpu_supports("pclmul")) {
    const auto whole = bytes.size() / kLaneBytes * kLaneBytes;
    const bool wide = simd() == Simd::avx512 && __builtin_cpu_supports("vpclmulqdq");
    crc = (wide ? by_wide_folding : by_folding)(crc, bytes.data(), whole);
    bytes = bytes.subspan(whole);
  }
#endif
  return ~by_table(crc, bytes.data(), bytes.size());
}

}  // namespace porter
