// SPDX-License-Identifier: Apache-2.0
// Networks over images. What every model owes is in model_test, gradient_sum_test and weights_test;
// here are images large enough for windows that overlap, and the numbers of PyTorch.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "core/text.hpp"
#include "core/vector_math.hpp"
#include "every_simd_target.hpp"
#include "io/file.hpp"
#include "model/group_norm.hpp"
#include "model/windows.hpp"
#include "paths.hpp"
#include "porter/core/rng.hpp"
#include "porter/model/saved_model.hpp"
#include "says.hpp"
#include "slope.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

ModelOptions layers_over(ImageShape image, std::vector<std::string> layers) {
  return {.name = "layers", .layers = std::move(layers), .image = image};
}

struct ImageCase {
  std::string name;
  ModelOptions options;
  std::size_t classes;
};

const std::vector<ImageCase>& image_cases() {
  static const std::vector<ImageCase> all = {
      {"cnn", {.name = "cnn", .image = {28, 28}}, 10},
      {"deep",
       layers_over({11, 9}, {"conv:3x3/1+1", "relu", "maxpool:2", "conv:5x2", "sigmoid",
                             "avgpool:2/1", "conv:4x2/1+1", "tanh", "dense:6", "tanh"}),
       4},
      {"pools", layers_over({13, 12}, {"avgpool:2/1", "conv:4x3/2", "tanh", "maxpool:3/2"}), 3},
      {"norms",
       layers_over({10, 8}, {"groupnorm:1", "conv:6x3/1+1", "groupnorm:3", "relu", "avgpool:2",
                             "conv:4x2", "groupnorm:4", "tanh", "dense:6", "groupnorm:2", "tanh"}),
       3},
      {"dense", layers_over({4, 6}, {"dense:7", "tanh", "dense:5", "relu"}), 3},
      {"flat", layers_over({3, 5}, {}), 2},
  };
  return all;
}

std::unique_ptr<const Model> model_of(const ImageCase& c) {
  return make_model(c.options, c.options.image.pixels(), c.classes);
}

std::vector<double> small_start(std::size_t dim, std::uint32_t round) {
  std::vector<double> x(dim);
  RngStream(4, Draw::test, 0, round).fill_normal(x);
  for (double& value : x) value = double{static_cast<float>(0.2 * value)};
  return x;
}

// What golden/layers.py wrote: numbers by what they are, of each case.
std::map<std::string, std::map<std::string, double>> golden_numbers() {
  std::istringstream lines(read_file(source_dir() + "/tests/model/golden/layers.csv"));
  std::map<std::string, std::map<std::string, double>> numbers;
  std::string line, name, what, value;
  std::getline(lines, line);  // the header
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::getline(cells, name, ',');
    std::getline(cells, what, ',');
    std::getline(cells, value);
    numbers[name][what] = parse_number<double>(value).value();
  }
  return numbers;
}

TEST(ImageModel, LossesAndGradientsAreThoseOfPyTorch) {
  auto golden = golden_numbers();
  EXPECT_EQ(golden.size(), image_cases().size());
  for (const auto& c : image_cases()) {
    SCOPED_TRACE(c.name);
    auto expected = golden.at(c.name);
    const auto model = model_of(c);
    ASSERT_EQ(static_cast<double>(model->dim()), expected["dim"]);
    std::vector<double> x(model->dim()), gradient(model->dim(), 7.0);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = 0.2 * std::sin(1.7 * static_cast<double>(i) + 0.3);
    std::vector<float> pixels(c.options.image.pixels());
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const auto at = static_cast<double>(i);
      pixels[i] = static_cast<float>(0.5 + 0.5 * std::sin(0.37 * at * at + 1));
    }
    const Sample sample{.sparse = false, .values = pixels, .columns = {}, .label = 1};
    EXPECT_NEAR(model->loss(x, sample, gradient), expected["loss"], 1e-11);
    EXPECT_NEAR(std::sqrt(squared_norm(gradient)), expected["norm"], 1e-10 * expected["norm"]);
    for (const auto& key : {"dim", "loss", "norm"}) expected.erase(key);
    EXPECT_GE(expected.size(), 30U);
    for (const auto& [place, value] : expected) {
      const auto j = parse_number<std::size_t>(place).value();
      EXPECT_NEAR(gradient[j], value, 1e-11) << "coordinate " << j;
    }
  }
}

