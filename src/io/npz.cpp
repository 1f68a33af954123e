// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "io/file.hpp"
#include "npy_header.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"

namespace porter {
namespace {

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
  uLong sum = 0;
  for (const auto piece : pieces)
    if (!piece.empty())  // zlib would start anew
      sum = crc32_z(sum, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
  return static_cast<std::uint32_t>(sum);
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

NpzParts parts_of(const Npz& arrays) {
  NpzParts parts;
  for (const auto& [key, array] : arrays) parts[key] = {array.shape, {array.values}, array.bytes};
  return parts;
}

}  // namespace

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

void save_npz(const std::filesystem::path& path, const NpzParts& arrays) {
  FileWriter file(path);
  put_npz(arrays, [&](std::string_view part) { file.write(part); });
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
