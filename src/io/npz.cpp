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

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
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

std::uint32_t checksum(std::string_view header, const NpyParts& array) {
  auto sum = static_cast<uLong>(checksum(header));
  const auto add = [&](std::string_view bytes) {
    if (!bytes.empty())  // zlib would start anew
      sum = crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  };
  for (const auto part : array.parts) add(bytes_of(part));
  add(bytes_of(array.bytes));
  return static_cast<std::uint32_t>(sum);
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
    std::size_t count = 0;
    for (const auto part : array.parts) count += part.size();
    const std::string name = key + ".npy";
    const auto header = npy_header(array.shape, array.bytes.empty() ? "<f8" : "|u1");
    const std::size_t size = header.size() + count * sizeof(double) + array.bytes.size();
    // With room for the headers of this member and the directory, which are short.
    require(written + size < 0xFFFFFFFF - kRoomForHeaders, ErrorKind::io,
            "cannot write the array '", key, "': a .npz file holds at most 4 GiB");
    const auto common =
        common_fields(checksum(header, array), static_cast<std::uint32_t>(size), name.size());

    append(directory, kCentralHeader);
    append<std::uint16_t>(directory, 20);  // version made by
    directory += common;
    directory.append(10, '\0');  // comment size, disk, attributes
    append(directory, static_cast<std::uint32_t>(written));
    directory += name;

    std::string local;
    append(local, kLocalHeader);
    write(local + common + name + header);
    for (const auto part : array.parts) write(bytes_of(part));
    write(bytes_of(array.bytes));
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
  Npz arrays;
  const auto end = find_end_record(bytes, name);
  const auto count = number_at<std::uint16_t>(bytes, end + 10, name);
  std::size_t at = number_at<std::uint32_t>(bytes, end + 16, name);
  std::size_t claimed = 0;
  for (int i = 0; i < count; ++i) {
    require(number_at<std::uint32_t>(bytes, at, name) == kCentralHeader, ErrorKind::io, name,
            ": damaged zip directory");
    const auto method = number_at<std::uint16_t>(bytes, at + 10, name);
    const auto crc = number_at<std::uint32_t>(bytes, at + 16, name);
    const std::size_t packed_size = number_at<std::uint32_t>(bytes, at + 20, name);
    const std::size_t size = number_at<std::uint32_t>(bytes, at + 24, name);
    const std::size_t name_size = number_at<std::uint16_t>(bytes, at + 28, name);
    const std::size_t extra_size = number_at<std::uint16_t>(bytes, at + 30, name);
    const std::size_t comment_size = number_at<std::uint16_t>(bytes, at + 32, name);
    const std::size_t local = number_at<std::uint32_t>(bytes, at + 42, name);
    require(name_size <= bytes.size() - std::min(bytes.size(), at + kCentralSize), ErrorKind::io,
            name, ": truncated zip directory");
    std::string key(bytes.substr(at + kCentralSize, name_size));
    at += kCentralSize + name_size + extra_size + comment_size;

    require(number_at<std::uint32_t>(bytes, local, name) == kLocalHeader, ErrorKind::io, name,
            ": damaged member '", key, "'");
    const std::size_t data_at = local + kLocalSize +
                                number_at<std::uint16_t>(bytes, local + 26, name) +
                                number_at<std::uint16_t>(bytes, local + 28, name);
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
    require(checksum(data) == crc, ErrorKind::io, name, ": member '", key, "' fails its checksum");
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
