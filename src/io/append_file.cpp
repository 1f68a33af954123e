// SPDX-License-Identifier: Apache-2.0
#include "io/append_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

namespace porter {
namespace {

namespace fs = std::filesystem;

// " (process 1234)" where /proc/locks names who holds the lock on this file, else nothing.
std::string lock_holder(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return {};
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    int pid = 0;
    unsigned device_major = 0, device_minor = 0;
    unsigned long long inode = 0;
    if (std::sscanf(line.c_str(), "%*d: FLOCK %*s %*s %d %x:%x:%llu", &pid, &device_major,
                    &device_minor, &inode) == 4 &&
        inode == status.st_ino && device_major == major(status.st_dev) &&
        device_minor == minor(status.st_dev))
      return concat(" (process ", pid, ")");
  }
  return {};
}

// Removes the file under its first name at the end, whether or not it got its second one.
struct TemporaryName {
  fs::path path;
  ~TemporaryName() { ::unlink(path.c_str()); }
};

}  // namespace

template <class... Parts>
void AppendFile::check(bool condition, const Parts&... parts) const {
  require(condition, options_.error, path_.string(), ": ", parts...);
}

AppendFile::AppendFile(fs::path path, Options options, int fd)
    : path_(std::move(path)), options_(std::move(options)), fd_(fd) {
  check(fd_.get() >= 0, "cannot open it: ", open_reason());
  lock();
}

AppendFile::AppendFile(fs::path path, Options options)
    : AppendFile(path, std::move(options), open_plain(path, O_RDWR | O_CREAT)) {
  if (options_.sync == Sync::disk && size() == 0)
    check(sync_name(path_), "cannot flush its folder to disk: ", reason());
}

AppendFile AppendFile::open_existing(fs::path path, Options options) {
  const int fd = open_plain(path, O_RDWR);
  return {std::move(path), std::move(options), fd};
}

AppendFile AppendFile::create(fs::path path, std::string_view first, Options options) {
  const TemporaryName temporary{path.string() + ".new" + std::to_string(::getpid())};
  ::unlink(temporary.path.c_str());
  const int fd = open_plain(temporary.path, O_RDWR | O_CREAT | O_EXCL);
  require(fd >= 0, options.error, path.string(), ": cannot create it: ", open_reason());
  AppendFile file(std::move(path), std::move(options), fd);
  file.check(::fchmod(fd, 0600) == 0, "cannot create it: ", reason());
  file.append(first);
  file.check(::fdatasync(fd) == 0, "cannot flush it to disk: ", reason());
  const bool named = ::link(temporary.path.c_str(), file.path_.c_str()) == 0;
  file.check(named || errno != EEXIST, "it is there already");
  file.check(named, "cannot create it: ", reason());
  file.check(sync_name(file.path_), "cannot flush its folder to disk: ", reason());
  return file;
}

void AppendFile::lock() const {
  if (options_.in_use.empty() || ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0) return;
  check(errno == EWOULDBLOCK, "cannot lock it: ", reason());
  check(false, options_.in_use, lock_holder(fd_.get()));
}

struct stat AppendFile::status() const {
  struct stat status {};
  check(::fstat(fd_.get(), &status) == 0, "cannot look at it: ", reason());
  return status;
}

std::size_t AppendFile::size() const { return static_cast<std::size_t>(status().st_size); }

std::string AppendFile::read() const {
  auto bytes = read_all(fd_.get());
  check(bytes.has_value(), "cannot read it: ", reason());
  return *std::move(bytes);
}

std::string AppendFile::read_lines() {
  auto text = read();
  const auto whole = text.rfind('\n') + 1;
  if (whole < text.size()) truncate(whole);
  text.resize(whole);
  return text;
}

void AppendFile::replace_tail(std::size_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    check(count > 0, "cannot write it: ", reason());
    offset += static_cast<std::size_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  sync();
}

void AppendFile::sync() const {
  check(options_.sync == Sync::process || ::fdatasync(fd_.get()) == 0,
        "cannot flush it to disk: ", reason());
}

void AppendFile::append(std::string_view bytes) { replace_tail(size(), bytes); }

void AppendFile::truncate(std::size_t size) {
  check(::ftruncate(fd_.get(), static_cast<off_t>(size)) == 0, "cannot shorten it: ", reason());
  sync();
}

void AppendFile::require_untouched(std::size_t size) const {
  const struct stat opened = status();
  struct stat named {};
  const bool there = ::lstat(path_.c_str(), &named) == 0 && named.st_dev == opened.st_dev &&
                     named.st_ino == opened.st_ino;
  check(opened.st_nlink > 0 && there,
        "it was deleted, renamed or replaced while in use; put the right file back and start "
        "again");
  check(static_cast<std::size_t>(opened.st_size) == size,
        "it was changed by someone else while in use: expected ", size, " bytes, found ",
        opened.st_size);
}

}  // namespace porter
