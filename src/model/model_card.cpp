// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/json.hpp"
#include "layers.hpp"
#include "model/layer_stack.hpp"
#include "porter/core/error.hpp"
#include "porter/model/saved_model.hpp"
#include "porter/version.hpp"

namespace porter {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kCardVersion = 1;
constexpr std::string_view kFormat = "porter model";
constexpr std::size_t kMaxSize = std::size_t{1} << 28;

// The keys of a card, each checked as it is taken.
class Keys {
 public:
  Keys(const Json& json, const std::string& source) : json_(json), source_(source) {
    require(json.is_object(), ErrorKind::io, source, ": expected a JSON object");
  }
  const Json& get(const char* key) const {
    const auto found = json_.find(key);
    require(found != json_.end(), ErrorKind::io, source_, ": it has no '", key, "'");
    return *found;
  }
  Keys inner(const char* key) const { return {get(key), source_}; }
  std::string text(const char* key) const {
    const auto& value = get(key);
    check(value.is_string(), key, "a text");
    return value.get<std::string>();
  }
  double number(const char* key) const {
    const auto& value = get(key);
    check(value.is_number() && std::isfinite(value.get<double>()), key, "a number");
    return value.get<double>();
  }
  bool flag(const char* key) const {
    check(get(key).is_boolean(), key, "true or false");
    return get(key).get<bool>();
  }
  std::size_t count(const char* key) const {
    const auto value = whole_number<std::size_t>(get(key));
    check(value.has_value(), key, "a whole number");
    return *value;
  }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> list;
    check(get(key).is_array(), key, "a list of texts");
    for (const auto& item : get(key)) {
      check(item.is_string(), key, "a list of texts");
      list.push_back(item.get<std::string>());
    }
    return list;
  }
  std::vector<std::size_t> counts(const char* key) const {
    std::vector<std::size_t> list;
    check(get(key).is_array(), key, "a list of whole numbers");
    for (const auto& item : get(key)) {
      const auto value = whole_number<std::size_t>(item);
      check(value.has_value(), key, "a list of whole numbers");
      list.push_back(*value);
    }
    return list;
  }
  void check(bool good, const char* key, const char* expected) const {
    require(good, ErrorKind::io, source_, ": '", key, "': expected ", expected);
  }
  const Json& json() const { return json_; }

 private:
  const Json& json_;
  const std::string& source_;
};

Json blocks_json(const ModelCard& card) {
  Json blocks = Json::array();
  for (const auto& block : parameter_blocks(card.model, card.features, card.scores()))
    blocks.push_back({{"name", block.name}, {"shape", block.shape}, {"offset", block.offset}});
  return blocks;
}

std::vector<ParameterBlock> stack_blocks(const LayerStack& stack) {
  std::vector<ParameterBlock> blocks;
  for (const auto& stage : stack.stages) {
    if (!stage.has_parameters()) continue;
    const auto number = std::to_string(blocks.size() / 2 + 1);
    const auto kernel = stage.window.kernel;
    if (stage.kind == StageKind::group_norm)
      blocks.push_back({"s" + number, {stage.units()}, stage.weights});
    else
      blocks.push_back(
          {"W" + number, {stage.units(), stage.inputs()}, stage.weights, stage.inputs()});
    if (stage.kind == StageKind::convolution)
      blocks.back().shape = {stage.units(), kernel, kernel, stage.in.channels};
    blocks.push_back({"b" + number, {stage.units()}, stage.biases});
    for (auto& block : std::span(blocks).last(2)) block.uses = stage.out.positions();
  }
  return blocks;
}

ModelOptions parse_options(const Keys& keys) {
  ModelOptions options{.name = keys.text("name"),
                       .lambda = keys.number("lambda"),
                       .hidden = keys.counts("hidden"),
                       .activation = parse_activation(keys.text("activation"))};
  if (!keys.get("loss").is_null()) options.loss = parse_choice<LossKind>(keys.text("loss"));
  const auto& info = find_model(options.name);
  if (info.takes_layers) options.layers = keys.texts("layers");
  if (info.takes_images) options.image = parse_image_shape(keys.text("image"));
  return options;
}

ImageTransform parse_transform(const Keys& keys) {
  ImageTransform transform{parse_choice<TransformKind>(keys.text("transform")), {}};
  if (transform) transform.image = parse_image_shape(keys.text("image"));
  transform.check();
  return transform;
}

FeatureScaling parse_scaling(const Keys& keys) {
  FeatureScaling scaling{.kind = parse_choice<FeatureScale>(keys.text("kind")),
                         .mean = keys.number("mean"),
                         .deviation = keys.number("deviation"),
                         .factor = keys.number("factor"),
                         .bias = keys.flag("bias")};
  for (const auto& [key, divisor] :
       {std::pair("deviation", scaling.deviation), {"factor", scaling.factor}})
    keys.check(divisor > 0 && std::isfinite(1 / divisor), key, "a number above 0");
  if (keys.json().contains("transform")) scaling.transform = parse_transform(keys);
  return scaling;
}

void check_version(const Keys& keys, const std::string& source) {
  require(keys.text("format") == kFormat, ErrorKind::io, source, ": not a card of a porter model");
  const auto version = keys.count("version");
  require(version == kCardVersion, ErrorKind::io, source, ": it has version ", version,
          " of the format, and this porter (", kVersion, ") knows version ", kCardVersion);
}

