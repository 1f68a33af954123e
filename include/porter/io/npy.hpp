// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace porter {

/// An array of a NumPy file, in C order. Integers, booleans and floats of any width are read as
/// double; the arrays we write are double, or bytes.
struct NpyArray {
  std::vector<std::size_t> shape;
  std::vector<double> values;
  std::vector<std::byte> bytes = {};  ///< in place of values
};

/// How arrays of bytes (uint8) are read.
enum class ByteArrays { numbers, bytes };

/// The bytes of a .npy file, and back. `name` is what errors call the source.
std::string encode_npy(std::span<const std::size_t> shape, std::span<const double> values);
NpyArray decode_npy(std::string_view bytes, const std::string& name,
                    ByteArrays byte_arrays = ByteArrays::numbers);

void save_npy(const std::filesystem::path& path, std::span<const std::size_t> shape,
              std::span<const double> values);
NpyArray load_npy(const std::filesystem::path& path);

/// An array to write whose values lie elsewhere, one part after the other.
struct NpyParts {
  std::vector<std::size_t> shape;
  std::vector<std::span<const double>> parts;
  std::span<const std::byte> bytes = {};  ///< in place of parts
};

/// A .npz file: a zip archive of named .npy members (read stored or deflated; written stored).
using Npz = std::map<std::string, NpyArray>;
using NpzParts = std::map<std::string, NpyParts>;
/// They lie in the arrays.
NpzParts parts_of(const Npz& arrays);
std::string encode_npz(const Npz& arrays);
std::string encode_npz(const NpzParts& arrays);
Npz decode_npz(std::string_view bytes, const std::string& name,
               ByteArrays byte_arrays = ByteArrays::numbers);
void save_npz(const std::filesystem::path& path, const Npz& arrays);
/// Copies none of the arrays.
void save_npz(const std::filesystem::path& path, const NpzParts& arrays);
Npz load_npz(const std::filesystem::path& path, ByteArrays byte_arrays = ByteArrays::numbers);

/// The member `key`, or Error{io} listing the members that `source` has.
const NpyArray& member(const Npz& arrays, const std::string& key, const std::string& source);

}  // namespace porter
