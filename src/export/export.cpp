// SPDX-License-Identifier: Apache-2.0
#include "export/export.hpp"

#include "formats.hpp"
#include "porter/core/error.hpp"

namespace porter {

std::string export_model(const SavedModel& saved, const ExportOptions& options) {
  require(!options.wide || options.format == ExportFormat::onnx, ErrorKind::usage,
          "--double is for onnx; the other formats compute in double anyway");
  const auto& transform = saved.card.scaling.transform;
  require(!transform, ErrorKind::usage, saved.source,
          ": its records are images that went through data.transform = \"",
          choice_text(transform.kind),
          "\", which no exported file holds; porter predict applies it");
  require(!find_model(saved.card.model.name).takes_images, ErrorKind::usage, saved.source,
          ": it is a network over images (model.name = \"", saved.card.model.name,
          "\"), which no exported file holds; porter predict computes it");
  const auto flat = flatten(saved, options.which);
  switch (options.format) {
    case ExportFormat::onnx:
      return to_onnx(saved, flat, options.wide);
    case ExportFormat::cpp:
      return to_cpp_header(saved, flat, options.space);
    case ExportFormat::json:
      return to_coefficients(saved, flat);
  }
  fail(ErrorKind::usage, "no such format");
}

}  // namespace porter
