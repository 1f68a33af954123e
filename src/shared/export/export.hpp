// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "porter/model/saved_model.hpp"

namespace porter {

/// What a trained model becomes for those who do not have porter.
enum class ExportFormat {
  onnx,  ///< a graph with the schema's encoding in it
  cpp,   ///< one header, C++17, standard library only
  json,  ///< coefficients by column, of models that are linear in the raw values
};

struct ExportOptions {
  ExportFormat format = ExportFormat::onnx;
  std::string which = "x_mean";  ///< of SavedModel::parameters
  bool wide = false;             ///< onnx: float64 in place of float32
  std::string space = "model";   ///< cpp: the namespace, made an identifier
};

/// The bytes of the file. Same model, same bytes. Error{usage} says what the format cannot express,
/// and which one can.
std::string export_model(const SavedModel& saved, const ExportOptions& options);

}  // namespace porter
