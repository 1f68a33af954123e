// SPDX-License-Identifier: Apache-2.0
#include "privacy/search.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace porter {
namespace {

TEST(Crossing, FindsASmoothCrossingInFewValues) {
  const std::vector<std::function<double(double)>> functions = {
      [](double x) { return 3 / x; },
      [](double x) { return std::expm1(4 / (x * x)); },
      [](double x) { return std::exp(-x); },
  };
  for (std::size_t i = 0; i < functions.size(); ++i)
    for (const double root : {1.5, 2.0, 5.0})
      for (const double first : {1.0, 2.0, 6.0}) {
        SCOPED_TRACE(testing::Message() << "function " << i << ", " << first << " to " << root);
        int values = 0;
        Crossing crossing([&](double x) { return ++values, functions[i](x); }, functions[i](root));
        crossing.reached(first);
        double guess = crossing.guess();
        while (!crossing.near(guess, 1e-6)) {
          crossing.reached(guess);
          guess = crossing.guess();
        }
        EXPECT_NEAR(guess, root, 1e-5 * root);
        EXPECT_LE(values, 16);  // halving alone would take more than 20
      }
}

TEST(Crossing, EndsAtAJumpAndWithoutUsableValues) {
  const auto jump = [](double x) { return x < 3 ? 5.0 : 0.0; };
  const auto cliff = [](double x) { return x < 3 ? std::numeric_limits<double>::infinity() : 0.0; };
  for (const std::function<double(double)>& function :
       {std::function<double(double)>(jump), std::function<double(double)>(cliff)})
    for (const double first : {0.01, 100.0}) {
      int values = 0;
      Crossing crossing([&](double x) { return ++values, function(x); }, 1);
      crossing.reached(first);
      double guess = crossing.guess();
      while (!crossing.near(guess, 1e-6)) {
        crossing.reached(guess);
        guess = crossing.guess();
        ASSERT_LT(values, 100) << first;
      }
      EXPECT_NEAR(guess, 3, 1e-5) << first;
    }
}

// Halving between numbers whose product is none, and a search that has no end but infinity.
TEST(Crossing, WorksAtTheEndsOfTheNumbers) {
  EXPECT_EQ(geometric_mean(2, 8), 4);
  EXPECT_NEAR(geometric_mean(1e300, 1e304) / 1e302, 1, 1e-12);
  int values = 0;
  Crossing jump([&](double x) { return ++values, x < 1e200 ? 5.0 : 0.0; }, 1e-300);
  jump.reached(1);
  jump.reached(1e308);
  double guess = jump.guess();
  for (; !jump.near(guess, 1e-3); guess = jump.guess()) {
    jump.reached(guess);
    ASSERT_LT(values, 100);
  }
  EXPECT_NEAR(guess / 1e200, 1, 1e-2);

  values = 0;
  Crossing never([&](double) { return ++values, 1.0; }, 0.5);
  never.reached(1);
  for (guess = never.guess(); std::isfinite(guess); guess = never.guess()) {
    never.reached(guess);
    ASSERT_LT(values, 100);  // doubling alone takes a thousand
  }
}

TEST(Crossing, AsksForNothingThatIsKnown) {
  int values = 0;
  Crossing crossing([&](double x) { return ++values, 1 / x; }, 1);
  EXPECT_TRUE(crossing.reached(2));
  EXPECT_TRUE(crossing.reached(2) && crossing.reached(7));
  EXPECT_FALSE(crossing.reached(0.5));
  EXPECT_FALSE(crossing.reached(0.5) || crossing.reached(0.1));
  EXPECT_EQ(values, 2);
  EXPECT_FALSE(crossing.known(1.5).has_value());
}

}  // namespace
}  // namespace porter
