// SPDX-License-Identifier: Apache-2.0
#include "io/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "io/input_stream.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
// At a time, to a file: for writes of megabytes the system takes huge pages, and where these are
// new they cost eight times as much as the small ones.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 18;
constexpr std::string_view kTemporary = ".part-";  // and a random number

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

// A name that nobody can have taken, or put a link under, before.
std::string temporary_name(const std::filesystem::path& path) {
  std::uint64_t number = 0;
  require(::getrandom(&number, sizeof number, 0) == sizeof number, ErrorKind::io, "cannot create ",
          path.string(), ": no random numbers: ", reason());
  return path.string().append(kTemporary) + std::to_string(number);
}

// Its file under the new name, to be written over; -1 if it cannot be, and is gone.
int take_over(const std::filesystem::path& spare, const std::string& name) {
  FileDescriptor fd(open_plain(spare, O_WRONLY));
  struct stat file {};
  const bool taken = fd.get() >= 0 && ::fstat(fd.get(), &file) == 0 && file.st_nlink == 1 &&
                     ::rename(spare.c_str(), name.c_str()) == 0;
  if (taken) return fd.release();
  std::error_code ignored;
  std::filesystem::remove(spare, ignored);
  return -1;
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::optional<std::string> read_all(int fd) {
  struct stat status {};
  ::lseek(fd, 0, SEEK_SET);  // a pipe cannot
  const bool plain = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  // One byte more than expected, so that a file that has not grown is read in one go.
  std::string content(plain ? static_cast<std::size_t>(status.st_size) + 1 : kChunk, '\0');
  std::size_t filled = 0;
  while (true) {
    const auto count = ::read(fd, content.data() + filled, content.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    filled += static_cast<std::size_t>(count);
    if (count == 0) break;
    if (filled == content.size()) content.resize(content.size() + kChunk);
  }
  content.resize(filled);
  return content;
}

std::string read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  InputStream file(path.string());
  std::string content;
  while (true) {
    const auto old_size = content.size();
    content.resize(old_size + kChunk);
    const auto count = file.read(std::span(content).subspan(old_size));
    content.resize(old_size + count);
    require(content.size() <= max_bytes, ErrorKind::io, "cannot read ", path.string(),
            ": it unpacks to more than the limit of ", max_bytes, " bytes");
    if (count < kChunk) return content;
  }
}

std::string read_raw_file(const std::filesystem::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  require(file.get() >= 0, ErrorKind::io, "cannot open ", path.string(), ": ", reason());
  auto content = read_all(file.get());
  require(content.has_value(), ErrorKind::io, "cannot read ", path.string(), ": ", reason());
  return *std::move(content);
}

void make_private_folder(const std::filesystem::path& path) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  const bool there = ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
  require(there, ErrorKind::io, "cannot create the folder ", path.string(), ": ", reason());
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  require(fd.get() >= 0 && ::fchmod(fd.get(), 0700) == 0, ErrorKind::io,
          "cannot make the folder private: ", path.string(), ": ", reason());
}

// Not to wait for the reader of a pipe is all that O_NONBLOCK does here.
int open_plain(const std::filesystem::path& path, int flags) {
  struct stat folder {
  }, file{};
  const bool owners = ::stat(folder_of(path).c_str(), &folder) == 0 && (folder.st_mode & 077) == 0;
  const int fd =
      ::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, owners ? 0600 : 0644);
  if (fd < 0) return fd;
  const bool plain = ::fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
  if (plain && (!owners || ::fchmod(fd, 0600) == 0)) return fd;
  const int why = plain ? errno : EINVAL;
  ::close(fd);
  errno = why;
  return -1;
}

std::string reason() { return std::strerror(errno); }

std::string open_reason() {
  if (errno == ELOOP) return "it is a symbolic link, which is not followed";
  if (errno == EINVAL || errno == ENXIO) return "it is not a plain file";
  return reason();
}

FileStream open_to_append(const std::filesystem::path& path) {
  FileDescriptor fd(open_plain(path, O_WRONLY | O_CREAT | O_APPEND));
  require(fd.get() >= 0, ErrorKind::io, "cannot open ", path.string(), ": ", open_reason());
  FileStream stream(::fdopen(fd.get(), "a"), std::fclose);
  require(stream != nullptr, ErrorKind::io, "cannot open ", path.string(), ": ", reason());
  fd.release();
  return stream;
}

bool sync_name(const std::filesystem::path& file) {
  const FileDescriptor fd(::open(folder_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd.get() >= 0 && (::fsync(fd.get()) == 0 || errno == EINVAL);
}

bool holds_nothing(const std::filesystem::path& folder,
                   std::initializer_list<std::string_view> but) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().find(kTemporary) == std::string::npos &&
        std::ranges::count(but, entry.path().extension().string()) == 0)
      return false;
  return true;
}

FileWriter::FileWriter(std::filesystem::path path, const std::filesystem::path& spare)
    : path_(std::move(path)),
      temporary_(temporary_name(path_)),
      fd_(spare.empty() ? -1 : take_over(spare, temporary_)) {
  if (fd_.get() < 0) fd_ = FileDescriptor(open_plain(temporary_, O_WRONLY | O_CREAT | O_EXCL));
  if (fd_.get() < 0) fail_to("create");
}

FileWriter::~FileWriter() {
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);  // not there once it has its name
}

void FileWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(fd_.get(), bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_to("write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
    const std::size_t done = size_ / kChunk;
    size_ += static_cast<std::size_t>(written);
    // The disk begins with what is there, so that less is left for the end to wait for.
    if (size_ / kChunk > done)
      ::sync_file_range(fd_.get(), static_cast<off_t>(done * kChunk), kChunk,
                        SYNC_FILE_RANGE_WRITE);
  }
}

void FileWriter::finish() {
  cut();
  if (::fsync(fd_.get()) != 0) fail_to("write");
  finish_soon();
  if (!sync_name(path_)) fail_to("write");
}

// What a longer spare had behind it.
void FileWriter::cut() {
  if (::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) fail_to("write");
}

void FileWriter::finish_soon() {
  cut();
  if (::close(fd_.release()) != 0) fail_to("write");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_to("write");
}

void FileWriter::fail_to(const char* action) const {
  fail(ErrorKind::io, "cannot ", action, " ", path_.string(), ": ", reason());
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  FileWriter file(path);
  file.write(content);
  file.finish();
}

void write_file_soon(const std::filesystem::path& path, std::string_view content) {
  FileWriter file(path);
  file.write(content);
  file.finish_soon();
}

std::string sha256_hex(std::string_view content) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  require(EVP_Digest(content.data(), content.size(), digest, &size, EVP_sha256(), nullptr) == 1,
          ErrorKind::io, "OpenSSL refused SHA-256");
  return fmt::format("{:02x}", fmt::join(digest, digest + size, ""));
}

}  // namespace porter
