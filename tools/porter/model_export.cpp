// SPDX-License-Identifier: Apache-2.0
// porter model export: a trained model for those who do not have porter.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "export/export.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"

namespace porter::cli {
namespace {

struct ExportArguments {
  std::string model, to, out;
  ExportOptions options;
  bool force = false;
};

void export_to_file(ExportArguments arguments) {
  const std::filesystem::path out = arguments.out;
  auto& options = arguments.options;
  try {
    options.format = parse_choice<ExportFormat>(arguments.to);
  } catch (const Error& error) {
    fail(error.kind(), "--to: ", error.what());
  }
  options.space = out.stem().string();
  require(arguments.force || !std::filesystem::exists(out), ErrorKind::usage, out.string(),
          " is there already; --force replaces it");
  const auto bytes = export_model(load_model(arguments.model), options);
  write_file(out, bytes);
  fmt::print("{}: {} bytes\n", out.string(), bytes.size());
}

}  // namespace

void add_model_export(App& model) {
  auto* command = model.add_subcommand(
      "export", "as ONNX, as a C++ header, or as coefficients: predictions need nothing of porter");
  const auto arguments = std::make_shared<ExportArguments>();
  command->add_option("model", arguments->model, "model.npz, or the folder of a run or agent")
      ->required();
  command->add_option("--to", arguments->to, "onnx, cpp or json (logistic, linear, softmax)")
      ->required();
  command->add_option("--out", arguments->out, "the file to write; of cpp also the namespace")
      ->required();
  command->add_option("--which", arguments->options.which, "x_mean, x_best, x_out or agent:I");
  command->add_flag("--double", arguments->options.wide, "onnx: float64 in place of float32");
  command->add_flag("--force", arguments->force, "replace a file that is there");
  command->callback([arguments] { export_to_file(*arguments); });
}

}  // namespace porter::cli
