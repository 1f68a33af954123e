// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/ledger.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "ledger_format.hpp"
#include "porter/core/error.hpp"
#include "porter/io/file.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

std::string reason() { return std::strerror(errno); }

template <class... Parts>
void require_ledger(bool condition, const fs::path& path, const Parts&... parts) {
  if (!condition) fail(ErrorKind::privacy, path.string(), ": ", parts...);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Payload read_all(int fd, const fs::path& path) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  Payload bytes;
  while (true) {
    const auto at = bytes.size();
    bytes.resize(at + kChunk);
    const auto count = ::pread(fd, bytes.data() + at, kChunk, static_cast<off_t>(at));
    const bool again = count < 0 && errno == EINTR;
    require_ledger(count >= 0 || again, path, "cannot read the ledger: ", reason());
    bytes.resize(at + static_cast<std::size_t>(again ? 0 : count));
    if (count == 0) return bytes;
  }
}

void write_all(int fd, std::span<const std::byte> bytes, std::size_t offset, const fs::path& path) {
  while (!bytes.empty()) {
    const auto count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    require_ledger(count > 0, path, "cannot write the ledger: ", reason());
    offset += static_cast<std::size_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  require_ledger(::fsync(fd) == 0, path, "cannot flush the ledger to disk: ", reason());
}

// " (process 1234)" where /proc/locks names who holds the lock on this file, else nothing.
std::string lock_holder(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return {};
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream fields(line);
    std::string number, kind, advisory, access, pid, place;
    if (!(fields >> number >> kind >> advisory >> access >> pid >> place) || kind != "FLOCK")
      continue;
    unsigned device_major = 0, device_minor = 0;
    unsigned long long inode = 0;
    if (std::sscanf(place.c_str(), "%x:%x:%llu", &device_major, &device_minor, &inode) == 3 &&
        inode == status.st_ino && device_major == major(status.st_dev) &&
        device_minor == minor(status.st_dev))
      return " (process " + pid + ")";
  }
  return {};
}

void lock(int fd, const fs::path& path) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return;
  require_ledger(errno == EWOULDBLOCK, path, "cannot lock the ledger: ", reason());
  fail(ErrorKind::privacy, path.string(), ": the ledger is in use by another process",
       lock_holder(fd), "; two of them would spend one budget twice");
}

// Which field of the header on disk is not the one expected.
void require_same(const LedgerHeader& found, const LedgerHeader& expected, const fs::path& path) {
  const auto same = [&](const char* field, const auto& is, const auto& should) {
    require_ledger(is == should, path, "the ledger belongs to another run: expected ", field, " ",
                   should, ", found ", is);
  };
  same("run id", found.run_id, expected.run_id);
  same("agent", found.agent, expected.agent);
  same("sampler", found.sampler, expected.sampler);
  same("adjacency", found.adjacency, expected.adjacency);
  same("records", found.records, expected.records);
  same("batch", found.batch, expected.batch);
  same("standard deviation", found.noise_stddev, expected.noise_stddev);
  same("clip", found.clip, expected.clip);
  same("delta", found.delta, expected.delta);
  same("epsilon", found.epsilon, expected.epsilon);
}

// Whether the file is where and as long as we left it. A renamed one goes on growing under another
// name while the next start would find what lies at the path.
void require_untouched(int fd, std::size_t size, const fs::path& path) {
  struct stat status {
  }, named{};
  require_ledger(::fstat(fd, &status) == 0, path, "cannot look at the ledger: ", reason());
  const bool there = ::lstat(path.c_str(), &named) == 0 && named.st_dev == status.st_dev &&
                     named.st_ino == status.st_ino;
  require_ledger(
      status.st_nlink > 0 && there, path,
      "the ledger was deleted, renamed or replaced while in use; put the right file back "
      "and start again");
  require_ledger(static_cast<std::size_t>(status.st_size) == size, path,
                 "the ledger was changed by someone else while in use: expected ", size,
                 " bytes, found ", status.st_size);
}

// Removes the file under its first name at the end, whether or not it got its second one.
struct TemporaryName {
  fs::path path;
  ~TemporaryName() { ::unlink(path.c_str()); }
};

}  // namespace

