// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "io/file.hpp"
#include "porter/core/bytes.hpp"
#include "porter/core/error.hpp"
#include "sources.hpp"

namespace porter {
namespace {

// Raise it when the drawing changes: older cache files are then passed over.
constexpr int kVersion = 1;
constexpr std::size_t kPixels = 784;

// Names version, number and checksum; what comes after is the labels, then the pixels.
std::string header(std::size_t count, std::string_view body) {
  const auto sum = crc32(std::as_bytes(std::span(body)));
  return concat("porter digits ", kVersion, " ", count, " ", sum, "\n");
}

FileTable to_table(std::string_view labels, std::string_view pixels, const char* name) {
  FileTable table{.name = name};
  table.data.features = kPixels;
  table.data.values.reserve(pixels.size());
  for (const char pixel : pixels)
    table.data.values.push_back(static_cast<float>(static_cast<unsigned char>(pixel)) / 255.0F);
  table.labels.assign(labels.begin(), labels.end());
  return table;
}

}  // namespace

std::string encode_digits(const Digits& digits) {
  const auto body = digits.labels + digits.pixels;
  return header(digits.labels.size(), body) + body;
}

std::optional<Digits> decode_digits(std::string_view bytes, std::size_t count) {
  const auto size = count * (1 + kPixels);
  if (bytes.size() < size) return std::nullopt;
  const auto body = bytes.substr(bytes.size() - size);
  if (bytes.substr(0, bytes.size() - size) != header(count, body)) return std::nullopt;
  return Digits{.labels = std::string(body.substr(0, count)),
                .pixels = std::string(body.substr(count))};
}

Digits load_or_draw_digits(const std::optional<std::filesystem::path>& cache, std::size_t count) {
  const auto file = concat("synthetic-digits-", kVersion, ".bin");
  try {
    if (cache)
      if (auto digits = decode_digits(read_file(*cache / file), count)) return *std::move(digits);
  } catch (const Error&) {  // missing or unreadable
  }
  ThreadPool pool;
  auto digits = draw_digits(0, count, pool);
  try {
    if (cache) {
      std::filesystem::create_directories(*cache);
      write_file(*cache / file, encode_digits(digits));
    }
  } catch (const std::exception&) {  // the cache only saves time
  }
  return digits;
}

TablePair digit_tables(const std::optional<std::filesystem::path>& cache) {
  const auto& known = known_data("synthetic-digits");
  const auto digits = load_or_draw_digits(cache, known.train_rows + known.test_rows);
  const std::string_view labels = digits.labels, pixels = digits.pixels;
  const auto rows = known.train_rows;
  return {.train = to_table(labels.substr(0, rows), pixels.substr(0, rows * kPixels),
                            "synthetic-digits training set"),
          .test = to_table(labels.substr(rows), pixels.substr(rows * kPixels),
                           "synthetic-digits test set"),
          .source = "synthetic-digits (" + known.what + ")"};
}

}  // namespace porter
