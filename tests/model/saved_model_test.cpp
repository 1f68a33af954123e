// SPDX-License-Identifier: Apache-2.0
#include "porter/model/saved_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"
#include "says.hpp"
#include "temp_dir.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

ModelCard card_of(const std::string& name) {
  ModelCard card{.model = {.name = name, .hidden = {5, 3}}, .features = 4, .classes = {"a", "b"}};
  if (name == "softmax" || name == "mlp") card.classes.push_back("c");
  if (name == "linear") card.classes.clear();
  return card;
}

void save(const std::filesystem::path& file, const ModelCard& card, std::size_t dim,
          const std::string& json = "") {
  const auto text = json.empty() ? card_json(card) : json;
  const std::vector<double> x(dim, 0.5);
  save_npz(file, NpzParts{{"x_mean", {{dim}, {x}}},
                          {"X", {{1, dim}, {x}}},
                          {"about", {{text.size()}, {}, std::as_bytes(std::span(text))}}});
}

TEST(SavedModel, ItsBlocksAreAllOfTheParametersInOrder) {
  for (const std::string name : {"logistic", "softmax", "mlp", "linear"}) {
    const auto card = card_of(name);
    std::size_t at = 0;
    for (const auto& block : parameter_blocks(card.model, card.features, card.scores())) {
      EXPECT_EQ(block.offset, at) << name << block.name;
      at += block.size();
    }
    EXPECT_EQ(at, card.make()->dim()) << name;
  }
}

// The documented order: scores = W2 sigmoid(W1 f + b1) + b2, computed by plain loops.
TEST(SavedModel, TheOrderOfAPerceptronsParametersIsAsDocumented) {
  const ModelCard card{
      .model = {.name = "mlp", .hidden = {3}}, .features = 4, .classes = {"a", "b"}};
  const auto model = card.make();
  std::vector<double> x(model->dim());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(1.7 * static_cast<double>(i));
  const auto data = toy_data(20, 4, 2, false);
  const auto blocks = parameter_blocks(card.model, 4, 2);
  ASSERT_EQ(blocks.size(), 4U);
  const auto layer = [&](const std::vector<double>& in, std::size_t b) {
    std::vector<double> out;
    for (std::size_t o = 0; o < blocks[b].shape[0]; ++o) {
      double sum = x[blocks[b + 1].offset + o];
      for (std::size_t i = 0; i < in.size(); ++i)
        sum += x[blocks[b].offset + o * in.size() + i] * in[i];
      out.push_back(sum);
    }
    return out;
  };
  for (std::size_t row = 0; row < data.rows(); ++row) {
    const auto sample = data[row];
    auto hidden = layer({sample.values.begin(), sample.values.end()}, 0);
    for (double& h : hidden) h = 1 / (1 + std::exp(-h));
    const auto scores = layer(hidden, 2);
    const double p1 = 1 / (1 + std::exp(scores[0] - scores[1]));
    std::vector<double> p(2);
    model->probabilities(x, sample, p);
    EXPECT_NEAR(p[1], p1, 1e-12);
    EXPECT_NEAR(p[0] + p[1], 1, 1e-12);
    EXPECT_EQ(model->predict(x, sample), p[1] > p[0] ? 1 : 0);
  }
}

TEST(SavedModel, ProbabilitiesAgreeWithPredictions) {
  for (const std::string name : {"logistic", "softmax", "mlp"}) {
    const auto card = card_of(name);
    const auto model = card.make();
    std::vector<double> x(model->dim());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::cos(2.3 * static_cast<double>(i));
    const auto data = toy_data(50, 4, card.classes.size(), false);
    std::vector<double> p(card.classes.size());
    for (std::size_t row = 0; row < data.rows(); ++row) {
      model->probabilities(x, data[row], p);
      const auto best = std::max_element(p.begin(), p.end()) - p.begin();
      EXPECT_EQ(static_cast<double>(best), model->predict(x, data[row])) << name;
    }
  }
}

TEST(SavedModel, ReadsBackWhatIsWritten) {
  const TempDir folder;
  auto card = card_of("mlp");
  card.scaling = {.kind = FeatureScale::spectral, .factor = 0.25, .bias = true};
  card.run = "0123";
  card.origin = {{"method", "porter-dp"}};
  save(folder / "model.npz", card, card.make()->dim());
  const auto saved = load_model(folder.path());
  EXPECT_EQ(card_json(saved.card), card_json(card));
  EXPECT_EQ(saved.parameters("x_mean").size(), card.make()->dim());
  EXPECT_EQ(saved.parameters("agent:0")[0], 0.5);
  EXPECT_THROW(saved.parameters("agent:1"), Error);
  EXPECT_THROW(saved.parameters("x_best"), Error);
}

