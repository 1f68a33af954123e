// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "porter/model/model.hpp"

namespace porter {

std::unique_ptr<const Model> make_logistic(const ModelOptions& options, std::size_t features,
                                           std::size_t classes);
std::unique_ptr<const Model> make_linear(const ModelOptions& options, std::size_t features,
                                         std::size_t outputs);
std::unique_ptr<const Model> make_softmax(const ModelOptions& options, std::size_t features,
                                          std::size_t classes);
std::unique_ptr<const Model> make_mlp(const ModelOptions& options, std::size_t features,
                                      std::size_t scores);
std::unique_ptr<const Model> make_image_model(const ModelOptions& options, std::size_t features,
                                              std::size_t scores);

/// One layer without biases; cross-entropy without a loss.
std::unique_ptr<const Model> make_flat_perceptron(double lambda, std::optional<LossKind> loss,
                                                  std::size_t features, std::size_t scores);

}  // namespace porter
