// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace porter {

inline constexpr const char* kAbsent = "–";

/// The text with `to` for every `from`.
std::string replaced(std::string_view text, char from, std::string_view to);

/// For HTML and XML text and for attributes in double quotes.
std::string escape_html(std::string_view text);

/// A cell of CSV (RFC 4180): quoted where it must be, quotes doubled.
std::string escape_csv(std::string_view text);

/// Terminal columns of UTF-8 text: wide East Asian characters take two, combining marks none.
std::size_t display_width(std::string_view text);

/// "a", "a and b", "a, b and c".
std::string listing(const std::vector<std::string>& names);

/// Four significant digits; "nan" and "inf" as such.
std::string format_number(double value);
/// With so many digits, rounded away from a promise that does not hold.
std::string rounded_up(double value, int digits = 6);
std::string rounded_down(double value, int digits = 6);
/// With k, M, G, T from 10^4 on: 52.4M.
std::string format_si(double value);
/// As s, ms or µs.
std::string format_seconds(double seconds);
/// 10 to a power: 10⁻³, 2×10⁵.
std::string format_power(int mantissa, int exponent);

}  // namespace porter
