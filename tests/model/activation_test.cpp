// SPDX-License-Identifier: Apache-2.0
// Tempered sigmoids: the text, the numbers, the derivative.
#include "porter/model/activation.hpp"

#include <gtest/gtest.h>

#include "core/vector_math.hpp"
#include "model/layers.hpp"
#include "says.hpp"
#include "special_values.hpp"

namespace porter {
namespace {

const Activation kTempered[] = {tempered_sigmoid(2, 2, 1), tempered_sigmoid(1.58, 3, 0.71),
                                tempered_sigmoid(1, 4, 0.5), tempered_sigmoid(1000, 0.001, 0),
                                tempered_sigmoid(0.001, 1000, 0.001)};

double plain(const Activation& f, double t) {
  return f.scale / (1 + std::exp(-f.rate * t)) - f.offset;
}

TEST(Activation, ItsTextSaysAllOfIt) {
  for (const char* text : {"sigmoid", "tanh", "relu", "tempered:1.58:3.0:0.71"})
    EXPECT_EQ(to_string(parse_activation(text)), text);
  EXPECT_EQ(parse_activation("tempered:1.58:3:0.71"), tempered_sigmoid(1.58, 3, 0.71));
  EXPECT_EQ(parse_activation("tempered:1e-3:1000:0"), tempered_sigmoid(0.001, 1000, 0));
  EXPECT_FALSE(tempered_sigmoid(2, 2, 1) == Activation(ActivationKind::tanh));
}

TEST(Activation, RefusesWhatIsNoTemperedSigmoid) {
  for (const std::string wrong :
       {"",          ":",         ":2",        ":2:2",      ":2:2:",     "::2:1",
        ":2::1",     ":2:2:1:1",  ":2:2:1 ",   ":a:2:1",    ":2:a:1",    ":2:2:a",
        ":0:2:1",    ":2:0:1",    ":-2:2:1",   ":2:-2:1",   ":2:2:-1",   ":nan:2:1",
        ":2:nan:1",  ":2:2:nan",  ":inf:2:1",  ":2:inf:1",  ":2:2:inf",  ":1e-4:2:1",
        ":1001:2:1", ":2:1e-4:1", ":2:1001:1", ":2:2:2.01", ":1e400:2:1"})
    EXPECT_TRUE(says(what_fails([&] { parse_activation("tempered" + wrong); }),
                     "expected tempered:S:T:O with S and T from 0.001 to 1000"))
        << wrong;
  for (const char* wrong : {"", "elu", "tanh:2", "Tempered:2:2:1"})
    EXPECT_TRUE(says(what_fails([&] { parse_activation(wrong); }),
                     "expected sigmoid, tanh, relu or tempered:S:T:O; found"))
        << wrong;
}

template <class Real>
void compare_with_the_formula(const Activation& f, double tolerance) {
  for_every_special_value<Real>([&](const std::vector<Real>& t) {
    auto all = t, one_by_one = t;
    activate(f, std::span<Real>(all));
    for (auto& value : one_by_one) activate(f, std::span<Real>(&value, 1));
    expect_same(all, one_by_one, "tempered");
    for (std::size_t i = 0; i < t.size(); ++i) {
      if (std::isnan(t[i]))
        ASSERT_TRUE(std::isnan(all[i]));
      else
        ASSERT_NEAR(all[i], plain(f, t[i]), tolerance * f.scale) << t[i];
    }
  });
}

// To within a few roundings of numbers as large as scale and offset, and NaN stays NaN.
TEST(Activation, ATemperedSigmoidHasTheNumbersOfTheFormula) {
  for (const auto& f : kTempered) {
    SCOPED_TRACE(to_string(f));
    compare_with_the_formula<double>(f, 1e-15);
    compare_with_the_formula<float>(f, 5e-7);
  }
}

TEST(Activation, WithTwoTwoOneItIsTanh) {
  auto t = ordinary_values<double>(40), tanh = t;
  for (std::size_t i = 0; i < t.size(); ++i) tanh[i] = t[i] = 20 * t[i];
  activate(kTempered[0], std::span<double>(t));
  tanh_in_place(tanh);
  for (std::size_t i = 0; i < t.size(); ++i) EXPECT_NEAR(t[i], tanh[i], 1e-15);
}

template <class Real>
void compare_slope(const Activation& f, double tolerance) {
  for_every_special_value<Real>([&](const std::vector<Real>& t) {
    auto a = t;
    activate(f, std::span<Real>(a));
    std::vector<Real> delta(t.size(), Real{3});
    multiply_by_slope(f, std::span<const Real>(a), std::span<Real>(delta));
    for (std::size_t i = 0; i < t.size(); ++i) {
      if (std::isnan(t[i])) {
        ASSERT_TRUE(std::isnan(delta[i]));
        continue;
      }
      const double s = 1 / (1 + std::exp(-f.rate * double{t[i]}));
      ASSERT_NEAR(delta[i], 3 * f.scale * f.rate * s * (1 - s), tolerance * f.rate * f.scale)
          << t[i];
    }
  });
}

// To within roundings of its largest.
TEST(Activation, ItsSlopeComesFromItsValue) {
  for (const auto& f : kTempered) {
    SCOPED_TRACE(to_string(f));
    compare_slope<double>(f, 3e-15);
    compare_slope<float>(f, 2e-6);
  }
}

}  // namespace
}  // namespace porter
