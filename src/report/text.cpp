// SPDX-License-Identifier: Apache-2.0
#include "report/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace porter {
namespace {

// The code point at `at`, which moves behind it. Broken UTF-8 counts byte by byte.
char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at++]);
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  auto code = static_cast<char32_t>(more == 0 ? lead : lead & (0x3F >> more));
  for (int i = 0; i < more && at < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte & 0xC0) != 0x80) break;
    code = (code << 6) | (byte & 0x3F);
    ++at;
  }
  return code;
}

bool is_combining(char32_t c) {
  return (c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200D) || (c >= 0xFE00 && c <= 0xFE0F);
}

bool is_wide(char32_t c) {
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
         (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
         (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
}

// `towards` is +1 or -1.
std::string rounded(double value, int digits, double towards) {
  const auto nearest = fmt::format("{:.{}g}", value, digits);
  if (!std::isfinite(value) || towards * (std::strtod(nearest.c_str(), nullptr) - value) >= 0)
    return nearest;
  const auto exponent = std::floor(std::log10(std::abs(value)));
  const double unit = std::pow(10.0, exponent - digits + 1);
  return fmt::format("{:.{}g}", value + towards * 0.75 * unit, digits);
}

}  // namespace

std::string replaced(std::string_view text, char from, std::string_view to) {
  std::string out;
  for (const char c : text) out += c == from ? to : std::string_view(&c, 1);
  return out;
}

std::string escape_html(std::string_view text) {
  auto out = replaced(text, '&', "&amp;");
  for (const auto& [c, entity] : {std::pair{'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}})
    out = replaced(out, c, entity);
  return out;
}

std::string escape_csv(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  return fmt::format("\"{}\"", replaced(text, '"', "\"\""));
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = next_code_point(text, at);
    width += is_combining(c) ? 0U : is_wide(c) ? 2U : 1U;
  }
  return width;
}

std::string listing(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return out;
}

std::string format_number(double value) { return fmt::format("{:.4g}", value); }

std::string rounded_up(double value, int digits) { return rounded(value, digits, +1); }
std::string rounded_down(double value, int digits) { return rounded(value, digits, -1); }

std::string format_si(double value) {
  if (!(std::abs(value) >= 1e4) || !(std::abs(value) < 1e16)) return format_number(value);
  const auto text = [](double scaled, char unit) {
    return fmt::format("{:.{}f}{}", scaled, std::abs(scaled) < 99.95 ? 1 : 0, unit);
  };
  for (const auto& [unit, size] : {std::pair{'T', 1e12}, {'G', 1e9}, {'M', 1e6}})
    if (std::abs(value) >= size) return text(value / size, unit);
  return text(value / 1e3, 'k');
}

std::string format_seconds(double seconds) {
  if (std::abs(seconds) >= 1 || !std::isfinite(seconds)) return fmt::format("{:.3g} s", seconds);
  if (std::abs(seconds) >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} µs", seconds * 1e6);
}

std::string format_power(int mantissa, int exponent) {
  static constexpr std::array<const char*, 10> kSuperscripts = {"⁰", "¹", "²", "³", "⁴",
                                                                "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = mantissa == 1 ? "10" : fmt::format("{}×10", mantissa);
  for (const char c : std::to_string(exponent))
    text += c == '-' ? "⁻" : kSuperscripts[static_cast<std::size_t>(c - '0')];
  return text;
}

}  // namespace porter
