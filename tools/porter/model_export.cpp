// SPDX-License-Identifier: Apache-2.0
// porter model export: a trained model for those who do not have porter.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>

#include "commands.hpp"
#include "export/export.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"

namespace porter::cli {
namespace {

struct ExportArguments {
  std::string model, onnx, header, json;
  ExportOptions options;
  bool force = false;

  std::map<ExportFormat, std::string> files() const {
    std::map<ExportFormat, std::string> wanted = {
        {ExportFormat::onnx, onnx}, {ExportFormat::cpp, header}, {ExportFormat::json, json}};
    std::erase_if(wanted, [](const auto& format) { return format.second.empty(); });
    return wanted;
  }
};

// All files or none: what a format cannot express is known before the first is written.
void export_to_files(ExportArguments arguments) {
  auto& options = arguments.options;
  const auto files = arguments.files();
  require(!files.empty(), ErrorKind::usage, "expected --onnx FILE, --header FILE or --json FILE");
  for (const auto& [format, file] : files)
    require(arguments.force || !std::filesystem::exists(file), ErrorKind::usage, file,
            " is there already; --force replaces it");
  const auto model = load_model(arguments.model);
  std::map<std::string, std::string> contents;
  for (const auto& [format, file] : files) {
    options.format = format;
    options.space = std::filesystem::path(file).stem().string();
    contents[file] = export_model(model, options);
  }
  require(contents.size() == files.size(), ErrorKind::usage, "two formats cannot go into one file");
  for (const auto& [file, bytes] : contents) {
    write_file(file, bytes);
    fmt::print("{}: {} bytes\n", file, bytes.size());
  }
}

}  // namespace

void add_model_export(App& model) {
  auto* command = model.add_subcommand(
      "export", "as ONNX, as a C++ header, or as coefficients: predictions need nothing of porter");
  const auto arguments = std::make_shared<ExportArguments>();
  command->add_option("model", arguments->model, "model.npz, or the folder of a run or agent")
      ->required();
  command->add_option("--onnx", arguments->onnx, "write an ONNX graph to this file");
  command->add_option("--header", arguments->header,
                      "write a C++17 header; the file's name is the namespace");
  command->add_option("--json", arguments->json,
                      "write coefficients by column (logistic, linear, softmax)");
  command->add_option("--which", arguments->options.which,
                      "x_mean, x_best, x_out, x_ema or agent:I");
  command->add_flag("--double", arguments->options.wide, "onnx: float64 in place of float32");
  command->add_flag("--force", arguments->force, "replace a file that is there");
  command->callback([arguments] { export_to_files(*arguments); });
}

}  // namespace porter::cli
