// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "core/exact_math.hpp"
#include "core/vector_math.hpp"
#include "core/vectors.hpp"

namespace porter {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep0;
constexpr double kReach = 708;
// Added to a small number, it leaves the number rounded to an integer in the low bits.
constexpr double kRound = 0x1.8p52;

// exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln 2 / 2. Gives 2^n and exp(r) - 1, by Taylor's
// series to r^13, which is off by less than 4e-18. Beyond its reach x stays there; NaN stays NaN.
template <std::size_t lanes>
PORTER_INLINE inline void exp_parts(const Register<double, lanes>& argument,
                                    Register<double, lanes>& power, Register<double, lanes>& sum) {
  using Vector = Register<double, lanes>;
  Vector x = argument < -kReach ? Vector{} - kReach : argument;
  x = x > kReach ? Vector{} + kReach : x;
  const Vector shifted = x * kLog2E + kRound;
  const Vector n = shifted - kRound;
  const Vector r = (x - n * kLn2High) - n * kLn2Low;
  sum = r * (1.0 / 6227020800) + 1.0 / 479001600;
  for (const double inverse_factorial :
       {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
        1.0 / 24, 1.0 / 6, 1.0 / 2})
    sum = sum * r + inverse_factorial;
  sum = (sum * r) * r + r;
  Register<std::uint64_t, lanes> bits;  // of a NaN any: unsigned, so that the sum may wrap
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits << 52) + (std::uint64_t{1023} << 52);
  std::memcpy(&power, &bits, sizeof power);
}

// The same with Taylor's series to r^7, which is off by less than 6e-9.
template <std::size_t lanes>
PORTER_INLINE inline void exp_parts(const Register<float, lanes>& argument,
                                    Register<float, lanes>& power, Register<float, lanes>& sum) {
  using Vector = Register<float, lanes>;
  constexpr float kLimit = 87, kShift = 0x1.8p23F;
  constexpr float kHigh = 0x1.62e4p-1F, kLow = 0x1.7f7d1cp-20F;  // ln 2; the first: 16 bits
  Vector x = argument < -kLimit ? Vector{} - kLimit : argument;
  x = x > kLimit ? Vector{} + kLimit : x;
  const Vector shifted = x * 0x1.715476p0F + kShift;
  const Vector n = shifted - kShift;
  const Vector r = (x - n * kHigh) - n * kLow;
  sum = r * (1.0F / 5040) + 1.0F / 720;
  for (const float inverse_factorial : {1.0F / 120, 1.0F / 24, 1.0F / 6, 1.0F / 2})
    sum = sum * r + inverse_factorial;
  sum = (sum * r) * r + r;
  Register<std::uint32_t, lanes> bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits << 23) + (std::uint32_t{127} << 23);
  std::memcpy(&power, &bits, sizeof power);
}

struct Exp {
  template <class Number, std::size_t lanes>
  PORTER_INLINE static inline void apply(Register<Number, lanes>& x) {
    Register<Number, lanes> power, sum;
    exp_parts<lanes>(x, power, sum);
    x = power + power * sum;
  }
};

// (e - 1) / (e + 1) for e = exp(2 x). Near 0 the power is 1, and e - 1 keeps all its digits.
struct Tanh {
  template <class Number, std::size_t lanes>
  PORTER_INLINE static inline void apply(Register<Number, lanes>& x) {
    Register<Number, lanes> power, sum;
    exp_parts<lanes>(x + x, power, sum);
    const Register<Number, lanes> less_one = (power - 1) + power * sum;
    x = less_one / (less_one + 2);
  }
};

template <class Function, class Number>
void apply_in_place(std::span<Number> x) {
  with_vectors([=]<Width width>() PORTER_INLINE {
    constexpr std::size_t kSize = width * sizeof(double) / sizeof(Number);
    for (std::size_t i = 0; i < x.size(); i += kSize) {
      const auto count = std::min<std::size_t>(kSize, x.size() - i);
      Register<Number, kSize> part{};
      std::memcpy(&part, x.data() + i, count * sizeof(Number));
      Function::template apply<Number, kSize>(part);
      std::memcpy(x.data() + i, &part, count * sizeof(Number));
    }
  });
}

}  // namespace

double exact_exp(double x) {
  Register<double, 1> one{x};
  Exp::apply<double, 1>(one);
  return one[0];
}

void exp_in_place(std::span<double> x) { apply_in_place<Exp>(x); }
void exp_in_place(std::span<float> x) { apply_in_place<Exp>(x); }
void tanh_in_place(std::span<double> x) { apply_in_place<Tanh>(x); }
void tanh_in_place(std::span<float> x) { apply_in_place<Tanh>(x); }

}  // namespace porter
