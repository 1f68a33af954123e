// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "porter/core/error.hpp"
#include "porter/data/dataset.hpp"
#include "porter/data/image.hpp"
#include "porter/data/schema.hpp"

namespace porter {

class TextInput;

/// What a decoder makes of one file: features and outputs as in Dataset (its labels and classes
/// still empty), and the labels as the file has them, rows x outputs.
struct FileTable {
  std::string name;  ///< what errors call the file
  Dataset data = {};
  std::vector<double> labels = {};
  std::vector<std::size_t> lines = {};  ///< text files: the line of each row, from 1

  std::size_t rows() const { return labels.size() / data.outputs; }
  /// "file, line 7" or, for binary files, "file, row 6" (rows count from 0).
  std::string place(std::size_t row) const {
    return lines.empty() ? concat(name, ", row ", row) : concat(name, ", line ", lines[row]);
  }
};

/// What becomes of a record that cannot be read or does not fit.
enum class BrokenRows {
  refuse,  ///< an error
  keep,    ///< it stays and counts for nothing
};

/// The decoders below take any bytes: they return a valid table with at least one row and only
/// finite numbers, or throw Error{io} that names the place, what was expected and what was found.
/// What they allocate is bounded by a multiple of the bytes they are given.

/// Lines `label index:value index:value ...`, indices from 1 and ascending, `#` comments.
/// `features` = 0: as many as the largest index; else a larger index is an error. Broken rows are
/// kept only where `features` says how wide they are, here and in decode_csv.
FileTable decode_libsvm(std::string_view bytes, const std::string& name, std::size_t features,
                        BrokenRows broken = BrokenRows::refuse);

/// Rows of numbers, the label in the last column, between commas, semicolons, tabs or bars, which
/// is guessed; commas where broken rows are kept. The first line is a header if none of its fields
/// is a number. `features` = 0: one fewer than the first line has columns.
FileTable decode_csv(TextInput& input, std::size_t features = 0,
                     BrokenRows broken = BrokenRows::refuse);
FileTable decode_csv(std::string_view bytes, const std::string& name, std::size_t features = 0,
                     BrokenRows broken = BrokenRows::refuse);

/// A table of text as a schema sees it: the labels are class numbers, or scaled targets.
FileTable decode_schema_table(TextInput& input, const Schema& schema, BrokenRows broken);

/// A .npz archive with `X` (rows x features) and `y` (rows, or rows x outputs).
FileTable decode_npz_table(std::string_view bytes, const std::string& name,
                           BrokenRows broken = BrokenRows::refuse);

/// IDX files of unsigned bytes: images (magic 2051) become features in [0, 1], labels (magic 2049)
/// numbers 0 to 255.
struct IdxImages {
  std::size_t count = 0, features = 0;
  std::string_view pixels;  ///< a view into the decoded bytes
};
IdxImages decode_idx_images(std::string_view bytes, const std::string& name);
/// What the header of a file of images says.
ImageShape read_idx_shape(const std::string& file);
std::string_view decode_idx_labels(std::string_view bytes, const std::string& name);
/// A table of images, a byte for each of `features` pixels, and of a byte for each label.
FileTable table_of_images(const std::string& name, std::string_view pixels, std::size_t features,
                          std::string_view labels);
FileTable decode_idx(std::string_view image_bytes, const std::string& image_name,
                     std::string_view label_bytes, const std::string& label_name);

/// More features than this in a file is taken for damage.
inline constexpr std::size_t kMaxFeatures = std::size_t{1} << 28;

}  // namespace porter
