// SPDX-License-Identifier: Apache-2.0
#include "io/input_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "io/file.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;
constexpr std::string_view kGzip = "\x1f\x8b", kZstandard = "\x28\xb5\x2f\xfd";

FileDescriptor open_input(const std::string& path, const std::string& name) {
  FileDescriptor file(path == "-" ? ::dup(STDIN_FILENO)
                                  : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  require(file.get() >= 0, ErrorKind::io, "cannot open ", name, ": ", reason());
  return file;
}

}  // namespace

// The bytes as they are, of which some are held until somebody takes them.
class InputStream::Source {
 public:
  Source(const std::string& path, std::string name)
      : name_(std::move(name)), file_(open_input(path, name_)), held_(kPiece) {
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) return;
    require(!S_ISDIR(status.st_mode), ErrorKind::io, "cannot read ", name_, ": it is a folder");
    if (S_ISREG(status.st_mode)) size_ = static_cast<std::size_t>(status.st_size);
  }

  /// What is held, after reading on if that is nothing; empty at the end.
  std::string_view peek() {
    if (begin_ == end_) {
      begin_ = 0;
      end_ = read(held_);
    }
    return {held_.data() + begin_, end_ - begin_};
  }
  /// The first bytes, enough to know the kind of a file by.
  std::string_view peek_start() {
    while (end_ < kZstandard.size()) {
      const auto count = read(std::span(held_).subspan(end_));
      if (count == 0) break;
      end_ += count;
    }
    return peek();
  }
  void skip(std::size_t count) { begin_ += count; }

  std::size_t take(std::span<char> buffer) {
    if (begin_ == end_ && buffer.size() >= kPiece) return read(buffer);
    const auto held = peek();
    const auto count = std::min(held.size(), buffer.size());
    std::copy_n(held.begin(), count, buffer.begin());
    skip(count);
    return count;
  }

  const std::string& name() const { return name_; }
  std::optional<double> share() const {
    if (size_ == 0) return std::nullopt;
    return std::min(1.0,
                    static_cast<double>(total_ - (end_ - begin_)) / static_cast<double>(size_));
  }

 private:
  std::size_t read(std::span<char> buffer) {
    while (true) {
      const auto count = ::read(file_.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      require(count >= 0, ErrorKind::io, "cannot read ", name_, ": ", reason());
      total_ += static_cast<std::size_t>(count);
      return static_cast<std::size_t>(count);
    }
  }

  std::string name_;
  FileDescriptor file_;
  std::vector<char> held_;
  std::size_t begin_ = 0, end_ = 0;  // of what is held
  std::size_t total_ = 0, size_ = 0;
};

class InputStream::Unpacker {
 public:
  explicit Unpacker(Source& source) : source_(source) {}
  virtual ~Unpacker() = default;
  /// At least one byte unless they end.
  virtual std::size_t take(std::span<char> buffer) = 0;

 protected:
  [[noreturn]] void fail_damaged(const char* format, std::string_view why) const {
    fail(ErrorKind::io, "cannot read ", source_.name(), ": the ", format,
         " data is truncated or damaged (", why, ")");
  }
  Source& source_;
};

class InputStream::Gzip : public Unpacker {
 public:
  explicit Gzip(Source& source) : Unpacker(source) {
    constexpr int kGzipHeader = 16;
    require(inflateInit2(&state_, MAX_WBITS + kGzipHeader) == Z_OK, ErrorKind::io,
            "zlib has no memory");
  }
  ~Gzip() override { inflateEnd(&state_); }

  std::size_t take(std::span<char> buffer) override {
    std::size_t filled = 0;
    while (filled == 0 && begin_member()) {
      const auto packed = source_.peek();
      if (packed.empty()) fail_damaged("gzip", "unexpected end of file");
      state_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      state_.avail_in = static_cast<uInt>(packed.size());
      state_.next_out = reinterpret_cast<Bytef*>(buffer.data());
      state_.avail_out = static_cast<uInt>(std::min<std::size_t>(buffer.size(), kPiece));
      const auto room = state_.avail_out;
      const int status = inflate(&state_, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_STREAM_END)
        fail_damaged("gzip", state_.msg ? state_.msg : "invalid data");
      source_.skip(packed.size() - state_.avail_in);
      filled = room - state_.avail_out;
      inside_ = status != Z_STREAM_END;
    }
    return filled;
  }

 private:
  // Whether there is, or follows, one of the members that a file may consist of. Zeros after the
  // last are what tapes leave.
  bool begin_member() {
    if (inside_) return true;
    for (auto rest = source_.peek(); !rest.empty(); rest = source_.peek()) {
      if (rest.front() != '\0') {
        if (rest.front() != kGzip.front()) fail_damaged("gzip", "other bytes follow");
        inflateReset(&state_);
        return inside_ = true;
      }
      source_.skip(1);
    }
    return false;
  }

  z_stream state_{};
  bool inside_ = true;
};

class InputStream::Zstandard : public Unpacker {
 public:
  explicit Zstandard(Source& source) : Unpacker(source), state_(ZSTD_createDStream()) {
    require(state_ != nullptr, ErrorKind::io, "zstd has no memory");
  }
  ~Zstandard() override { ZSTD_freeDStream(state_); }

  std::size_t take(std::span<char> buffer) override {
    ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
    while (out.pos == 0) {
      const auto packed = source_.peek();
      if (packed.empty() && !inside_) break;
      ZSTD_inBuffer in{packed.data(), packed.size(), 0};
      const auto status = ZSTD_decompressStream(state_, &out, &in);
      if (ZSTD_isError(status) != 0) fail_damaged("zstd", ZSTD_getErrorName(status));
      source_.skip(in.pos);
      inside_ = status != 0;
      if (packed.empty() && out.pos == 0 && inside_) fail_damaged("zstd", "unexpected end of file");
    }
    return out.pos;
  }

 private:
  ZSTD_DStream* state_;
  bool inside_ = false;
};

InputStream::InputStream(std::string path) : name_(path == "-" ? "standard input" : path) {
  source_ = std::make_unique<Source>(path, name_);
  const auto start = source_->peek_start();
  if (start.starts_with(kGzip)) unpacker_ = std::make_unique<Gzip>(*source_);
  if (start.starts_with(kZstandard)) unpacker_ = std::make_unique<Zstandard>(*source_);
}

InputStream::~InputStream() = default;

std::size_t InputStream::read(std::span<char> buffer) {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const auto rest = buffer.subspan(filled);
    const auto count = unpacker_ ? unpacker_->take(rest) : source_->take(rest);
    if (count == 0) break;
    filled += count;
  }
  return filled;
}

std::optional<double> InputStream::share() const { return source_->share(); }

}  // namespace porter