TEST(ImageModel, GradientsAgreeWithFiniteDifferences) {
  for (const auto& c : image_cases()) {
    SCOPED_TRACE(c.name);
    const auto model = model_of(c);
    const auto data = toy_data(3, c.options.image.pixels(), c.classes, false);
    for (std::uint32_t row = 0; row < 3; ++row) {
      const auto x = small_start(model->dim(), row);
      std::vector<double> gradient(model->dim(), 7.0);
      model->loss(x, data[row], gradient);
      const auto loss = [&](const auto& at) { return model->loss(at, data[row], {}); };
      const std::size_t step = 1 + x.size() / 150;  // all of them where they are few
      for (std::size_t j = row; j < x.size(); j += step)
        EXPECT_NEAR(gradient[j], slope_of(loss, x, j), 2e-8) << "coordinate " << j;
    }
  }
}

// Against the loop over losses, which knows nothing of blocks and of gradients that wait.
TEST(ImageModel, BatchesOfClippedGradientsAreTheSumOfSamples) {
  const std::function<double(double)> clip = [](double norm) { return 1 / (0.3 + norm); };
  for (const auto& c : image_cases()) {
    const auto model = model_of(c);
    auto data = toy_data(60, c.options.image.pixels(), c.classes, false);
    Workspace workspace, other;
    for (const bool weighted : {false, true}) {
      if (weighted) add_weights(data);
      for (const std::size_t b : {0, 1, 2, 40})
        for (const auto* factor :
             {static_cast<const std::function<double(double)>*>(nullptr), &clip}) {
          SCOPED_TRACE(testing::Message() << c.name << " batch " << b << (factor ? " clipped" : "")
                                          << (weighted ? " weighted" : ""));
          std::vector<std::uint32_t> rows;
          for (std::uint32_t i = 0; i < b; ++i) rows.push_back((7 * i + 3) % 50);
          const BatchRequest batch{data, 10, rows, factor};
          const auto x = small_start(model->dim(), static_cast<std::uint32_t>(b));
          std::vector<double> slow(model->dim(), 7.0), fast = slow;
          scale(model->Model::gradient_sum(x, batch, slow, other), slow);
          scale(model->gradient_sum(x, batch, fast, workspace), fast);
          const double size = 1e-3 + std::sqrt(squared_norm(slow));
          EXPECT_LE(std::sqrt(squared_distance(fast, slow)), 1e-12 * size);
          const std::vector<float> narrow_x(x.begin(), x.end());
          std::vector<float> narrow(model->dim(), 7.0F);
          ASSERT_TRUE(model->gradient_sum_in_float(narrow_x, batch, narrow, workspace));
          const std::vector<double> widened(narrow.begin(), narrow.end());
          EXPECT_LE(std::sqrt(squared_distance(widened, slow)), 1e-5 * size);
        }
    }
  }
}

TEST(ImageModel, HasTheSameBitsOnEveryInstructionSet) {
  const std::function<double(double)> clip = [](double norm) { return 1 / (1 + norm); };
  for (const auto& c : image_cases()) {
    SCOPED_TRACE(c.name);
    const auto model = model_of(c);
    const auto data = toy_data(30, c.options.image.pixels(), c.classes, false);
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < 30; ++i) rows.push_back(i);
    const auto x = small_start(model->dim(), 1);
    const std::vector<float> narrow_x(x.begin(), x.end());
    std::vector<std::vector<double>> wide;
    std::vector<std::vector<float>> narrow;
    for_every_simd_target([&](const std::string&) {
      Workspace workspace;
      const BatchRequest batch{data, 0, rows, &clip};
      model->gradient_sum(x, batch, wide.emplace_back(model->dim()), workspace);
      model->gradient_sum_in_float(narrow_x, batch, narrow.emplace_back(model->dim()), workspace);
    });
    for (const auto& found : wide) EXPECT_EQ(found, wide.front());
    for (const auto& found : narrow) EXPECT_EQ(found, narrow.front());
  }
}

