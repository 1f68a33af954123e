// SPDX-License-Identifier: Apache-2.0
#include "locked_log.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "porter/core/error.hpp"
#include "porter/io/file.hpp"

namespace porter {

LockedLog::LockedLog(std::filesystem::path file, std::string_view who)
    : file_(std::move(file)), fd_(open_plain(file_, O_RDWR | O_CREAT | O_APPEND)) {
  require(fd_ >= 0, ErrorKind::io, "cannot open ", file_.string(), ": ", open_reason());
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
  ::close(fd_);
  fail(ErrorKind::io, file_.string(), ": another ", who, " is working in this folder");
}

LockedLog::~LockedLog() { ::close(fd_); }

std::string LockedLog::read() {
  auto text = read_file(file_);
  const auto whole = text.rfind('\n') + 1;
  if (whole < text.size()) shorten(whole);
  text.resize(whole);
  return text;
}

void LockedLog::append(std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(fd_, text.data(), text.size());
    require(written > 0, ErrorKind::io, "cannot write ", file_.string(), ": ",
            std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  require(::fsync(fd_) == 0, ErrorKind::io, "cannot write ", file_.string(), ": ",
          std::strerror(errno));
}

void LockedLog::shorten(std::size_t size) {
  require(::ftruncate(fd_, static_cast<off_t>(size)) == 0, ErrorKind::io, "cannot shorten ",
          file_.string(), ": ", std::strerror(errno));
}

}  // namespace porter
