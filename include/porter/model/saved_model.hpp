// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "porter/data/load.hpp"
#include "porter/data/schema.hpp"
#include "porter/model/model.hpp"

namespace porter {

/// A part of the parameters that has a name: shape row-major, at `offset` of x.
struct ParameterBlock {
  std::string name;
  std::vector<std::size_t> shape;
  std::size_t offset = 0;
  std::size_t inputs = 0;  ///< that a unit has a weight for; 0: biases, scales
  std::size_t uses = 1;    ///< for a sample: of a convolution one at each position

  std::size_t size() const;
};

/// What x consists of, in its order:
///   logistic           w (features)
///   linear             w (features), of several targets W (targets x features)
///   softmax            W (classes x features)
///   mlp                W1 (units x features), b1 (units), W2, b2, ...
///   layers, cnn        the same; of a convolution W (filters x kernel x kernel x channels), of a
///                      group norm s (channels) and b
/// `features` counts the column of ones, which is the last, where there is one. `scores`: classes,
/// or targets.
std::vector<ParameterBlock> parameter_blocks(const ModelOptions& options, std::size_t features,
                                             std::size_t scores);

/// What somebody needs to use a trained model who has nothing but its file, beside the parameters.
struct ModelCard {
  ModelOptions model;
  std::size_t features = 0;               ///< of the model, the column of ones included
  std::vector<std::string> classes = {};  ///< empty: it predicts numbers
  std::size_t outputs = 1;                ///< so many, then
  FeatureScaling scaling = {};
  std::shared_ptr<const Schema> schema = {};  ///< what the columns of tables mean, where stated
  std::string run = {};                       ///< of the config (run_id)
  std::string privacy = {};                   ///< privacy.json, or empty
  std::map<std::string, std::string> origin = {};  ///< method, rounds, agents, ...: for people

  /// Of a record as it is given, before it was transformed and scaled.
  std::size_t given_features() const { return scaling.given_features(features); }
  std::size_t scores() const { return classes.empty() ? outputs : classes.size(); }
  std::unique_ptr<const Model> make() const;
};

/// As JSON: the array `about` of model.npz, bytes. Error{io} names `source` and what is missing,
/// wrong or of a later version.
std::string card_json(const ModelCard& card);
ModelCard parse_card(std::string_view json, const std::string& source);

/// A model.npz: parameters by name (x_mean, x_best, x_out, X), and the card.
struct SavedModel {
  std::string source;
  ModelCard card;
  std::map<std::string, std::vector<double>> vectors = {};  ///< all of them have the model's size
  std::vector<std::vector<double>> agents = {};             ///< the rows of X

  /// x_mean, x_best, x_out, or agent:I. Error{usage} lists what there is; Error{io} unless all
  /// numbers are finite.
  std::span<const double> parameters(const std::string& which) const;
};

/// Of a file, or of a folder that holds model.npz: a simulation's, an agent's or a cluster's.
/// Error{io} names the file: not a model, damaged, of another version or size.
SavedModel load_model(const std::filesystem::path& path);

}  // namespace porter