TEST(ImageModel, ASampleThatIsNotFiniteCountsForNothing) {
  const std::function<double(double)> clip = [](double norm) {
    return std::isfinite(norm) ? 1 / (1 + norm) : 0;
  };
  for (const auto& c : image_cases())
    for (const float broken :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      SCOPED_TRACE(testing::Message() << c.name << ' ' << broken);
      const auto model = model_of(c);
      const auto pixels = c.options.image.pixels();
      auto data = toy_data(20, pixels, c.classes, false);
      data.values[4 * pixels + pixels / 2] = broken;
      const auto x = small_start(model->dim(), 2);
      Workspace workspace;
      std::vector<double> with(model->dim()), without = with;
      const std::vector<std::uint32_t> all = {0, 4, 5, 6}, others = {0, 5, 6};
      model->gradient_sum(x, {data, 0, all, &clip}, with, workspace);
      model->gradient_sum(x, {data, 0, others, &clip}, without, workspace);
      ASSERT_TRUE(all_finite(with));
      EXPECT_LE(std::sqrt(squared_distance(with, without)), 1e-13);
      if (std::isnan(broken)) {
        EXPECT_TRUE(std::isnan(model->loss(x, data[4], {})));
      }
    }
}

TEST(ImageModel, ThePublishedNetworkHas26010ParametersOfTheseShapes) {
  const ModelOptions options{.name = "cnn", .image = {28, 28}};
  EXPECT_EQ(make_model(options, 784, 10)->dim(), 26010U);
  using Shape = std::vector<std::size_t>;
  const std::vector<std::pair<std::string, Shape>> expected = {
      {"W1", {16, 8, 8, 1}}, {"b1", {16}}, {"W2", {32, 4, 4, 16}}, {"b2", {32}},
      {"W3", {32, 512}},     {"b3", {32}}, {"W4", {10, 32}},       {"b4", {10}}};
  std::size_t at = 0, number = 0;
  for (const auto& block : parameter_blocks(options, 784, 10)) {
    ASSERT_LT(number, expected.size());
    EXPECT_EQ(block.name, expected[number].first);
    EXPECT_EQ(block.shape, expected[number].second);
    EXPECT_EQ(block.offset, at);
    at += block.size();
    ++number;
  }
  EXPECT_EQ(at, 26010U);
}

TEST(ImageModel, ItsCardReadsBackAsTheSameModel) {
  for (const auto& c : image_cases()) {
    ModelCard card{.model = c.options, .features = c.options.image.pixels()};
    for (std::size_t i = 0; i < c.classes; ++i) card.classes.push_back(std::to_string(i));
    const auto read = parse_card(card_json(card), "a card");
    EXPECT_EQ(read.model.layers, c.options.layers) << c.name;
    EXPECT_EQ(read.model.image, c.options.image) << c.name;
    EXPECT_EQ(read.make()->dim(), model_of(c)->dim()) << c.name;
    EXPECT_EQ(card_json(read), card_json(card)) << c.name;
  }
}

TEST(ImageModel, ACardOfAnotherShapeIsRefused) {
  ModelCard card{.model = layers_over({4, 6}, {"conv:2x3"}), .features = 24, .classes = {"a", "b"}};
  auto text = card_json(card);
  text.replace(text.find("4x6"), 3, "4x7");
  EXPECT_TRUE(says(what_fails([&] { parse_card(text, "m.npz"); }),
                   "m.npz: model.name = \"layers\": images of 4x7 have 28 pixels, and the records "
                   "24 features"));
  text.replace(text.find("4x7"), 3, "6x4");
  text.replace(text.find("conv:2x3"), 8, "conv:2x5");
  EXPECT_TRUE(says(what_fails([&] { parse_card(text, "m.npz"); }), "a kernel of 5 is larger"));
}

