// SPDX-License-Identifier: Apache-2.0
#include "sweep_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.hpp"
#include "grid/grid.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kMaxValues = 1000;

// At commas outside of quotes and brackets.
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && c == '[') ++depth;
    if (!quoted && c == ']') --depth;
    if (c == ',' && depth == 0 && !quoted)
      items.emplace_back();
    else if (c != ' ' || quoted || !items.back().empty())
      items.back() += c;
  }
  for (auto& item : items) item.erase(item.find_last_not_of(' ') + 1);
  return items;
}

// With so few digits that people can read them; what is shown is exactly what is used.
double rounded(double value, int digits) {
  if (value == 0) return 0;
  std::array<char, 40> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::scientific, digits - 1);
  return *parse_number<double>({buffer.data(), static_cast<std::size_t>(end - buffer.data())});
}

std::string whole_text(double value) { return std::to_string(std::llround(value)); }

}  // namespace

std::string plain_value(const std::string& value) {
  const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  return quoted ? value.substr(1, value.size() - 2) : value;
}

SweepValues::SweepValues(const std::string& key, std::string_view text) : key_(key), text_(text) {
  const auto spec = split_spec(text);
  const std::array kinds = {"lin", "log", "intlin", "intlog"};
  const bool known = std::find(kinds.begin(), kinds.end(), spec.name) != kinds.end();
  // run.evaluate = log:60 is a value, not a range: only dots make a range.
  if (known && spec.argument && spec.argument->find("..") != std::string_view::npos)
    read_range(spec.name, *spec.argument);
  else
    read_list();
}

void SweepValues::read_list() {
  list_ = split_list(text_);
  for (const auto& item : list_) {
    require(!item.empty(), ErrorKind::usage, "vary ", key_,
            ": expected values between commas, found \"", text_, "\"");
    require(std::count(list_.begin(), list_.end(), item) == 1, ErrorKind::usage, "vary ", key_,
            ": the value ", item, " is given twice in \"", text_, "\"");
  }
}

void SweepValues::read_range(std::string_view kind, std::string_view argument) {
  range_ = true;
  whole_ = kind.starts_with("int");
  log_ = kind.ends_with("log");
  const auto dots = argument.find("..");
  const auto colon = argument.find(':', dots);
  const auto low = parse_number<double>(argument.substr(0, dots));
  const auto high = parse_number<double>(argument.substr(dots + 2, colon - dots - 2));
  require(low && high && std::isfinite(*low) && std::isfinite(*high) && *low < *high,
          ErrorKind::usage, "vary ", key_, ": expected ", kind,
          ":A..B with numbers A < B, found \"", text_, "\"");
  require(!log_ || *low > 0, ErrorKind::usage, "vary ", key_,
          ": a logarithmic range must start above 0, found \"", text_, "\"");
  require(!whole_ || (std::abs(*low) < 1e15 && std::abs(*high) < 1e15 &&
                      std::ceil(*low) <= std::floor(*high)),
          ErrorKind::usage, "vary ", key_,
          ": expected a range that holds whole numbers below 1e15, found \"", text_, "\"");
  low_ = *low;
  high_ = *high;
  if (colon == argument.npos) return;
  const auto count = parse_number<std::size_t>(argument.substr(colon + 1));
  require(count && *count >= 2 && *count <= kMaxValues, ErrorKind::usage, "vary ", key_,
          ": expected 2 to ", kMaxValues, " values behind the last colon, found \"", text_, "\"");
  count_ = *count;
}

std::string SweepValues::at(double share) const {
  const auto mix = [share](double a, double b) { return a * (1 - share) + b * share; };
  const double value = log_ ? std::exp(mix(std::log(low_), std::log(high_))) : mix(low_, high_);
  if (whole_) return whole_text(std::clamp(value, std::ceil(low_), std::floor(high_)));
  if (share == 0) return shortest(low_);
  if (share == 1) return shortest(high_);
  return shortest(std::clamp(rounded(value, log_ ? 4 : 6), low_, high_));
}

std::vector<std::string> SweepValues::all() const {
  if (!range_) return list_;
  require(count_ > 0, ErrorKind::usage, "vary ", key_,
          ": a grid needs the number of values, as in \"", text_,
          ":5\"; without it only a random search can use the range");
  std::vector<std::string> values;
  for (std::size_t i = 0; i < count_; ++i) {
    auto value = at(static_cast<double>(i) / static_cast<double>(count_ - 1));
    if (values.empty() || values.back() != value) values.push_back(std::move(value));
  }
  return values;
}

std::string SweepValues::draw(RngStream& rng) const {
  if (range_ && count_ == 0) return at(rng.uniform());
  const auto values = all();
  return values[rng.below(values.size())];
}

}  // namespace porter
