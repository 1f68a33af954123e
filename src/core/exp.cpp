// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "core/vector_math.hpp"
#include "core/vectors.hpp"

namespace porter {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep0;
// ln 2 in two parts; the first has 21 zero bits at its end, so that n times it is exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kReach = 708;
// Added to a small number, it leaves the number rounded to an integer in the low bits.
constexpr double kRound = 0x1.8p52;

// exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln 2 / 2; Taylor's series of exp(r) to r^13 is
// off by less than 4e-18.
template <std::size_t lanes>
PORTER_INLINE inline void exp_of(Register<double, lanes>& x) {
  using Vector = Register<double, lanes>;
  x = x < -kReach ? Vector{} - kReach : x;
  x = x > kReach ? Vector{} + kReach : x;
  const Vector shifted = x * kLog2E + kRound;
  const Vector n = shifted - kRound;
  const Vector r = (x - n * kLn2High) - n * kLn2Low;
  Vector sum = r * (1.0 / 6227020800) + 1.0 / 479001600;
  for (const double inverse_factorial :
       {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
        1.0 / 24, 1.0 / 6, 1.0 / 2})
    sum = sum * r + inverse_factorial;
  sum = (sum * r) * r + r;
  Register<std::int64_t, lanes> bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits << 52) + (std::int64_t{1023} << 52);
  Vector power;
  std::memcpy(&power, &bits, sizeof power);
  x = power + power * sum;
}

// The same with Taylor's series to r^7, which is off by less than 6e-9.
template <std::size_t lanes>
struct FloatExp {
  using Vector = Register<float, lanes>;

  PORTER_INLINE static inline void apply(Vector& x) {
    constexpr float kLimit = 87, kShift = 0x1.8p23F;
    constexpr float kHigh = 0x1.62e4p-1F, kLow = 0x1.7f7d1cp-20F;  // ln 2; the first: 16 bits
    x = x < -kLimit ? Vector{} - kLimit : x;
    x = x > kLimit ? Vector{} + kLimit : x;
    const Vector shifted = x * 0x1.715476p0F + kShift;
    const Vector n = shifted - kShift;
    const Vector r = (x - n * kHigh) - n * kLow;
    Vector sum = r * (1.0F / 5040) + 1.0F / 720;
    for (const float inverse_factorial : {1.0F / 120, 1.0F / 24, 1.0F / 6, 1.0F / 2})
      sum = sum * r + inverse_factorial;
    sum = (sum * r) * r + r;
    Register<std::int32_t, lanes> bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + (127 << 23);
    Vector power;
    std::memcpy(&power, &bits, sizeof power);
    x = power + power * sum;
  }
};

}  // namespace

void exp_in_place(std::span<float> x) {
  with_vectors([=]<Width lanes>() PORTER_INLINE {
    using Exp = FloatExp<2 * lanes>;
    for (std::size_t i = 0; i < x.size(); i += 2 * lanes) {
      const auto count = std::min(2 * lanes, x.size() - i);
      typename Exp::Vector part{};
      std::memcpy(&part, x.data() + i, count * sizeof(float));
      Exp::apply(part);
      std::memcpy(x.data() + i, &part, count * sizeof(float));
    }
  });
}

void exp_in_place(std::span<double> x) {
  with_vectors([=]<Width lanes>() PORTER_INLINE {
    for (std::size_t i = 0; i < x.size(); i += lanes) {
      const auto count = std::min<std::size_t>(lanes, x.size() - i);
      Register<double, lanes> part{};
      std::memcpy(&part, x.data() + i, count * sizeof(double));
      exp_of<lanes>(part);
      std::memcpy(x.data() + i, &part, count * sizeof(double));
    }
  });
}

}  // namespace porter