TEST(ImageModel, LayersThatDoNotFitAreRefusedByName) {
  const auto refusal = [](std::vector<std::string> layers) {
    return what_fails([&] { make_model(layers_over({6, 5}, std::move(layers)), 30, 3); });
  };
  EXPECT_EQ(refusal({"conv:4x3/2", "tanh", "maxpool:3"}),
            "model.layers: layer 3, \"maxpool:3\": a kernel of 3 is larger than what it is laid "
            "on, 2x2 of 4 channels");
  EXPECT_EQ(refusal({"conv:4x9/2+1"}),
            "model.layers: layer 1, \"conv:4x9/2+1\": a kernel of 9 is larger than what it is "
            "laid on, 6x5 of 1 channels with a padding of 1");
  EXPECT_TRUE(says(refusal({"dense:4", "conv:4x2"}), "layer 2, \"conv:4x2\": a kernel of 2"));
  EXPECT_TRUE(says(refusal({"tanh"}), "found it in front"));
  EXPECT_TRUE(
      says(refusal({"dense:4", "tanh", "relu"}), "layer 3, \"relu\": an activation stands "));
  EXPECT_TRUE(
      says(refusal({"conv:1000000x5", "dense:1000000"}), "expected at most 4294967295 parameters"));
  EXPECT_EQ(
      refusal({"conv:4x3", "groupnorm:3"}),
      "model.layers: layer 2, \"groupnorm:3\": 3 groups of the same number of channels cannot "
      "be made of 4x3 of 4 channels");
  for (const char* wrong : {"",
                            "conv",
                            "conv:",
                            "conv:4",
                            "conv:0x3",
                            "conv:4x0",
                            "conv:4x3/0",
                            "conv:4x3+3",
                            "conv:x3",
                            "conv:4x3/2/2",
                            "conv:4x3+1/2",
                            "conv:-4x3",
                            "conv:4x99999999999999999999",
                            "maxpool",
                            "maxpool:0",
                            "maxpool:2+1",
                            "avgpool:2x2",
                            "groupnorm",
                            "groupnorm:0",
                            "groupnorm:2x2",
                            "dense:0",
                            "dense:4x4",
                            "tanh:2",
                            "elu"})
    EXPECT_TRUE(says(refusal({wrong}), "expected conv:FILTERSxKERNEL/STRIDE+PADDING")) << wrong;
  EXPECT_TRUE(says(what_fails([] { make_model({.name = "cnn"}, 784, 10); }),
                   "model.name = \"cnn\" needs the shape of the images"));
  EXPECT_TRUE(says(what_fails([] {
                     make_model({.name = "cnn", .image = {28, 27}}, 784, 10);
                   }),
                   "images of 28x27 have 756 pixels, and the records 784 features"));
  EXPECT_TRUE(says(what_fails([] {
                     make_model({.name = "cnn", .image = {8, 8}}, 64, 10);
                   }),
                   "model.name = \"cnn\": layer 4, \"conv:32x4/2\": a kernel of 4"));
}

// Sizes that nobody has memory for, or that would overflow, are refused before anything is
// computed.
TEST(ImageModel, LayersThatAreTooLargeAreRefused) {
  const auto refusal = [](std::vector<std::string> layers) {
    return what_fails([&] {
      make_model(layers_over({4096, 4096}, std::move(layers)), 4096 * 4096, 2);
    });
  };
  EXPECT_TRUE(says(refusal({"conv:1000000x4096+4095"}), "numbers behind a layer"));
  EXPECT_TRUE(says(refusal({"conv:1x4096+2048"}), "numbers in the windows of an image"));
  EXPECT_TRUE(says(refusal({"conv:1x3", "conv:1x3", "conv:1x3", "conv:1x3"}),
                   "layer 1, \"conv:1x3\": expected at most 67108864 numbers in the windows"));
  EXPECT_TRUE(says(refusal({"avgpool:1", "avgpool:1", "avgpool:1", "avgpool:1", "avgpool:1"}),
                   "layer 5, \"avgpool:1\": expected at most 67108864 numbers of an image"));
  EXPECT_TRUE(says(refusal(std::vector<std::string>(1001, "avgpool:4096")),
                   "expected at most 1000 layers, found 1001"));
  EXPECT_TRUE(
      says(refusal({"avgpool:64", "conv:1000000x1", "conv:1x64"}), "expected at most 67108864"));
}

Stage pool_of(StageKind kind, MapShape in, MapShape out, Window window) {
  return {.kind = kind, .in = in, .out = out, .window = window};
}