struct Ledger::State {
  State(fs::path file, Descriptor descriptor) : path(std::move(file)), fd(std::move(descriptor)) {}

  std::size_t end() const { return kLedgerHeaderBytes + view.charges * kLedgerRecordBytes; }

  void append(const LedgerRecord& record) {
    const auto bytes = encode_ledger_record(record);
    usable = false;  // until it is known to be on disk
    write_all(fd.get(), bytes, end(), path);
    count_record(view, record, stored_crc(bytes));
    usable = true;
  }

  fs::path path;
  Descriptor fd;
  pid_t owner = ::getpid();
  LedgerView view;
  bool usable = true;
};

Ledger::Ledger(std::unique_ptr<State> state) : state_(std::move(state)) {}
Ledger::~Ledger() = default;
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;
const LedgerView& Ledger::view() const { return state_->view; }

// The header is on disk before the file has its name, so a crash leaves a whole header or no
// ledger.
Ledger Ledger::create(const fs::path& path, const LedgerHeader& header) {
  check_ledger_header(header, path.string());
  const TemporaryName temporary{path.string() + ".new" + std::to_string(::getpid())};
  ::unlink(temporary.path.c_str());
  Descriptor fd(open_plain(temporary.path, O_RDWR | O_CREAT | O_EXCL));
  require_ledger(fd.get() >= 0 && ::fchmod(fd.get(), 0600) == 0, path,
                 "cannot create the ledger: ", reason());
  lock(fd.get(), path);
  const auto bytes = encode_ledger_header(header);
  write_all(fd.get(), bytes, 0, path);
  const bool named = ::link(temporary.path.c_str(), path.c_str()) == 0;
  require_ledger(named || errno != EEXIST, path,
                 "a ledger is there already; resume its run, or start a run of its own");
  require_ledger(named, path, "cannot create the ledger: ", reason());
  require_ledger(sync_name(path), path, "cannot flush the ledger's folder to disk: ", reason());
  auto state = std::make_unique<State>(path, std::move(fd));
  state->view.header = header;
  state->view.last_crc = stored_crc(bytes);
  return Ledger(std::move(state));
}

Ledger Ledger::resume(const fs::path& path, const LedgerHeader& header, std::uint64_t at_least) {
  Descriptor fd(open_plain(path, O_RDWR));
  require_ledger(fd.get() >= 0, path, "cannot open the ledger: ", open_reason(),
                 "; without it what was spent is unknown");
  lock(fd.get(), path);
  auto state = std::make_unique<State>(path, std::move(fd));
  auto& view = state->view;
  view = decode_whole_records(read_all(state->fd.get(), path), path.string());
  require_same(view.header, header, path);
  if (std::exchange(view.torn_tail, false)) state->append(torn_record(view));
  require_ledger(view.charges >= at_least, path, "the ledger was rolled back: it holds ",
                 view.charges, " charges, a checkpoint has seen ", at_least);
  return Ledger(std::move(state));
}

std::uint64_t Ledger::charge(std::uint32_t round) {
  return charge(round, state_->view.header.noise_stddev, state_->view.header.batch);
}

std::uint64_t Ledger::charge(std::uint32_t round, double noise_stddev, std::uint64_t batch) {
  auto& view = state_->view;
  const auto& path = state_->path;
  require_ledger(state_->usable, path, "the ledger failed before and takes no further charge");
  require_ledger(state_->owner == ::getpid(), path,
                 "a forked process cannot charge the ledger of process ", state_->owner);
  require_ledger(
      std::isfinite(noise_stddev) && noise_stddev > 0 && batch > 0 && batch <= view.header.records,
      path, "a charge needs a positive standard deviation and a batch in [1, ", view.header.records,
      "], found ", noise_stddev, " and ", batch);
  require_untouched(state_->fd.get(), state_->end(), path);
  state_->append({.sequence = view.charges + 1,
                  .round = round,
                  .noise_stddev = noise_stddev,
                  .batch = batch,
                  .previous_crc = view.last_crc});
  return view.charges;
}

LedgerView read_ledger(const fs::path& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  require_ledger(fd.get() >= 0, path, "cannot open the ledger: ", reason());
  return decode_ledger(read_all(fd.get(), path), path.string());
}

}  // namespace porter
