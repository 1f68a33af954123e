// SPDX-License-Identifier: Apache-2.0
#include "porter/data/load.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "core/registry.hpp"
#include "core/text.hpp"
#include "data/holdout.hpp"
#include "data/moments.hpp"
#include "data/text_input.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "prepare.hpp"
#include "sources.hpp"
#include "table_cache.hpp"

namespace porter {
namespace {

// One file with features and labels, or an IDX file of images and one of labels.
using Files = std::vector<std::string>;

bool is_csv(std::string_view path) {
  for (const std::string_view packed : {".gz", ".zst"})
    if (path.ends_with(packed)) path.remove_suffix(packed.size());
  return path.ends_with(".csv") || path.ends_with(".tsv");
}

// A pipe would be waited for, and a device may have no end.
void require_regular(const std::string& path) {
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  // What is missing, hidden or a folder gets its error from where it is opened.
  require(!std::filesystem::exists(status) || std::filesystem::is_regular_file(status) ||
              std::filesystem::is_directory(status),
          ErrorKind::io, "cannot read ", path, ": expected a regular file, found a pipe or device");
}

// How a file is read.
struct Reading {
  const Schema* schema = nullptr;
  BrokenRows broken = BrokenRows::refuse;
  LoadProgress progress = {};
};

FileTable parse_table(const std::string& path, std::size_t features, const Reading& how) {
  const auto progress = [&](double share) {
    if (how.progress) how.progress(path, share);
  };
  if (how.schema || is_csv(path)) {
    TextInput input(path, progress);
    if (how.schema) return decode_schema_table(input, *how.schema, how.broken);
    // Only rows that may be broken need to be told how wide they are.
    return decode_csv(input, how.broken == BrokenRows::keep ? features : 0, how.broken);
  }
  const auto bytes = read_file(path);
  if (bytes.starts_with("PK\x03\x04")) return decode_npz_table(bytes, path, how.broken);
  require(!bytes.starts_with(std::string_view("\0\0\x08", 3)), ErrorKind::usage, path,
          ": expected libsvm text, csv or npz, found an IDX file; give it as train_images, "
          "train_labels, test_images or test_labels");
  return decode_libsvm(bytes, path, features, how.broken);
}

// Reads files through the cache, and says so where a cache file was damaged.
class Reader {
 public:
  Reader(const std::optional<std::filesystem::path>& cache, bool may_keep, Reading how)
      : cache_(cache), may_keep_(may_keep), how_(std::move(how)) {}

  FileTable table(const Files& files, std::size_t features) {
    const bool idx = files.size() == 2;
    if (idx) features = 0;  // the files say it themselves
    const auto parse = [&] {
      if (!idx) return parse_table(files[0], features, how_);
      return decode_idx(read_file(files[0]), files[0], read_file(files[1]), files[1]);
    };
    for (const auto& file : files) require_regular(file);
    if (!may_keep_) {
      // Under the name of version 0.1, too, whose configs did not state the width.
      for (const std::size_t asked : {features, std::size_t{0}})
        if (cache_) forget_table(*cache_, files, asked);
      return parse();
    }
    auto [table, rebuilt] = load_table(cache_, files, features, parse);
    if (rebuilt) note_ += "; the cached form of " + files.front() + " was damaged and is made anew";
    return std::move(table);
  }
  TablePair tables(const Files& train, const Files& test, std::size_t features) {
    TablePair tables{.train = table(train, features), .test = {}, .source = {}};
    if (!test.empty()) tables.test = table(test, tables.train.data.features);
    return tables;
  }
  const std::string& note() const { return note_; }

