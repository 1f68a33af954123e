// SPDX-License-Identifier: Apache-2.0
#include "cpp_names.hpp"

#include <fmt/format.h>

namespace porter {
namespace {

// Keywords of C++ up to 2023, macros that compilers and common headers define, and our own names.
const std::set<std::string>& reserved_words() {
  static const std::set<std::string> words = {
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
      "case", "catch", "char", "char8_t", "char16_t", "char32_t", "class", "compl", "concept",
      "const", "consteval", "constexpr", "constinit", "const_cast", "continue", "co_await",
      "co_return", "co_yield", "decltype", "default", "delete", "do", "double", "dynamic_cast",
      "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto",
      "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
      "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register",
      "reinterpret_cast", "requires", "return", "short", "signed", "sizeof", "static",
      "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local",
      "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using",
      "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
      // macros
      "assert", "errno", "EOF", "FALSE", "HUGE_VAL", "I", "i386", "INFINITY", "linux", "major",
      "max", "min", "minor", "NAN", "NULL", "offsetof", "stderr", "stdin", "stdout", "TRUE", "unix",
      // names that would hide what the header uses
      "detail", "porter", "Record", "std"};
  return words;
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

// Names with two underscores in a row, or one at the beginning, are the compiler's.
std::string cpp_identifier(std::string_view name, std::set<std::string>& taken) {
  std::string plain;
  for (const char c : name)
    if (is_word_character(c))
      plain += c;
    else if (!plain.empty() && plain.back() != '_')
      plain += '_';
  while (!plain.empty() && plain.back() == '_') plain.pop_back();
  if (plain.empty() || (plain[0] >= '0' && plain[0] <= '9'))
    plain = plain.empty() ? "column" : "column_" + plain;
  auto unique = plain;
  for (int number = 2; reserved_words().contains(unique) || taken.contains(unique); ++number)
    unique = fmt::format("{}_{}", plain, number);
  taken.insert(unique);
  return unique;
}

std::string cpp_namespace(std::string_view name) {
  // Functions of C that the header's includes may declare outside of any namespace.
  std::set<std::string> taken = {
      "abort", "abs",    "acos",   "asin", "atan",   "atoi",   "bind",   "cbrt",   "ceil",
      "clock", "cos",    "cosh",   "div",  "drem",   "erf",    "erfc",   "exit",   "exp",
      "exp2",  "fabs",   "floor",  "fmod", "free",   "gamma",  "hypot",  "index",  "j0",
      "j1",    "jn",     "kill",   "labs", "lgamma", "log",    "log10",  "log1p",  "log2",
      "logb",  "main",   "modf",   "nan",  "pow",    "printf", "puts",   "rand",   "random",
      "read",  "remove", "rename", "rint", "round",  "scalb",  "select", "signal", "significand",
      "sin",   "sinh",   "sqrt",   "stat", "system", "tan",    "tanh",   "tgamma", "time",
      "trunc", "wait",   "write",  "y0",   "y1",     "yn"};
  return cpp_identifier(name.empty() ? "model" : name, taken);
}

// Question marks could be trigraphs.
std::string cpp_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code >= 0x7f)
      literal += fmt::format("\\{:03o}", code);
    else
      literal += (c == '"' || c == '\\' || c == '?') ? std::string{'\\', c} : std::string(1, c);
  }
  return literal + "\"sv";
}

}  // namespace porter
