// SPDX-License-Identifier: Apache-2.0
#include "table_cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

#include "io/file.hpp"
#include "porter/core/bytes.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

// Raise it when a decoder or this format changes: older cache files are then passed over.
constexpr std::string_view kVersion = "porter table 1\n";
constexpr std::uintmax_t kWorthCaching = 100'000;  // bytes of source
constexpr std::size_t kPaletteSize = 256;

enum Flag : std::uint8_t { sparse_rows = 1, palette = 2, line_numbers = 4, several_labels = 8 };

template <class T>
void put_all(Payload& bytes, const std::vector<T>& values) {
  const auto raw = std::as_bytes(std::span(values));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

template <class T>
std::vector<T> get_all(ByteReader& reader, std::size_t count) {
  require(count <= reader.left() / sizeof(T), ErrorKind::protocol, "too many values");
  const auto raw = reader.take(count * sizeof(T));
  std::vector<T> values(count);
  if (count > 0) std::memcpy(values.data(), raw.data(), raw.size());
  return values;
}

// Where there are few different values (pixels, indicators), a byte each names them.
bool put_palette(Payload& bytes, const std::vector<float>& values) {
  std::unordered_map<std::uint32_t, std::uint8_t> numbers;
  std::vector<float> colours;
  Payload named;
  named.reserve(values.size());
  for (const float value : values) {
    const auto [found, is_new] = numbers.try_emplace(std::bit_cast<std::uint32_t>(value),
                                                     static_cast<std::uint8_t>(colours.size()));
    if (is_new) {
      if (colours.size() == kPaletteSize) return false;
      colours.push_back(value);
    }
    named.push_back(static_cast<std::byte>(found->second));
  }
  put(bytes, static_cast<std::uint32_t>(colours.size()));
  put_all(bytes, colours);
  bytes.insert(bytes.end(), named.begin(), named.end());
  return true;
}

std::vector<float> get_palette(ByteReader& reader, std::size_t count) {
  const auto size = reader.get<std::uint32_t>();
  require(size <= kPaletteSize, ErrorKind::protocol, "too large a palette");
  auto colours = get_all<float>(reader, size);
  const auto named = reader.take(count);
  require(std::all_of(named.begin(), named.end(),
                      [&](std::byte name) { return std::to_integer<std::size_t>(name) < size; }),
          ErrorKind::protocol, "a value outside the palette");
  colours.resize(kPaletteSize);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = colours[std::to_integer<std::size_t>(named[i])];
  return values;
}

bool all_finite(const auto& values) {
  return std::all_of(values.begin(), values.end(), [](auto v) { return std::isfinite(v); });
}

// Row lengths become offsets; columns ascend within a row and stay below the number of features.
bool valid_rows(Dataset& data, const std::vector<std::uint32_t>& lengths) {
  data.row_starts.assign(1, 0);
  for (const auto length : lengths) {
    const auto begin = data.row_starts.back(), end = begin + length;
    if (end > data.columns.size()) return false;
    for (auto e = begin; e < end; ++e)
      if (data.columns[e] >= data.features || (e > begin && data.columns[e] <= data.columns[e - 1]))
        return false;
    data.row_starts.push_back(end);
  }
  return data.row_starts.back() == data.columns.size();
}

FileTable read_body(ByteReader& reader) {
  FileTable table;
  auto& data = table.data;
  const auto flags = reader.get<std::uint8_t>();
  data.features = reader.get<std::uint64_t>();
  const auto rows = reader.get<std::uint64_t>(), entries = reader.get<std::uint64_t>();
  require(data.features > 0 && data.features <= kMaxFeatures && rows > 0 && rows <= reader.left() &&
              entries <= reader.left(),
          ErrorKind::protocol, "impossible sizes");
  if (flags & several_labels) data.outputs = reader.get<std::uint64_t>();
  require(data.outputs > 0 && data.outputs <= reader.left() / rows, ErrorKind::protocol,
          "impossible sizes");
  table.labels = get_all<double>(reader, rows * data.outputs);
  if (flags & line_numbers) {
    const auto lines = get_all<std::uint64_t>(reader, rows);
    table.lines.assign(lines.begin(), lines.end());
  }
  bool valid = all_finite(table.labels);
  if (flags & sparse_rows) {
    const auto lengths = get_all<std::uint32_t>(reader, rows);
    data.columns = get_all<std::uint32_t>(reader, entries);
    valid = valid && valid_rows(data, lengths);
  } else {
    valid = valid && entries % rows == 0 && entries / rows == data.features;
  }
  data.values = flags & palette ? get_palette(reader, entries) : get_all<float>(reader, entries);
  require(valid && all_finite(data.values) && reader.left() == 0, ErrorKind::protocol,
          "not a table");
  return table;
}

// The names separate the files, so that bytes cannot move from one to the next.
std::string key_of(const std::vector<std::string>& files, std::size_t features) {
  std::string key = concat(features, "\n");
  for (const auto& file : files) key.append(sha256_hex(read_raw_file(file))).push_back('\n');
  return key;
}

std::string cache_name(const std::vector<std::string>& files, std::size_t features) {
  std::string all = concat(features);
  for (const auto& file : files) all += concat("\n", fs::absolute(file).string());
  return fs::path(files.front()).filename().string() + "-" + sha256_hex(all).substr(0, 16) +
         ".table";
}

fs::path folder_in(const fs::path& cache) { return cache / "parsed"; }

// Whether there is such a folder, of this user and no link, that nobody else can look into.
bool own_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::create_directories(folder.parent_path(), ignored);
  ::mkdir(folder.c_str(), 0700);
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return false;
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) return false;
  return (status.st_mode & 077) == 0 || ::chmod(folder.c_str(), 0700) == 0;
}

