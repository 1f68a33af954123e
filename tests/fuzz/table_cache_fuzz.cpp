// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "data/table_cache.hpp"
#include "fuzz.hpp"
#include "porter/core/bytes.hpp"
#include "porter/core/error.hpp"

namespace {

constexpr std::string_view kKey = "key\n", kVersion = "porter table 1\n";

// The body of an encoded table, without version, key and checksum.
std::string body_of(const porter::FileTable& table) {
  const auto whole = porter::encode_table(table, kKey);
  return whole.substr(whole.find('\n', kVersion.size() + kKey.size()) + 1);
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  porter::FileTable sparse, dense;
  sparse.data.features = 3;
  sparse.data.values = {1, 1, 2};
  sparse.data.columns = {0, 2, 1};
  sparse.data.row_starts = {0, 2, 3};
  sparse.labels = {-1, 1};
  sparse.lines = {1, 2};
  dense.data.features = 200;
  dense.labels = {0, 1};
  for (int i = 0; i < 400; ++i) dense.data.values.push_back(static_cast<float>(i));
  auto targets = dense;
  targets.data.outputs = 3;
  targets.labels = {0, 1, 2, 3, 4, 5};
  return {body_of(sparse), body_of(dense), body_of(targets)};
}

// Behind a right checksum, so that the input reaches the decoder of the body.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto sum = porter::crc32(std::as_bytes(std::span(body)));
  const auto bytes = porter::concat(kVersion, kKey, sum, "\n", body);
  if (const auto table = porter::decode_table(bytes, kKey)) {
    const auto& rows = table->data;  // what is accepted must be safe to use
    if (table->labels.empty() || rows.features == 0) std::abort();
    if (table->labels.size() != table->rows() * rows.outputs) std::abort();
    if (!rows.sparse() && rows.values.size() != table->rows() * rows.features) std::abort();
    for (const auto column : rows.columns)
      if (column >= rows.features) std::abort();
    if (rows.sparse() && rows.row_starts.size() != table->rows() + 1) std::abort();
  }
  porter::decode_table(body, kKey);
  return 0;
}
