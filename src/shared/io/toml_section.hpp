// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/toml.hpp"
#include "porter/core/error.hpp"

namespace porter {

/// Reads the keys of one [section] with their types and remembers which it has seen, so that what
/// is left over is an unknown key. Every error names the source, the line and the key.
class TomlSection {
 public:
  static constexpr std::int64_t kMaxCount = std::numeric_limits<std::int32_t>::max();

  TomlSection(const toml::table& root, std::string_view name, const std::string& source);
  /// A table that stands elsewhere, under the name that errors have for it.
  TomlSection(const toml::table* table, std::string_view name, const std::string& source)
      : table_(table), name_(name), source_(source) {}

  bool present() const { return table_ != nullptr; }
  bool has(std::string_view key) const { return table_ && table_->contains(key); }

  /// Leaves `value` alone where the key is absent.
  void read(std::string_view key, std::string& value);
  void read(std::string_view key, bool& value);
  void read(std::string_view key, double& value);
  void read(std::string_view key, std::optional<double>& value);
  void read(std::string_view key, std::vector<std::size_t>& value);
  /// A whole number from `least` to `most`.
  template <class Integer>
  void read_count(std::string_view key, Integer& value, std::int64_t least,
                  std::int64_t most = kMaxCount) {
    if (const auto* node = find(key))
      value = static_cast<Integer>(integer(key, *node, least, most));
  }
  /// A text that `parse` understands; its errors get the place of the key.
  template <class Value, class Parse>
  void read_parsed(std::string_view key, Value& value, const Parse& parse) {
    if (find(key) == nullptr) return;
    std::string text;
    read(key, text);
    value = located(key, [&] { return parse(text); });
  }
  /// The raw node, for keys of several types.
  const toml::node* find(std::string_view key);
  std::int64_t integer(std::string_view key, const toml::node& node, std::int64_t least,
                       std::int64_t most = kMaxCount) const;

  /// Error{usage} at the place of the key.
  template <class... Parts>
  [[noreturn]] void reject(std::string_view key, const Parts&... parts) const {
    fail(ErrorKind::usage, place(key), parts...);
  }
  template <class... Parts>
  void check(bool condition, std::string_view key, const Parts&... parts) const {
    if (!condition) reject(key, parts...);
  }
  /// Runs `parse` and puts the place of the key before any error it throws.
  template <class Parse>
  auto located(std::string_view key, Parse parse) const {
    try {
      return parse();
    } catch (const Error& error) {
      fail(error.kind(), place(key), error.what());
    }
  }

  /// To be called when everything known has been read.
  void refuse_unknown_keys() const;

 private:
  std::string place(std::string_view key) const;

  const toml::table* table_ = nullptr;
  std::string name_;
  const std::string& source_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace porter
