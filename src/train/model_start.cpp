// SPDX-License-Identifier: Apache-2.0
// A run that begins where another one ended.
#include "model_start.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "config/difference.hpp"
#include "core/text.hpp"
#include "core/vector_math.hpp"
#include "io/toml.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"
#include "porter/model/saved_model.hpp"
#include "porter/privacy/statement.hpp"

namespace porter {
namespace {

using Meaning = std::map<std::string, std::string>;

// What makes the same parameters another model where it differs. How the loss was measured does
// not, and neither does what the scale was measured to be.
Meaning meaning_of(const ModelOptions& model, const std::vector<std::string>& classes,
                   std::size_t features, std::size_t outputs, const FeatureScaling& scaling,
                   const Schema* schema) {
  std::string names;
  for (const auto& name : classes) names += (names.empty() ? "" : ", ") + in_quotes(name);
  Meaning meaning = {{"model.name", model.name},
                     {"features", std::to_string(features)},
                     {"classes", classes.empty() ? "none" : names},
                     {"targets", std::to_string(classes.empty() ? outputs : 0)},
                     {"data.transform", to_string(scaling.transform)},
                     {"data.scale", std::string(choice_text(scaling.kind))},
                     {"data.bias", scaling.bias ? "true" : "false"}};
  if (find_model(model.name).layered) {
    meaning["model.hidden"] = fmt::format("[{}]", fmt::join(model.hidden, ", "));
    meaning["model.activation"] = to_string(model.activation);
  }
  if (find_model(model.name).takes_images) {
    meaning["model.layers"] = fmt::format("[{}]", fmt::join(model.layers, ", "));
    meaning["data.image"] = to_string(model.image);
  }
  if (schema)
    for (auto& [name, text] : schema_facts(*schema)) meaning["schema: " + name] = std::move(text);
  return meaning;
}

void require_same_model(const ModelCard& card, const RunParts& parts, const std::string& source) {
  const auto& [config, train] = std::tie(parts.config, *parts.data.train);
  const auto difference =
      differing_keys(meaning_of(card.model, card.classes, card.features, card.outputs, card.scaling,
                                card.schema.get()),
                     "the file",
                     meaning_of(config.model, train.classes, train.features, train.outputs,
                                parts.data.scaling, config.data.schema.get()),
                     "this run");
  require(difference.empty(), ErrorKind::usage, "algorithm.start: ", source,
          " is another model: ", difference);
}

std::string cost_note(const std::string& privacy, const std::string& source) {
  return concat(
      "algorithm.start: x0 was learned from records, whose cost is not in this run's "
      "epsilon; the model says of it: ",
      privacy.empty() ? "nothing" : parse_statement(privacy, source).sentence);
}

// Version 0.1 wrote no cards.
std::vector<double> without_card(Npz& arrays, const std::string& file) {
  const auto found = arrays.find("x_mean");
  require(found != arrays.end() && found->second.shape.size() == 1, ErrorKind::io,
          "algorithm.start: ", file, ": it has no x_mean, so it is no model");
  return std::move(found->second.values);
}

}  // namespace

bool starts_from_model(const Config& config) {
  const auto spec = split_spec(config.algorithm.start);
  return spec.name == "model" && spec.argument && !spec.argument->empty();
}

std::vector<double> model_start(RunParts& parts) {
  const std::filesystem::path path = *split_spec(parts.config.algorithm.start).argument;
  const auto file = (std::filesystem::is_directory(path) ? path / "model.npz" : path).string();
  auto arrays = load_npz(file, ByteArrays::bytes);
  const bool described = arrays.contains("about") && !parts.own_model;
  std::string privacy;
  std::vector<double> x;
  if (described) {
    const auto saved = load_model(file);
    require_same_model(saved.card, parts, file);
    const auto mean = saved.parameters("x_mean");
    x.assign(mean.begin(), mean.end());
    privacy = saved.card.privacy;
  } else {
    x = without_card(arrays, file);
  }
  const bool finite = all_finite(x);
  require(x.size() == parts.facts.dim && finite, ErrorKind::usage, "algorithm.start: ", file,
          ": expected an x_mean of d = ", parts.facts.dim, " finite numbers, found ", x.size(),
          finite ? "" : ", some of them not finite");
  parts.facts.notes.push_back(cost_note(privacy, file));
  return x;
}

}  // namespace porter