TEST(SavedModel, SaysWhatItsImagesWentThrough) {
  auto card = card_of("softmax");
  card.scaling = {.bias = true, .transform = {TransformKind::hog, {9, 12}}};
  card.features = 393;
  const auto json = card_json(card);
  const auto read = parse_card(json, "card");
  EXPECT_EQ(read.scaling.transform, card.scaling.transform);
  EXPECT_EQ(read.given_features(), 108U);
  EXPECT_EQ(card_json(read), json);
  const auto refusal = [&](const std::string& from, const std::string& to) {
    auto other = json;
    other.replace(other.find(from), from.size(), to);
    return what_fails([&] { parse_card(other, "card"); });
  };
  EXPECT_TRUE(says(refusal("\"9x12\"", "\"9\""), "card: expected HEIGHTxWIDTH"));
  EXPECT_TRUE(says(refusal("\"9x12\"", "\"3x36\""), "expected images of 7 to 4096 pixels a side"));
  EXPECT_TRUE(
      says(refusal("\"hog\"", "\"dog\""), "expected one of none, hog, hog-centred, scattering"));
  EXPECT_TRUE(says(refusal("\"features\": 393", "\"features\": 394"),
                   "makes 393 features, ones included, and the model has 394"));
}

TEST(SavedModel, ItsCardHasTheParametersOfItsActivation) {
  auto card = card_of("mlp");
  card.model.activation = tempered_sigmoid(1.58, 3, 0.71);
  auto json = card_json(card);
  EXPECT_EQ(parse_card(json, "card").model.activation, card.model.activation);
  const std::string text = "tempered:1.58:3.0:0.71";
  json.replace(json.find(text), text.size(), "tempered:1.58:0:0.71");
  EXPECT_TRUE(says(what_fails([&] { parse_card(json, "card"); }),
                   "card: expected tempered:S:T:O with S and T from 0.001 to 1000"));
}

TEST(SavedModel, HandsOutFiniteNumbersOnly) {
  const TempDir folder;
  const auto text = card_json(card_of("logistic"));
  const std::vector<double> good(4, 0.5), bad = {1, std::nan(""), 2, 3};
  save_npz(folder / "model.npz",
           NpzParts{{"x_mean", {{4}, {bad}}},
                    {"x_out", {{4}, {good}}},
                    {"about", {{text.size()}, {}, std::as_bytes(std::span(text))}}});
  const auto saved = load_model(folder.path());
  EXPECT_EQ(saved.parameters("x_out").size(), 4U);
  EXPECT_THROW(saved.parameters("x_mean"), Error);
}

TEST(SavedModel, NamesWhatIsWrongWithAFile) {
  const TempDir folder;
  const auto says = [&](const std::string& what) {
    try {
      load_model(folder / "m.npz");
      FAIL() << what;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  says("no such folder or file");
  const auto card = card_of("logistic");
  save(folder / "m.npz", card, 5);
  says("expected 4 parameters as its card says");
  auto json = card_json(card);
  json.replace(json.find("\"version\": 1"), 12, "\"version\": 2");
  save(folder / "m.npz", card, 4, json);
  says("it has version 2 of the format");
  save(folder / "m.npz", card, 4, "{}");
  says("it has no 'format'");
  const std::string deep(1'000'000, '[');
  save(folder / "m.npz", card, 4, "{\"privacy\": " + deep + std::string(deep.size(), ']') + "}");
  says("the card is nested too deep");
  for (const std::string key : {"deviation", "factor"}) {
    json = card_json(card);
    const auto one = "\"" + key + "\": 1.0";
    json.replace(json.find(one), one.size(), "\"" + key + "\": 0.0");
    save(folder / "m.npz", card, 4, json);
    says("'" + key + "': expected a number above 0");
  }
  save(folder / "m.npz", card, 4, "nothing");
  says("the card is no JSON");
  save_npz(folder / "m.npz", Npz{{"x_mean", {{4}, {1, 2, 3, 4}}}});
  says("it has no card");
  save(folder / "m.npz", card, 4);
  const auto bytes = read_file(folder / "m.npz");
  for (const std::size_t size : {bytes.size() - 1, bytes.size() / 2, std::size_t{3}}) {
    write_file(folder / "m.npz", bytes.substr(0, size));
    EXPECT_THROW(load_model(folder / "m.npz"), Error) << size;
  }
}

}  // namespace
}  // namespace porter
