// SPDX-License-Identifier: Apache-2.0
#include "model/layer_stack.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "layers.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kMaxStages = 1000;
constexpr std::size_t kMaxUnits = 1'000'000;
constexpr std::size_t kMaxNumbers = std::size_t{1} << 26;  // of a sample, between all layers

// Papernot, Thakurta, Song, Chien, Erlingsson: Tempered Sigmoid Activations for Deep Learning with
// Differential Privacy, 2021; of images of 28 x 28 and ten classes it has 26,010 parameters.
const std::vector<std::string>& published_layers() {
  static const std::vector<std::string> layers = {"conv:16x8/2+2", "tanh", "maxpool:2/1",
                                                  "conv:32x4/2",   "tanh", "maxpool:2/1",
                                                  "dense:32",      "tanh"};
  return layers;
}

// A layer as it is written: either a stage without its shapes, or an activation.
struct LayerSpec {
  Stage stage = {};
  std::optional<Activation> activation = {};
};

std::optional<std::size_t> number_up_to(std::string_view text, std::size_t most) {
  const auto number = parse_number<std::size_t>(text);
  return number && *number <= most ? number : std::nullopt;
}

// What stands before the mark, and behind it where it is there.
std::pair<std::string_view, std::optional<std::string_view>> cut(std::string_view text, char mark) {
  const auto at = text.find(mark);
  if (at == text.npos) return {text, std::nullopt};
  return {text.substr(0, at), text.substr(at + 1)};
}

// KERNEL, KERNEL/STRIDE, and with +PADDING behind it.
std::optional<Window> parse_window(std::string_view text) {
  const auto [sizes, padding] = cut(text, '+');
  const auto [kernel, stride] = cut(sizes, '/');
  const auto size = number_up_to(kernel, kMaxImageSide);
  const auto step = number_up_to(stride.value_or("0"), kMaxImageSide);
  const auto around = number_up_to(padding.value_or("0"), kMaxImageSide);
  const bool good =
      size && *size > 0 && step && (*step > 0 || !stride) && around && *around < *size;
  if (!good) return std::nullopt;
  return Window{*size, *step, *around};
}

std::optional<Stage> parse_convolution(std::string_view text) {
  const auto [filters, rest] = cut(text, 'x');
  const auto count = number_up_to(filters, kMaxUnits);
  auto window = parse_window(rest.value_or(""));
  if (!count || *count == 0 || !window) return std::nullopt;
  if (window->stride == 0) window->stride = 1;
  Stage stage{.kind = StageKind::convolution, .window = *window};
  stage.out.channels = *count;
  return stage;
}

std::optional<Stage> parse_pool(StageKind kind, std::string_view text) {
  auto window = parse_window(text);
  if (!window || window->padding > 0) return std::nullopt;
  if (window->stride == 0) window->stride = window->kernel;
  return Stage{.kind = kind, .window = *window};
}

std::optional<Stage> parse_dense(std::string_view text) {
  const auto units = number_up_to(text, kMaxUnits);
  if (!units || *units == 0) return std::nullopt;
  Stage stage;
  stage.out.channels = *units;
  return stage;
}

std::optional<Stage> parse_norm(std::string_view text) {
  const auto groups = number_up_to(text, kMaxUnits);
  if (!groups || *groups == 0) return std::nullopt;
  return Stage{.kind = StageKind::group_norm, .groups = *groups};
}

std::optional<Stage> parse_stage(const Spec& spec) {
  const auto argument = spec.argument.value_or("");
  if (spec.name == "conv") return parse_convolution(argument);
  if (spec.name == "maxpool") return parse_pool(StageKind::max_pool, argument);
  if (spec.name == "avgpool") return parse_pool(StageKind::average_pool, argument);
  if (spec.name == "groupnorm") return parse_norm(argument);
  if (spec.name == "dense") return parse_dense(argument);
  return std::nullopt;
}

LayerSpec parse_layer(std::string_view text) {
  const auto spec = split_spec(text);
  if (find_choice<ActivationKind>(text) || spec.name == choice_text(ActivationKind::tempered))
    return {.activation = parse_activation(text)};
  const auto stage = parse_stage(spec);
  require(stage.has_value(), ErrorKind::usage,
          "expected conv:FILTERSxKERNEL/STRIDE+PADDING (stride 1 and padding 0 unless given), ",
          "maxpool:KERNEL/STRIDE or avgpool:KERNEL/STRIDE (stride as the kernel unless given), ",
          "groupnorm:GROUPS, dense:UNITS, tanh, relu, sigmoid or tempered:S:T:O, such as ",
          "conv:16x8/2+2, with a padding below the kernel; found \"", text, "\"");
  return {.stage = *stage};
}

std::string to_string(const MapShape& shape) {
  return concat(shape.height, 'x', shape.width, " of ", shape.channels, " channels");
}