bool worth_caching(const std::vector<std::string>& files) {
  std::uintmax_t bytes = 0;
  std::error_code missing;
  for (const auto& file : files)
    if (const auto size = fs::file_size(file, missing); !missing) bytes += size;
  return bytes >= kWorthCaching;
}

}  // namespace

std::string encode_table(const FileTable& table, std::string_view key) {
  const auto& data = table.data;
  Payload values;
  const bool named = put_palette(values, data.values);
  if (!named) {
    values.clear();
    put_all(values, data.values);
  }
  Payload body;
  put(body, static_cast<std::uint8_t>((data.sparse() ? sparse_rows : 0) | (named ? palette : 0) |
                                      (table.lines.empty() ? 0 : line_numbers) |
                                      (data.outputs == 1 ? 0 : several_labels)));
  put(body, static_cast<std::uint64_t>(data.features));
  put(body, static_cast<std::uint64_t>(table.rows()));
  put(body, static_cast<std::uint64_t>(data.values.size()));
  if (data.outputs > 1) put(body, static_cast<std::uint64_t>(data.outputs));
  put_all(body, table.labels);
  put_all(body, std::vector<std::uint64_t>(table.lines.begin(), table.lines.end()));
  if (data.sparse())
    for (std::size_t row = 0; row < table.rows(); ++row)
      put(body, static_cast<std::uint32_t>(data.row_starts[row + 1] - data.row_starts[row]));
  put_all(body, data.columns);
  body.insert(body.end(), values.begin(), values.end());

  const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
  return concat(kVersion, key, crc32(body), "\n", text);
}

std::optional<FileTable> decode_table(std::string_view bytes, std::string_view key) {
  if (!bytes.starts_with(kVersion) || !bytes.substr(kVersion.size()).starts_with(key))
    return std::nullopt;
  bytes.remove_prefix(kVersion.size() + key.size());
  const auto end = bytes.find('\n');
  if (end == bytes.npos) return std::nullopt;
  const auto body = std::as_bytes(std::span(bytes.substr(end + 1)));
  if (bytes.substr(0, end) != concat(crc32(body))) return std::nullopt;
  try {
    ByteReader reader(body);
    return read_body(reader);
  } catch (const Error&) {
    return std::nullopt;
  }
}

CachedTable keep_table(const std::optional<fs::path>& cache, const std::string& name,
                       const std::function<std::string()>& key_now,
                       const std::function<FileTable()>& make) {
  if (!cache || !own_folder(folder_in(*cache))) return {make()};
  const auto path = folder_in(*cache) / name;
  const auto key = key_now();
  bool damaged = false;
  std::error_code missing;
  if (fs::is_regular_file(fs::symlink_status(path, missing))) {
    try {
      const auto bytes = read_raw_file(path);
      if (auto table = decode_table(bytes, key)) return {*std::move(table)};
      // With its key it should have been whole; with another it is of an older source.
      damaged = !bytes.starts_with(kVersion) ||
                std::string_view(bytes).substr(kVersion.size()).starts_with(key);
    } catch (const Error&) {  // unreadable: as good as missing
    }
  }
  auto table = make();
  try {
    if (key_now() == key)  // else a source changed while it was parsed
      write_file_soon(path, encode_table(table, key));
  } catch (const std::exception&) {  // the cache only saves time
  }
  return {std::move(table), damaged};
}

CachedTable load_table(const std::optional<fs::path>& cache, const std::vector<std::string>& files,
                       std::size_t features, const std::function<FileTable()>& parse) {
  if (!worth_caching(files)) return {parse()};
  const auto key_now = [&] { return key_of(files, features); };
  auto kept = keep_table(cache, cache_name(files, features), key_now, parse);
  kept.table.name = files.back();
  return kept;
}

void forget_table(const fs::path& cache, const std::vector<std::string>& files,
                  std::size_t features) {
  std::error_code missing;
  fs::remove(folder_in(cache) / cache_name(files, features), missing);
}

}  // namespace porter
