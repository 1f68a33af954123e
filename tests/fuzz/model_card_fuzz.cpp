// SPDX-License-Identifier: Apache-2.0
// The card of a model file is refused by name, or is written again as it was read.
#include <cstdlib>

#include "fuzz.hpp"
#include "porter/core/error.hpp"
#include "porter/model/saved_model.hpp"

std::vector<std::string> fuzz_seeds() {
  const porter::ModelCard mlp{.model = {.name = "mlp",
                                        .hidden = {3},
                                        .activation = porter::tempered_sigmoid(1.58, 3, 0.71)},
                              .features = 4,
                              .classes = {"a", "b"},
                              .origin = {{"method", "porter-dp"}}};
  const porter::ModelCard linear{.model = {.name = "linear", .loss = porter::LossKind::huber},
                                 .features = 2};
  const porter::ModelCard images{.model = {.name = "softmax"},
                                 .features = 392,
                                 .classes = {"a", "b"},
                                 .scaling = {.transform = {porter::TransformKind::hog, {8, 9}}}};
  const porter::ModelCard network{
      .model = {.name = "layers",
                .layers = {"conv:4x3/2+1", "groupnorm:2", "tanh", "maxpool:2", "dense:5"},
                .image = {8, 9}},
      .features = 72,
      .classes = {"a", "b"}};
  return {porter::card_json(mlp), porter::card_json(linear), porter::card_json(images),
          porter::card_json(network)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto card = porter::parse_card(text, "input");
    const auto written = porter::card_json(card);
    if (porter::card_json(porter::parse_card(written, "again")) != written) std::abort();
  } catch (const porter::Error&) {
  }
  return 0;
}