TEST(Windows, OfEqualNumbersTheFirstHasTheDerivative) {
  const auto stage = pool_of(StageKind::max_pool, {2, 3, 2}, {1, 2, 2}, {2, 1, 0});
  // Two channels next to each other: 1 1 0 / 1 0 1 and 0 5 5 / 2 5 5.
  const std::vector<double> maps = {1, 0, 1, 5, 0, 5, 1, 2, 0, 5, 1, 5}, above = {1, 2, 4, 8};
  std::vector<double> out(4), below(12, 0.0);
  std::vector<double> room;
  pool_largest<double>(stage, maps, out);
  EXPECT_EQ(out, (std::vector<double>{1, 5, 1, 5}));
  unpool_largest<double>(stage, maps, above, below, room);
  EXPECT_EQ(below, (std::vector<double>{1, 0, 4, 10, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Windows, NaNIsTheLargest) {
  const auto stage = pool_of(StageKind::max_pool, {2, 2, 1}, {1, 1, 1}, {2, 2, 0});
  for (std::size_t at = 0; at < 4; ++at) {
    std::vector<double> maps = {3, 1, 2, 5}, out(1);
    maps[at] = std::numeric_limits<double>::quiet_NaN();
    pool_largest<double>(stage, maps, out);
    EXPECT_TRUE(std::isnan(out[0])) << at;
  }
}

// What is added is the transpose of what is taken: <take(a), b> = <a, add(b)>.
TEST(Windows, AddingIsTheTransposeOfTaking) {
  for (const std::size_t kernel : {1, 2, 3, 4})
    for (const std::size_t stride : {1, 2, 3, 5})
      for (std::size_t padding = 0; padding < kernel; ++padding) {
        SCOPED_TRACE(testing::Message() << kernel << '/' << stride << '+' << padding);
        Stage stage{
            .kind = StageKind::convolution, .in = {5, 7, 2}, .window = {kernel, stride, padding}};
        stage.out = {(5 + 2 * padding - kernel) / stride + 1,
                     (7 + 2 * padding - kernel) / stride + 1, 3};
        const std::size_t count = stage.out.positions() * stage.inputs();
        std::vector<double> a(stage.in.size()), b(count), taken(count, 7.0), added(a.size(), 0.0);
        RngStream(5, Draw::test, 0, 0).fill_normal(a);
        RngStream(6, Draw::test, 0, 0).fill_normal(b);
        take_windows<double>(stage, a, taken);
        add_windows<double>(stage, b, added);
        EXPECT_NEAR(dot(taken, b), dot(a, added), 1e-12 * static_cast<double>(count));
      }
}

// Plain loops of the definition, group by group.
std::vector<double> slow_norm(const Stage& stage, std::span<const double> x,
                              std::span<const double> maps) {
  const std::size_t channels = stage.in.channels, width = channels / stage.groups;
  std::vector<double> out(maps.size());
  for (std::size_t g = 0; g < stage.groups; ++g) {
    std::vector<std::size_t> members;
    for (std::size_t at = 0; at < maps.size(); ++at)
      if (at % channels / width == g) members.push_back(at);
    const auto count = static_cast<double>(members.size());
    double mean = 0, variance = 0;
    for (const auto at : members) mean += maps[at] / count;
    for (const auto at : members) variance += (maps[at] - mean) * (maps[at] - mean) / count;
    for (const auto at : members) {
      const auto c = at % channels;
      out[at] = (1 + x[c]) * (maps[at] - mean) / std::sqrt(variance + 1e-5) + x[channels + c];
    }
  }
  return out;
}

TEST(GroupNorm, IsThatOfPlainLoops) {
  for (const std::size_t channels : {1, 2, 6, 12, 17, 24})
    for (std::size_t groups = 1; groups <= channels; ++groups) {
      if (channels % groups != 0) continue;
      SCOPED_TRACE(testing::Message() << channels << " channels, " << groups << " groups");
      const MapShape shape{3, 5, channels};
      const Stage stage{.kind = StageKind::group_norm,
                        .in = shape,
                        .out = shape,
                        .groups = groups,
                        .biases = channels};
      std::vector<double> maps(shape.size()), out(shape.size()), x(2 * channels), room;
      RngStream(5, Draw::test, 0, 0).fill_normal(maps);
      RngStream(6, Draw::test, 0, 0).fill_normal(x);
      for_every_simd_target([&](const std::string&) {
        normalise<double>(stage, x, maps, out, room);
        EXPECT_LE(std::sqrt(squared_distance(out, slow_norm(stage, x, maps))), 1e-12);
      });
    }
}

}  // namespace
}  // namespace porter
