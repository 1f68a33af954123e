// SPDX-License-Identifier: Apache-2.0
// porter model: what a model file is.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "core/text.hpp"
#include "porter/model/saved_model.hpp"
#include "porter/privacy/statement.hpp"

namespace porter::cli {
namespace {

std::string shape_text(const ParameterBlock& block) {
  return fmt::format("{}", fmt::join(block.shape, " x "));
}

std::string kind_text(const ModelCard& card) {
  std::string text = card.model.name;
  if (find_model(card.model.name).layered)
    text += fmt::format(", hidden layers {}, {}", fmt::join(card.model.hidden, ", "),
                        to_string(card.model.activation));
  if (find_model(card.model.name).takes_images)
    text += fmt::format(" over images of {}", to_string(card.model.image));
  if (!card.model.layers.empty()) text += fmt::format(", {}", fmt::join(card.model.layers, ", "));
  if (const auto loss = regression_loss(card.model))
    text += fmt::format(", {} loss", choice_text(*loss));
  return text;
}

std::string label_names(const Schema& schema) {
  std::string text;
  for (const auto& label : schema.labels)
    text += (text.empty() ? "" : ", ") + without_controls(label.name);
  return text;
}

std::string answer_text(const ModelCard& card) {
  if (card.classes.empty())
    return card.outputs == 1 ? "a number"
           : card.schema ? fmt::format("{} numbers: {}", card.outputs, label_names(*card.schema))
                         : fmt::format("{} numbers", card.outputs);
  constexpr std::size_t kShown = 20;
  std::string text = fmt::format("{} classes:", card.classes.size());
  for (std::size_t c = 0; c < std::min(card.classes.size(), kShown); ++c)
    text += (c == 0 ? " " : ", ") + without_controls(card.classes[c]);
  return text + (card.classes.size() > kShown ? ", ..." : "");
}

std::string scaling_text(const FeatureScaling& scaling) {
  std::string text = scaling.transform ? to_string(scaling.transform) + ", then " : "";
  text += choice_text(scaling.kind);
  if (scaling.kind == FeatureScale::standard)
    text += fmt::format(" (mean {:.6g}, deviation {:.6g})", scaling.mean, scaling.deviation);
  if (scaling.kind == FeatureScale::spectral)
    text += fmt::format(" (factor {:.6g})", scaling.factor);
  return text + (scaling.bias ? ", and a column of ones" : "");
}

void show(const std::string& path, bool json) {
  const auto saved = load_model(path);
  const auto& card = saved.card;
  if (json) {
    fmt::print("{}", card_json(card));
    return;
  }
  fmt::print("{}\n  model       {}\n  predicts    {}\n  features    {}\n", saved.source,
             kind_text(card), answer_text(card), card.given_features());
  fmt::print("  scaling     {}\n  schema      {}\n", scaling_text(card.scaling),
             card.schema ? fmt::format("{} columns, label{} {} ({})", card.schema->columns.size(),
                                       card.outputs == 1 ? "" : "s", label_names(*card.schema),
                                       schema_hash(*card.schema).substr(0, 16))
                         : std::string("none: columns are known by their place"));
  for (const auto& [key, value] : card.origin)
    fmt::print("  {:<11} {}\n", without_controls(key), without_controls(value));
  fmt::print("  run         {}\n", without_controls(card.run));
  if (!card.privacy.empty())
    fmt::print("  privacy     {}\n", parse_statement(card.privacy, saved.source).sentence);
  fmt::print("\n  parameters  shape            at\n");
  for (const auto& block : parameter_blocks(card.model, card.features, card.scores()))
    fmt::print("  {:<11} {:<16} {}\n", block.name, shape_text(block), block.offset);
  fmt::print("\n  holds      ");
  for (const auto& [name, unused] : saved.vectors) fmt::print(" {}", without_controls(name));
  fmt::print(", and X of {} agents\n", saved.agents.size());
}

}  // namespace

void add_model_command(App& app) {
  auto* model = app.add_subcommand("model", "model files: what they are, and for others to use");
  model->require_subcommand(1);
  struct Arguments {
    std::string path;
    bool json = false;
  };
  const auto options = std::make_shared<Arguments>();
  auto* show_command = model->add_subcommand(
      "show", "kind, classes, schema, scaling, parameters by name, origin and privacy");
  show_command->add_option("model", options->path, "model.npz, or the folder of a run or agent")
      ->required();
  show_command->add_flag("--json", options->json, "print JSON");
  show_command->callback([options] { show(options->path, options->json); });
  add_model_export(*model);
}

}  // namespace porter::cli
