// SPDX-License-Identifier: Apache-2.0
// What every model of the table owes, however new: the fast ways are those of `loss` and `predict`.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/vector_math.hpp"
#include "image_options.hpp"
#include "porter/core/rng.hpp"
#include "porter/model/saved_model.hpp"
#include "slope.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

constexpr std::size_t kPixels = 17 * 17;  // the published network takes 16 a side at least

struct TableCase {
  ModelOptions options;
  std::size_t classes;
};

// Every row of the table with two classes, or none, and where it can be a regression, that too.
std::vector<TableCase> table_cases() {
  std::vector<TableCase> cases;
  for (const auto& info : model_table()) {
    ModelOptions options{.name = info.name, .hidden = {6}};
    if (info.takes_layers)
      options.layers = {"conv:4x4/3+1", "groupnorm:2", "tanh", "maxpool:2", "dense:5"};
    options = with_image(options, kPixels);
    cases.push_back({options, info.most_classes == 0 ? 0U : 2U});
    if (!info.takes_loss) continue;
    options.loss = LossKind::huber;
    cases.push_back({options, 0});
  }
  return cases;
}

std::vector<double> start_of(const Model& model) {
  std::vector<double> x(model.dim());
  RngStream(4, Draw::test, 0, 1).fill_normal(x);
  for (double& value : x) value *= 0.1;
  return x;
}

template <class Check>
void for_each_case(const Check& check) {
  for (const auto& c : table_cases()) {
    SCOPED_TRACE(c.options.name + (c.classes == 0 ? ", a regression" : ""));
    const auto data = toy_data(40, kPixels, c.classes, false);
    const auto model = make_model(c.options, kPixels, c.classes);
    check(c, *model, data, start_of(*model));
  }
}

TEST(ModelContract, BlocksAreAllOfTheParametersInOrder) {
  for_each_case([](const TableCase& c, const Model& model, const Dataset& data, const auto&) {
    std::size_t at = 0;
    for (const auto& block : parameter_blocks(c.options, kPixels, data.scores())) {
      EXPECT_EQ(block.offset, at) << block.name;
      at += block.size();
    }
    EXPECT_EQ(at, model.dim());
  });
}

TEST(ModelContract, GradientsAgreeWithFiniteDifferences) {
  for_each_case([](const TableCase&, const Model& model, const Dataset& data, const auto& x) {
    std::vector<double> gradient(model.dim(), 7.0);
    model.loss(x, data[3], gradient);
    const auto loss = [&](const auto& at) { return model.loss(at, data[3], {}); };
    for (std::size_t j = 0; j < x.size(); j += 1 + x.size() / 100)
      EXPECT_NEAR(gradient[j], slope_of(loss, x, j), 2e-8) << "coordinate " << j;
  });
}

TEST(ModelContract, BatchesAreSumsOfClippedSamples) {
  const std::function<double(double)> clip = [](double norm) { return 1 / (0.1 + norm); };
  std::vector<std::uint32_t> rows(33);
  std::iota(rows.begin(), rows.end(), 2);
  for_each_case([&](const TableCase&, const Model& model, const Dataset& data, const auto& x) {
    const BatchRequest batch{data, 0, rows, &clip};
    std::vector<double> fast(model.dim(), 7.0), slow = fast;
    Workspace workspace, other;
    scale(model.gradient_sum(x, batch, fast, workspace), fast);
    scale(model.Model::gradient_sum(x, batch, slow, other), slow);
    EXPECT_LE(std::sqrt(squared_distance(fast, slow)), 1e-11 * std::sqrt(squared_norm(slow)));
  });
}

TEST(ModelContract, EvaluationIsTheSumOverRows) {
  for_each_case([](const TableCase&, const Model& model, const Dataset& data, const auto& x) {
    std::vector<double> fast(model.dim(), 0.0), slow = fast;
    const auto a = model.evaluate(x, data, 1, 39, fast);
    const auto b = model.Model::evaluate(x, data, 1, 39, slow);
    EXPECT_NEAR(a.loss, b.loss, 1e-9 * b.loss);
    EXPECT_EQ(a.correct, b.correct);
    EXPECT_NEAR(a.squared_error, b.squared_error, 1e-9 * b.squared_error);
    EXPECT_LE(std::sqrt(squared_distance(fast, slow)), 1e-11 * std::sqrt(squared_norm(slow)));
  });
}

TEST(ModelContract, ProbabilitiesAreThoseOfThePrediction) {
  for_each_case([](const TableCase& c, const Model& model, const Dataset& data, const auto& x) {
    if (c.classes == 0) return;
    std::vector<double> p(c.classes);
    for (std::size_t row = 0; row < data.rows(); ++row) {
      model.probabilities(x, data[row], p);
      EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-12);
      EXPECT_EQ(model.predict(x, data[row]), p[1] > p[0] ? 1 : 0);
    }
  });
}

TEST(ModelContract, CardsReadBackAsTheyWere) {
  for_each_case([](const TableCase& c, const Model& model, const Dataset& data, const auto&) {
    const ModelCard card{.model = c.options, .features = kPixels, .classes = data.classes};
    const auto read = parse_card(card_json(card), "a card");
    EXPECT_EQ(card_json(read), card_json(card));
    EXPECT_EQ(read.make()->dim(), model.dim());
  });
}

}  // namespace
}  // namespace porter
