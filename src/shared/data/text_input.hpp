// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "data/csv_reader.hpp"
#include "data/dialect.hpp"
#include "io/input_stream.hpp"

namespace porter {

/// A text to be read once, whose start can be looked at before: to guess how it is written.
class TextInput {
 public:
  /// Of a file, "-" for the standard input; `progress` hears how much of it has been read.
  explicit TextInput(const std::string& path, std::function<void(double share)> progress = {});
  /// Of a text in memory, which outlives it.
  TextInput(std::string_view text, std::string name);

  const std::string& name() const { return name_; }
  std::string_view start() const { return start_; }
  bool empty() const { return start_.empty(); }
  /// All bytes from the first on.
  ReadBytes reader();

 private:
  static constexpr std::size_t kStart = std::size_t{1} << 16;

  std::string name_;
  std::optional<InputStream> stream_;
  std::function<void(double)> progress_;
  std::string start_;
  std::string_view rest_;  // of a text in memory, behind the start
};

}  // namespace porter