void check_transform(const ModelCard& card, const std::string& source) {
  const auto& transform = card.scaling.transform;
  if (!transform) return;
  const auto columns = transform.features() + (card.scaling.bias ? 1 : 0);
  require(columns == card.features && !card.schema, ErrorKind::io, source, ": ",
          to_string(transform), " makes ", columns, " features, ones included, and the model has ",
          card.features, card.schema ? " and a schema" : "");
}

// What does not go together would be noticed late, or never.
void check_sizes(const ModelCard& card, const std::string& source) {
  require(card.features >= 1 && card.features <= kMaxSize && card.outputs >= 1 &&
              card.outputs <= kMaxSize && card.classes.size() <= kMaxClasses,
          ErrorKind::io, source, ": a model of impossible size: ", card.features, " features, ",
          card.outputs, " outputs, ", card.classes.size(), " classes");
  check_transform(card, source);
  if (!card.schema) return;
  const auto columns = card.schema->features().size() + (card.scaling.bias ? 1 : 0);
  const auto& labels = card.schema->labels;
  require(columns == card.features && labels.front().classes == card.classes, ErrorKind::io, source,
          ": its schema has ", columns, " features and ", labels.front().classes.size(),
          " classes, the model ", card.features, " and ", card.classes.size());
  require(labels.size() == card.outputs, ErrorKind::io, source, ": its schema has ", labels.size(),
          " labels, the model ", card.outputs, " outputs");
}

}  // namespace

std::size_t ParameterBlock::size() const {
  std::size_t product = 1;
  for (const auto extent : shape) product *= extent;
  return product;
}

std::vector<ParameterBlock> parameter_blocks(const ModelOptions& options, std::size_t features,
                                             std::size_t scores) {
  const auto& info = find_model(options.name);
  if (info.takes_images) return stack_blocks(stack_of(options, features, scores));
  if (!info.layered) {
    const bool vector = info.single_score() && (scores == 1 || !is_regression(options));
    if (vector) return {{"w", {features}, 0, features}};
    return {{"W", {scores, features}, 0, features}};
  }
  auto widths = options.hidden;
  widths.push_back(scores);
  std::vector<ParameterBlock> blocks;
  for (const auto& layer : Layers(features, widths, true, options.activation).list) {
    const auto number = std::to_string(blocks.size() / 2 + 1);
    blocks.push_back({"W" + number, {layer.outputs, layer.inputs}, layer.weights, layer.inputs});
    blocks.push_back({"b" + number, {layer.outputs}, layer.biases});
  }
  return blocks;
}

std::unique_ptr<const Model> ModelCard::make() const {
  return make_model(model, features, classes.size(), outputs);
}

std::string card_json(const ModelCard& card) {
  const auto& scaling = card.scaling;
  Json json = {{"format", kFormat},
               {"version", kCardVersion},
               {"porter", kVersion},
               {"model",
                {{"name", card.model.name},
                 {"lambda", card.model.lambda},
                 {"hidden", card.model.hidden},
                 {"activation", to_string(card.model.activation)},
                 {"loss", card.model.loss ? Json(choice_text(*card.model.loss)) : Json(nullptr)}}},
               {"features", card.features},
               {"classes", card.classes},
               {"outputs", card.outputs},
               {"scaling",
                {{"kind", choice_text(scaling.kind)},
                 {"mean", scaling.mean},
                 {"deviation", scaling.deviation},
                 {"factor", scaling.factor},
                 {"bias", scaling.bias}}},
               {"parameters", blocks_json(card)},
               {"schema", card.schema ? Json(to_toml(*card.schema)) : Json(nullptr)},
               {"run", card.run},
               {"origin", card.origin},
               {"privacy", card.privacy.empty() ? Json(nullptr) : Json::parse(card.privacy)}};
  const auto& info = find_model(card.model.name);
  if (info.takes_layers) json["model"]["layers"] = card.model.layers;
  if (info.takes_images) json["model"]["image"] = to_string(card.model.image);
  if (const auto& transform = scaling.transform) {
    json["scaling"]["transform"] = choice_text(transform.kind);
    json["scaling"]["image"] = to_string(transform.image);
  }
  return json_text(json, 1) + "\n";
}

ModelCard parse_card(std::string_view text, const std::string& source) {
  require(!nests_deep(text), ErrorKind::io, source, ": the card is nested too deep");
  const auto json = Json::parse(text, nullptr, false);
  require(!json.is_discarded(), ErrorKind::io, source, ": the card is no JSON");
  const Keys keys(json, source);
  check_version(keys, source);
  ModelCard card;
  try {
    card = {.model = parse_options(keys.inner("model")),
            .features = keys.count("features"),
            .classes = keys.texts("classes"),
            .outputs = keys.count("outputs"),
            .scaling = parse_scaling(keys.inner("scaling")),
            .run = keys.text("run")};
    if (const auto& schema = keys.get("schema"); !schema.is_null())
      card.schema = std::make_shared<const Schema>(parse_schema(keys.text("schema"), "its schema"));
    for (const auto& [name, value] : keys.inner("origin").json().items())
      if (value.is_string()) card.origin[name] = value.get<std::string>();
    if (const auto& privacy = keys.get("privacy"); !privacy.is_null())
      card.privacy = json_text(privacy, 2) + "\n";
    check_sizes(card, source);
    card.make();  // refuses what no model can be
  } catch (const Error& error) {
    const std::string what = error.what();
    fail(ErrorKind::io, what.starts_with(source) ? "" : source + ": ", what);
  }
  return card;
}

}  // namespace porter
