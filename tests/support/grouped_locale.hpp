// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <locale>

namespace porter {

/// While it lives, programs write 1.234,5 where C writes 1234.5; needs no locale of the system.
class GroupedLocale {
 public:
  GroupedLocale()
      : before_(std::locale::global(std::locale(std::locale::classic(), new Punctuation))) {}
  ~GroupedLocale() { std::locale::global(before_); }
  GroupedLocale(const GroupedLocale&) = delete;
  GroupedLocale& operator=(const GroupedLocale&) = delete;

 private:
  struct Punctuation : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::locale before_;
};

}  // namespace porter
