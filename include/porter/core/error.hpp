// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>

namespace porter {

/// What went wrong, as seen by the caller; the command maps it to an exit code.
enum class ErrorKind {
  usage,     ///< an argument or config value is wrong
  io,        ///< a file is missing, unreadable, malformed, or cannot be written
  network,   ///< a peer or a download is out of reach
  protocol,  ///< bytes from outside are not what the format allows
  privacy,   ///< a promise could not be kept, so nothing was released
  numeric,   ///< a computation left the finite numbers
};

/// The one exception of the library. The text says what was expected and what was found.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

/// The parts written one after the other, as `<<` writes them in the locale of C.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  (text << ... << parts);
  return text.str();
}

template <class... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  throw Error(kind, concat(parts...));
}

/// Throws Error{kind} with the parts as its text unless `condition` holds.
template <class... Parts>
void require(bool condition, ErrorKind kind, const Parts&... parts) {
  if (!condition) fail(kind, parts...);
}

}  // namespace porter