// How many windows fit along a side.
std::size_t windows_along(std::size_t side, const Window& window) {
  return (side + 2 * window.padding - window.kernel) / window.stride + 1;
}

void check_count(const std::vector<std::string>& layers) {
  require(layers.size() <= kMaxStages, ErrorKind::usage, "expected at most ", kMaxStages,
          " layers, found ", layers.size());
}

MapShape output_of(const Stage& stage) {
  if (stage.kind == StageKind::dense) return {1, 1, stage.units()};
  if (stage.kind == StageKind::group_norm) {
    require(stage.in.channels % stage.groups == 0, ErrorKind::usage, stage.groups,
            " groups of the same number of channels cannot be made of ", to_string(stage.in));
    return stage.in;
  }
  const auto& [in, window] = std::tie(stage.in, stage.window);
  require(std::min(in.height, in.width) + 2 * window.padding >= window.kernel, ErrorKind::usage,
          "a kernel of ", window.kernel, " is larger than what it is laid on, ", to_string(in),
          window.padding > 0 ? concat(" with a padding of ", window.padding) : "");
  return {windows_along(in.height, window), windows_along(in.width, window),
          stage.kind == StageKind::convolution ? stage.units() : in.channels};
}

// A convolution writes the windows of a sample side by side. Nothing overflows: a side grows by
// less than a kernel, units are few enough, and the factors of the last product were checked.
void check_size(const Stage& stage, std::size_t numbers) {
  const auto fits = [&](std::size_t count, const char* what) {
    require(count <= kMaxNumbers, ErrorKind::usage, "expected at most ", kMaxNumbers, ' ', what,
            ", found ", count, "; it makes ", to_string(stage.out));
  };
  fits(stage.out.size(), "numbers behind a layer");
  fits(numbers + stage.out.size(), "numbers of an image between all layers");
  fits(stage.inputs(), "inputs of a unit");
  if (stage.kind == StageKind::convolution)
    fits(stage.out.positions() * stage.inputs(), "numbers in the windows of an image");
}

}  // namespace

void check_layers(const std::vector<std::string>& layers) {
  check_count(layers);
  for (const auto& text : layers) parse_layer(text);
}

LayerStack::LayerStack(const std::vector<std::string>& specs, const ImageShape& image,
                       std::size_t scores) {
  check_count(specs);
  const auto add_layer = [&](const LayerSpec& layer) {
    if (layer.activation) return add(*layer.activation);
    auto stage = layer.stage;
    stage.in = stages.empty() ? MapShape{image.height, image.width, 1} : stages.back().out;
    add(stage);
  };
  for (std::size_t i = 0; i < specs.size(); ++i) {
    try {
      add_layer(parse_layer(specs[i]));
    } catch (const Error& error) {
      fail(error.kind(), "layer ", i + 1, ", \"", specs[i], "\": ", error.what());
    }
  }
  LayerSpec last;
  last.stage.out.channels = scores;
  add_layer(last);
}

void LayerStack::add(Stage stage) {
  stage.out = output_of(stage);
  check_size(stage, numbers);
  numbers += stage.out.size();
  require(stage.parameters() <= kMaxParameters - dim, ErrorKind::usage, "expected at most ",
          kMaxParameters, " parameters; a layer of ", stage.inputs(), " inputs and ", stage.units(),
          " outputs leads beyond");
  if (stage.has_parameters()) {
    stage.weights = dim;
    stage.biases = dim + stage.units() * stage.inputs();
  }
  dim += stage.parameters();
  stages.push_back(stage);
}

void LayerStack::add(const Activation& activation) {
  require(!stages.empty() && !stages.back().activation, ErrorKind::usage,
          "an activation stands behind a layer that has none; found ",
          stages.empty() ? "it in front" : "two in a row");
  stages.back().activation = activation;
}

LayerStack stack_of(const ModelOptions& options, std::size_t features, std::size_t scores) {
  const auto& image = options.image;
  require(bool(image), ErrorKind::usage, "model.name = \"", options.name,
          "\" needs the shape of the images, which this data does not tell; in [data] write, for "
          "instance, image = \"28x28\"");
  require(image.pixels() == features, ErrorKind::usage, "model.name = \"", options.name,
          "\": images of ", to_string(image), " have ", image.pixels(), " pixels, and the records ",
          features, " features; data.image is the shape");
  const auto& info = find_model(options.name);
  require(info.takes_layers || options.layers.empty(), ErrorKind::usage, "model.layers: model.name",
          " = \"", options.name, "\" has layers of its own");
  try {
    return {info.takes_layers ? options.layers : published_layers(), image, scores};
  } catch (const Error& error) {
    fail(error.kind(),
         info.takes_layers ? "model.layers" : concat("model.name = \"", info.name, '"'), ": ",
         error.what());
  }
}

}  // namespace porter
