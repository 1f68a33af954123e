// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/exp_parts.hpp"
#include "core/vector_math.hpp"
#include "core/vectors.hpp"

namespace porter {
namespace {

template <class Number>
using WordOf = std::conditional_t<sizeof(Number) == sizeof(double), std::uint64_t, std::uint32_t>;

struct Exp {
  template <class Number, std::size_t lanes>
  PORTER_INLINE static inline void apply(Register<Number, lanes>& x) {
    Register<Number, lanes> power, sum;
    exp_parts<Number, Register<WordOf<Number>, lanes>>(x, power, sum);
    x = power + power * sum;
  }
};

// (e - 1) / (e + 1) for e = exp(2 x). Near 0 the power is 1, and e - 1 keeps all its digits.
struct Tanh {
  template <class Number, std::size_t lanes>
  PORTER_INLINE static inline void apply(Register<Number, lanes>& x) {
    Register<Number, lanes> power, sum;
    const Register<Number, lanes> twice = x + x;
    exp_parts<Number, Register<WordOf<Number>, lanes>>(twice, power, sum);
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

double exact_exp(double x) { return exp_of(x); }

void exp_in_place(std::span<double> x) { apply_in_place<Exp>(x); }
void exp_in_place(std::span<float> x) { apply_in_place<Exp>(x); }
void tanh_in_place(std::span<double> x) { apply_in_place<Tanh>(x); }
void tanh_in_place(std::span<float> x) { apply_in_place<Tanh>(x); }

}  // namespace porter
