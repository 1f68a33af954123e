// SPDX-License-Identifier: Apache-2.0
// porter data schema: a first draft of what a table's columns mean.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "core/text.hpp"
#include "data/schema_guess.hpp"
#include "findings.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "progress.hpp"

namespace porter::cli {
namespace {

struct SchemaArguments {
  std::string file, out = "schema.toml", separator;
  GuessOptions guess;
  bool force = false, no_header = false;
};

char parse_separator(const std::string& text) {
  if (text == "tab" || text == "\\t") return '\t';
  require(text.size() == 1 && text != "\"", ErrorKind::usage,
          "--separator: expected one character, or tab; found \"", text, "\"");
  return text[0];
}

std::pair<SchemaGuess, std::string> read_guess(const SchemaArguments& options) {
  ReadingLine line(std::chrono::seconds(5));
  TextInput input(options.file, [&](double share) { line.show(options.file, share); });
  return {guess_schema(input, options.guess), input.name()};
}

void write_schema(SchemaArguments& options) {
  if (!options.separator.empty()) options.guess.separator = parse_separator(options.separator);
  if (options.no_header) options.guess.header = false;
  const bool to_stdout = options.out == "-";
  require(to_stdout || options.force || !std::filesystem::exists(options.out), ErrorKind::usage,
          options.out, " exists; choose another name with --out, or replace it with --force");
  const auto [guess, name] = read_guess(options);
  const auto text = draft_text(guess, std::filesystem::path(name).filename().string());
  if (to_stdout) {
    fmt::print("{}", text);
    return;
  }
  print_findings(guess);
  const auto& format = guess.schema.format;
  fmt::print("\n{} records; separator: {}; {}{}; {} features\n", guess.records,
             separator_name(format.separator), format.header ? "a header" : "no header",
             format.decimal_comma ? "; decimal commas" : "", guess.schema.features().size());
  write_file(options.out, text);
  fmt::print(
      "wrote {}: look at it, then use it as\n  [data]\n  train = \"{}\"\n  schema = \"{}\"\n",
      options.out, options.file, options.out);
}

}  // namespace

void add_data_schema(App& data) {
  auto* command = data.add_subcommand(
      "schema", "write a first draft of schema.toml: what the columns of a table mean");
  const auto options = std::make_shared<SchemaArguments>();
  command->add_option("file", options->file, "a csv or tsv file (.gz, .zst), or - for stdin")
      ->required();
  command->add_repeated("--label", options->guess.labels,
                        "the column that is learned: its name, or its place from 1 (default: the "
                        "last); again for each of several targets",
                        "NAME");
  command->add_option("--weight", options->guess.weight,
                      "a column that says how much each record counts, by name or place");
  command->add_option("--out", options->out, "the file to write, or - for stdout");
  command->add_option("--drop", options->guess.drop, "columns that are not to be used");
  command->add_option("--separator", options->separator, "instead of guessing it: , ; | or tab");
  command->add_flag("--no-header", options->no_header, "the first line is a record");
  command->add_option("--max-values", options->guess.most_values,
                      "a text column with more different values is dropped");
  command->add_flag("--force", options->force, "replace the file");
  command->callback([options] { write_schema(*options); });
}

}  // namespace porter::cli