 private:
  std::optional<std::filesystem::path> cache_;
  bool may_keep_;
  Reading how_;
  std::string note_;
};

// Of a whole file: rows of another width are up to the decoders.
void check_width(const FileTable& table, std::size_t features) {
  require(features == 0 || table.data.features == features, ErrorKind::io, table.name,
          ": expected ", features, " features as data.features says, found ", table.data.features);
}

void check_same_features(const TablePair& tables) {
  if (!tables.test) return;
  require(tables.test->data.features == tables.train.data.features, ErrorKind::io,
          tables.test->name, ": expected ", tables.train.data.features, " features as in ",
          tables.train.name, ", found ", tables.test->data.features);
}

TablePair read_given(const DataOptions& options, bool idx, Reader& reader) {
  Files train = {options.train}, test = {options.test};
  if (idx) {
    train = {options.train_images, options.train_labels};
    test = {options.test_images, options.test_labels};
    require(!train[0].empty() && !train[1].empty(), ErrorKind::usage,
            "data: expected train_images and train_labels together, found only one of them");
    require(test[0].empty() == test[1].empty(), ErrorKind::usage,
            "data: expected test_images and test_labels together, found only one of them");
  }
  if (test[0].empty()) test.clear();
  auto tables = reader.tables(train, test, options.features);
  tables.source = fmt::format("{} {}", idx ? "files" : "file", fmt::join(train, ", "));
  if (!test.empty()) tables.source += fmt::format(", test {}", fmt::join(test, ", "));
  return tables;
}

Files find_all(const KnownData& data, const DataFolders& folders) {
  Files paths;
  for (const auto& file : data.files)
    if (const auto path = find_data_file(file, folders)) paths.push_back(path->string());
  require(paths.size() == data.files.size(), ErrorKind::io, "data set ", data.name,
          ": expected the files ", names_of(data.files), " (.gz or unpacked) in ",
          describe(folders), "; found ", paths.size(), " of ", data.files.size(),
          ". To download them: porter data fetch ", data.name);
  return paths;
}

TablePair read_known(const KnownData& data, bool without_test, const DataFolders& folders,
                     Reader& reader) {
  const auto paths = find_all(data, folders);
  const auto half = paths.begin() + std::ssize(paths) - std::ssize(paths) / 2;  // test files follow
  auto tables = reader.tables({paths.begin(), half}, {half, without_test ? half : paths.end()},
                              data.features);
  const auto folder = std::filesystem::path(paths.front()).parent_path();
  tables.source = data.name + " (" + data.what + ") from " + folder.string();
  return tables;
}

TablePair read_named(const DataOptions& options, const DataFolders& folders, Reader& reader) {
  require(options.test.empty() && options.test_images.empty() && options.test_labels.empty(),
          ErrorKind::usage,
          "data.test: given without train; a named data set has its own test set");
  require(options.name != kGivenData, ErrorKind::usage,
          "data.name = \"given\": the rows are those that a program had in memory, and only it has "
          "them");
  const auto& known = known_data(options.name);
  const bool made = known.name == "synthetic" || known.name == "synthetic-digits";
  auto tables = !made ? read_known(known, options.without_test, folders, reader)
                : known.name == "synthetic" ? synthetic_tables()
                                            : digit_tables(folders.cache);
  if (options.without_test) {
    tables.test.reset();
    tables.source += "; its test set left out (data.without_test)";
  }
  return tables;
}

// Of the files, or stated; nothing where it is neither.
ImageShape image_shape(const DataOptions& options, bool idx) {
  ImageShape shape = options.image;
  if (!idx) return shape;
  for (const auto& file : {options.train_images, options.test_images}) {
    if (file.empty()) continue;
    require_regular(file);
    const auto found = read_idx_shape(file);
    require(!shape || found == shape, ErrorKind::usage, file, ": expected images of ",
            to_string(shape), options.image ? " as data.image says" : " as for training",
            ", found ", to_string(found));
    shape = found;
  }
  return shape;
}

// What would be found in the rows, or measured on them, would tell of single records.
void require_public_scale(const DataOptions& options) {
  require(!options.measures_scale(), ErrorKind::privacy, "data.scale = \"",
          choice_text(options.scale),
          "\" is measured on the records and would show through the model; with secret noise use "
          "none, unit, or standard with data.moments");
}

void require_public_shape(const DataOptions& options, bool files) {
  require_public_scale(options);
  if (!files) return;
  std::string missing;
  if (options.schema) return;
  if (!options.regression && options.classes.empty()) missing = "data.classes";
  if (options.features == 0) missing += missing.empty() ? "data.features" : " and data.features";
  require(missing.empty(), ErrorKind::usage, missing,
          ": privacy.noise = \"secure\" needs what the records may look like as public input, "
          "because one record can change what is found in a file. In [data], the same for all "
          "agents, write every label in order and the number of feature columns, for instance "
          "classes = [0, 1] or classes = \"0..9\", and features = 30; or a schema");
}

// Class numbers are what a schema's table has for labels.
std::vector<double> class_numbers(const Label& label) {
  std::vector<double> numbers(label.classes.size());
  std::iota(numbers.begin(), numbers.end(), 0.0);
  return numbers;
}

void name_classes(DataPair& pair, const Label& label) {
  pair.train.classes = label.classes;
  if (pair.test) pair.test->classes = label.classes;
}

// A schema says all of that itself.
void check_schema(const DataOptions& options, bool idx) {
  if (!options.schema) return;
  const auto& label = options.schema->labels.front();
  for (const auto& column : options.schema->columns)
    require(!column.lacks_range() && !column.lacks_moments(), ErrorKind::usage, "data.schema: the ",
            column.lacks_range() ? "range" : "mean and deviation", " of the column \"", column.name,
            "\" are still to be measured, which porter run, ", "agent and cluster do");
  require(!idx && !options.train.empty(), ErrorKind::usage,
          "data.schema: it describes the columns of a csv file; expected data.train");
  require(options.classes.empty() && options.features == 0, ErrorKind::usage,
          "data.schema: it has the classes and features; expected no data.classes, data.features");
  require(options.transform == TransformKind::none, ErrorKind::usage, "data.transform = \"",
          choice_text(options.transform),
          "\" is for images; the columns of a table (data.schema) are none");
  require(label.number() == options.regression, ErrorKind::usage, "data.schema: the label \"",
          label.name, "\" is ",
          label.number() ? "a number, but the model learns classes"
                         : "a class, but the model learns a number");
}

}  // namespace

DataPair load_data_from(const DataOptions& given, const DataFolders& folders,
                        const LoadProgress& progress) {
  auto options = given;
  const bool idx = !options.train_images.empty() || !options.train_labels.empty();
  const bool files = idx || !options.train.empty();
  require(!idx || options.train.empty(), ErrorKind::usage,
          "data: expected either train or train_images and train_labels, found both");
  check_without_test(options, "data.without_test: ");
  check_holdout(options, options.fold ? "data.fold: " : "data.holdout: ");
  check_moments(options, "data.moments: ");
  check_schema(options, idx);
  if (options.guarantee) require_public_shape(options, files);
  if (options.images || options.transform != TransformKind::none)
    options.image = image_shape(options, idx);
  const auto broken = options.guarantee ? BrokenRows::keep : BrokenRows::refuse;
  Reader reader(folders.cache, options.cache && !options.guarantee && !options.schema,
                {options.schema.get(), broken, progress});
  auto tables = files ? read_given(options, idx, reader) : read_named(options, folders, reader);
  check_width(tables.train, options.features);
  check_same_features(tables);
  auto classes = options.classes;
  if (options.schema) classes = class_numbers(options.schema->labels.front());
  if (classes.empty() && options.guarantee) classes = known_data(options.name).classes;
  auto pair = label_tables(std::move(tables.train), std::move(tables.test), options.regression,
                           std::move(classes), broken);
  if (options.schema) name_classes(pair, options.schema->labels.front());
  pair.source = std::move(tables.source) + reader.note();
  if (options.schema && options.schema->weight)
    pair.source += concat("; records weighed by ", without_controls(options.schema->weight->name),
                          " up to ", shortest(options.schema->weight->maximum));
  return prepare_data(options, std::move(pair));
}

ImageTransform transform_of(const DataOptions& options) {
  if (!options.images && options.transform == TransformKind::none) return {};
  ImageTransform transform{options.transform, options.image};
  const bool files = !options.train.empty() || !options.train_images.empty();
  if (!transform.image && !files && options.name != kGivenData)
    transform.image = known_data(options.name).image;
  transform.check();
  return transform;
}

DataPair prepare_data(const DataOptions& options, DataPair pair) {
  check_holdout(options, options.fold ? "data.fold: " : "data.holdout: ");
  check_moments(options, "data.moments: ");
  if (options.guarantee) require_public_scale(options);
  hold_out(options, pair);
  const auto transform = transform_of(options);
  if (transform) pair.source += "; images as " + to_string(transform);
  scale_and_add_bias(pair, options.scale, options.bias, transform, options.agents, options.moments);
  plant_outliers(pair, options.outliers, options.bias);
  return pair;
}

DataPair load_data(const DataOptions& options, const LoadProgress& progress) {
  return load_data_from(options, data_folders(), progress);
}

}  // namespace porter
