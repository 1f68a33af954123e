// SPDX-License-Identifier: Apache-2.0
#include "porter/io/npy.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "io/file.hpp"
#include "npy_header.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxDimensions = 32;

template <class T>
void convert(const char* from, std::span<double> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    to[i] = static_cast<double>(value);
  }
}

struct Dtype {
  std::string_view code;  // without the byte-order sign
  std::size_t size;
  void (*convert)(const char*, std::span<double>);
};

constexpr Dtype kDtypes[] = {
    {"f8", 8, convert<double>},        {"f4", 4, convert<float>},
    {"i8", 8, convert<std::int64_t>},  {"i4", 4, convert<std::int32_t>},
    {"i2", 2, convert<std::int16_t>},  {"i1", 1, convert<std::int8_t>},
    {"u8", 8, convert<std::uint64_t>}, {"u4", 4, convert<std::uint32_t>},
    {"u2", 2, convert<std::uint16_t>}, {"u1", 1, convert<std::uint8_t>},
    {"b1", 1, convert<std::uint8_t>},
};

// The header is a Python dictionary: {'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }
class Header {
 public:
  Header(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::string_view quoted(std::string_view key) const {
    auto rest = after(key);
    require(rest.size() > 2 && (rest[0] == '\'' || rest[0] == '"'), ErrorKind::io, name_,
            ": the .npy header has no text for '", key, "' (structured arrays are not supported)");
    const auto end = rest.find(rest[0], 1);
    require(end != rest.npos, ErrorKind::io, name_, ": malformed .npy header");
    return rest.substr(1, end - 1);
  }
  bool flag(std::string_view key) const { return after(key).starts_with("True"); }

  std::vector<std::size_t> shape() const {
    auto rest = after("shape");
    const auto end = rest.find(')');
    require(rest.starts_with("(") && end != rest.npos, ErrorKind::io, name_,
            ": malformed shape in the .npy header");
    std::vector<std::size_t> shape;
    const char *at = rest.data() + 1, *last = rest.data() + end;
    while (at < last) {
      std::size_t extent = 0;
      const auto [next, error] = std::from_chars(at, last, extent);
      require(error != std::errc::result_out_of_range, ErrorKind::io, name_,
              ": impossible shape in the .npy header");
      if (error == std::errc{}) shape.push_back(extent);
      require(shape.size() <= kMaxDimensions, ErrorKind::io, name_, ": too many dimensions");
      at = error == std::errc{} ? next : at + 1;
    }
    return shape;
  }

 private:
  std::string_view after(std::string_view key) const {
    const auto at = text_.find(concat("'", key, "'"));
    const auto colon = at == text_.npos ? at : text_.find(':', at);
    require(colon != text_.npos, ErrorKind::io, name_, ": the .npy header has no '", key, "'");
    const auto value = text_.find_first_not_of(' ', colon + 1);
    return value == text_.npos ? std::string_view{} : text_.substr(value);
  }
  std::string_view text_;
  const std::string& name_;
};

std::size_t checked_count(std::span<const std::size_t> shape, std::size_t item_size,
                          std::size_t available, const std::string& name) {
  std::size_t count = 1;
  for (const auto extent : shape) {
    require(extent == 0 || count <= available / item_size / extent, ErrorKind::io, name,
            ": the array is truncated: its shape asks for more than the ", available,
            " bytes that follow the header");
    count *= extent;
  }
  require(count * item_size == available, ErrorKind::io, name, ": expected ", count * item_size,
          " bytes of array data, found ", available);
  return count;
}

void to_row_major(NpyArray& array) {
  if (array.shape.size() < 2) return;
  std::vector<double> out(array.values.size());
  std::vector<std::size_t> index(array.shape.size(), 0);
  for (auto& value : out) {
    std::size_t at = 0;
    for (std::size_t k = index.size(); k-- > 0;) at = at * array.shape[k] + index[k];
    value = array.values[at];
    for (std::size_t k = index.size(); k-- > 0 && ++index[k] == array.shape[k];) index[k] = 0;
  }
  array.values = std::move(out);
}

}  // namespace

std::string npy_header(std::span<const std::size_t> shape, std::string_view dtype) {
  std::string extents;
  for (const auto extent : shape) extents.append(std::to_string(extent)).append(", ");
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  if (shape.size() == 1) extents.pop_back();
  auto header =
      concat("{'descr': '", dtype, "', 'fortran_order': False, 'shape': (", extents, "), }");
  while ((kMagic.size() + 4 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';

  std::string bytes(kMagic);
  bytes += '\x01';
  bytes += '\x00';
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header;
}

std::string encode_npy(std::span<const std::size_t> shape, std::span<const double> values) {
  std::string bytes = npy_header(shape);
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  return bytes;
}

NpyArray decode_npy(std::string_view bytes, const std::string& name, ByteArrays byte_arrays) {
  require(bytes.size() >= 10 && bytes.starts_with(kMagic), ErrorKind::io, name,
          ": not a NumPy .npy file");
  const auto byte = [&](std::size_t i) {
    return std::size_t{static_cast<unsigned char>(bytes[i])};
  };
  const bool short_header = byte(6) == 1;
  const std::size_t header_at = short_header ? 10 : 12;
  require(bytes.size() >= header_at, ErrorKind::io, name, ": truncated .npy header");
  std::size_t header_size = byte(8) | byte(9) << 8;
  if (!short_header) header_size |= byte(10) << 16 | byte(11) << 24;
  require(header_size <= bytes.size() - header_at, ErrorKind::io, name, ": truncated .npy header");

  const Header header(bytes.substr(header_at, header_size), name);
  const auto descr = header.quoted("descr");
  require(descr.size() >= 2 && descr[0] != '>', ErrorKind::io, name, ": unsupported dtype '", descr,
          "', expected little-endian numbers");
  const auto* dtype = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                   [&](const Dtype& d) { return descr.substr(1) == d.code; });
  require(dtype != std::end(kDtypes), ErrorKind::io, name, ": unsupported dtype '", descr,
          "', expected integers or floats");

  const auto data = bytes.substr(header_at + header_size);
  NpyArray array{.shape = header.shape(), .values = {}};
  const auto count = checked_count(array.shape, dtype->size, data.size(), name);
  if (byte_arrays == ByteArrays::bytes && dtype->code == "u1") {
    const auto raw = std::as_bytes(std::span(data));
    array.bytes.assign(raw.begin(), raw.end());
    return array;
  }
  array.values.resize(count);
  dtype->convert(data.data(), array.values);
  if (header.flag("fortran_order")) to_row_major(array);
  return array;
}

void save_npy(const std::filesystem::path& path, std::span<const std::size_t> shape,
              std::span<const double> values) {
  write_file(path, encode_npy(shape, values));
}

NpyArray load_npy(const std::filesystem::path& path) {
  return decode_npy(read_file(path), path.string());
}

}  // namespace porter
