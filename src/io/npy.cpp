// SPDX-License-Identifier: Apache-2.0
#include "porter/io/npy.hpp"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "io/npz_file.hpp"
#include "porter/core/bytes.hpp"
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

// What stands before the values: doubles, or bytes ("|u1").
std::string npy_header(std::span<const std::size_t> shape, std::string_view dtype = "<f8") {
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

// --- .npz: a zip archive of such files

constexpr std::uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22;
constexpr std::size_t kMaxMember = std::size_t{1} << 33;

template <class T>
T number_at(std::string_view bytes, std::size_t at, const std::string& name) {
  require(at <= bytes.size() && sizeof(T) <= bytes.size() - at, ErrorKind::io, name,
          ": truncated .npz file");
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

std::string inflate_raw(std::string_view packed, std::size_t size, const std::string& name) {
  require(size <= kMaxMember && size / 1100 <= packed.size(), ErrorKind::io, name,
          ": a member claims an impossible size of ", size, " bytes");
  std::string out(size, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  require(inflateInit2(&stream, -MAX_WBITS) == Z_OK, ErrorKind::io, name, ": zlib failed to start");
  const int status = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  require(status == Z_STREAM_END && stream.avail_out == 0, ErrorKind::io, name,
          ": a member does not unpack: the data is damaged");
  return out;
}

// Of the pieces, one after the other.
std::uint32_t checksum(std::span<const std::string_view> pieces) {
  std::uint32_t sum = 0;
  for (const auto piece : pieces) sum = crc32(std::as_bytes(std::span(piece)), sum);
  return sum;
}

std::string member_key(const std::string& name) {
  return name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name;
}

// The end record is the last thing in the file, except for a comment of up to 65535 bytes.
std::size_t find_end_record(std::string_view bytes, const std::string& name) {
  for (std::size_t back = kEndSize; back <= bytes.size() && back <= kEndSize + 0xFFFF; ++back)
    if (number_at<std::uint32_t>(bytes, bytes.size() - back, name) == kEnd)
      return bytes.size() - back;
  fail(ErrorKind::io, name, ": not a .npz file, or truncated (no zip directory at its end)");
}

template <class T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// The fields that the local and the central header of a member share.
std::string common_fields(std::uint32_t crc, std::uint32_t size, std::size_t name_size) {
  std::string fields;
  append<std::uint16_t>(fields, 20);        // version needed
  append<std::uint16_t>(fields, 0);         // flags
  append<std::uint16_t>(fields, 0);         // stored
  append<std::uint32_t>(fields, 0x210000);  // 1980-01-01 00:00, so equal arrays give equal files
  append(fields, crc);
  append(fields, size);
  append(fields, size);
  append(fields, static_cast<std::uint16_t>(name_size));
  append<std::uint16_t>(fields, 0);  // extra
  return fields;
}

constexpr std::size_t kRoomForHeaders = 1 << 20;

// Hands the bytes of the archive to put(), piece by piece.
template <class Put>
void put_npz(const NpzParts& arrays, const Put& put) {
  std::string directory;
  std::size_t written = 0;
  const auto write = [&](std::string_view piece) {
    put(piece);
    written += piece.size();
  };
  for (const auto& [key, array] : arrays) {
    const std::string name = key + ".npy";
    const auto header = npy_header(array.shape, array.bytes.empty() ? "<f8" : "|u1");
    std::vector<std::string_view> pieces = {header};
    for (const auto part : array.parts) pieces.push_back(bytes_of(part));
    pieces.push_back(bytes_of(array.bytes));
    std::size_t size = 0;
    for (const auto piece : pieces) size += piece.size();
    // With room for the headers of this member and the directory, which are short.
    require(written + size < 0xFFFFFFFF - kRoomForHeaders, ErrorKind::io,
            "cannot write the array '", key, "': a .npz file holds at most 4 GiB");
    const auto common =
        common_fields(checksum(pieces), static_cast<std::uint32_t>(size), name.size());

    append(directory, kCentralHeader);
    append<std::uint16_t>(directory, 20);  // version made by
    directory += common;
    directory.append(10, '\0');  // comment size, disk, attributes
    append(directory, static_cast<std::uint32_t>(written));
    directory += name;

    std::string local;
    append(local, kLocalHeader);
    write(local + common + name);
    for (const auto piece : pieces) write(piece);
  }
  std::string end = directory;
  append(end, kEnd);
  append<std::uint32_t>(end, 0);
  append(end, static_cast<std::uint16_t>(arrays.size()));
  append(end, static_cast<std::uint16_t>(arrays.size()));
  append(end, static_cast<std::uint32_t>(directory.size()));
  append(end, static_cast<std::uint32_t>(written));
  append<std::uint16_t>(end, 0);
  write(end);
}

}  // namespace

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

NpzParts parts_of(const Npz& arrays) {
  NpzParts parts;
  for (const auto& [key, array] : arrays) parts[key] = {array.shape, {array.values}, array.bytes};
  return parts;
}

std::string encode_npz(const NpzParts& arrays) {
  std::string bytes;
  put_npz(arrays, [&](std::string_view part) { bytes += part; });
  return bytes;
}

std::string encode_npz(const Npz& arrays) { return encode_npz(parts_of(arrays)); }

Npz decode_npz(std::string_view bytes, const std::string& name, ByteArrays byte_arrays) {
  const auto short_at = [&](std::size_t at) { return number_at<std::uint16_t>(bytes, at, name); };
  const auto long_at = [&](std::size_t at) { return number_at<std::uint32_t>(bytes, at, name); };
  Npz arrays;
  const auto end = find_end_record(bytes, name);
  const auto count = short_at(end + 10);
  std::size_t at = long_at(end + 16), claimed = 0;
  for (int i = 0; i < count; ++i) {
    require(long_at(at) == kCentralHeader, ErrorKind::io, name, ": damaged zip directory");
    const auto method = short_at(at + 10);
    const auto crc = long_at(at + 16);
    const std::size_t packed_size = long_at(at + 20), size = long_at(at + 24);
    const std::size_t name_size = short_at(at + 28), extra_size = short_at(at + 30);
    const std::size_t comment_size = short_at(at + 32), local = long_at(at + 42);
    require(name_size <= bytes.size() - std::min(bytes.size(), at + kCentralSize), ErrorKind::io,
            name, ": truncated zip directory");
    std::string key(bytes.substr(at + kCentralSize, name_size));
    at += kCentralSize + name_size + extra_size + comment_size;

    require(long_at(local) == kLocalHeader, ErrorKind::io, name, ": damaged member '", key, "'");
    const auto data_at = local + kLocalSize + short_at(local + 26) + short_at(local + 28);
    require(data_at <= bytes.size() && packed_size <= bytes.size() - data_at, ErrorKind::io, name,
            ": member '", key, "' is truncated");
    claimed += packed_size;
    require(claimed <= bytes.size(), ErrorKind::io, name, ": member '", key,
            "' shares its bytes with another: damaged zip directory");
    require(!arrays.contains(member_key(key)), ErrorKind::io, name, ": member '", key,
            "' is there twice");
    require(method == 0 || method == 8, ErrorKind::io, name, ": member '", key,
            "' is packed by an unknown method ", method);
    const auto packed = bytes.substr(data_at, packed_size);
    const std::string data = method == 0 ? std::string(packed) : inflate_raw(packed, size, name);
    require(checksum({{data}}) == crc, ErrorKind::io, name, ": member '", key,
            "' fails its checksum");
    key = member_key(key);
    arrays[key] = decode_npy(data, name + "[" + key + "]", byte_arrays);
  }
  return arrays;
}

void write_npz(FileWriter& file, const NpzParts& arrays) {
  put_npz(arrays, [&](std::string_view part) { file.write(part); });
}

void save_npz(const std::filesystem::path& path, const NpzParts& arrays) {
  FileWriter file(path);
  write_npz(file, arrays);
  file.finish();
}

void save_npz(const std::filesystem::path& path, const Npz& arrays) {
  save_npz(path, parts_of(arrays));
}

Npz load_npz(const std::filesystem::path& path, ByteArrays byte_arrays) {
  return decode_npz(read_file(path), path.string(), byte_arrays);
}

const NpyArray& member(const Npz& arrays, const std::string& key, const std::string& source) {
  const auto found = arrays.find(key);
  if (found != arrays.end()) return found->second;
  std::string names;
  for (const auto& [name, unused] : arrays) names += (names.empty() ? "" : ", ") + name;
  fail(ErrorKind::io, source, ": no array '", key, "'; it holds: ", names.empty() ? "none" : names);
}

}  // namespace porter
