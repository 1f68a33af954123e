// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/ledger.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <limits>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "privacy/ledger_format.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

const LedgerHeader kHeader{.run_id = "run-7",
                           .agent = 3,
                           .sampler = "fixed",
                           .adjacency = "replace",
                           .records = 3256,
                           .batch = 2,
                           .noise_stddev = 1.903,
                           .clip = 1,
                           .delta = 1e-5,
                           .epsilon = 0.5};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// The text of the Error{privacy} that the action ends in.
std::string privacy_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::privacy) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

std::string ledger_bytes(const fs::path& path, std::uint32_t charges) {
  auto ledger = Ledger::create(path, kHeader);
  for (std::uint32_t round = 0; round < charges; ++round) ledger.charge(round);
  return read_file(path);
}

// Runs the action in a child process and returns its exit status.
int in_child(const std::function<int()>& action) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(action());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class LedgerTest : public testing::Test {
 protected:
  TempDir dir_;
  fs::path path_ = dir_ / "agent3.ledger";
};

TEST_F(LedgerTest, CountsChargesAcrossResumes) {
  {
    auto ledger = Ledger::create(path_, kHeader);
    EXPECT_EQ(ledger.charge(0), 1U);
    EXPECT_EQ(ledger.charge(1), 2U);
  }
  {
    auto ledger = Ledger::resume(path_, kHeader, 2);
    EXPECT_EQ(ledger.view().charges, 2U);
    EXPECT_EQ(ledger.charge(1), 3U) << "a retried round with fresh noise is charged again";
    EXPECT_EQ(ledger.charge(2, 0.5, 7), 4U);
    EXPECT_EQ(ledger.charge(3), 5U);
  }
  const auto view = read_ledger(path_);
  EXPECT_EQ(view.header, kHeader);
  EXPECT_EQ(view.charges, 5U);
  EXPECT_EQ(view.torn, 0U);
  EXPECT_EQ(view.last_round, 3U);
  EXPECT_EQ(view.phases, (std::vector<LedgerPhase>{{1.903, 2, 3}, {0.5, 7, 1}, {1.903, 2, 1}}));
  EXPECT_EQ(fs::file_size(path_), kLedgerHeaderBytes + 5 * kLedgerRecordBytes);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), {}), 1) << "no temporary file left";
}

TEST_F(LedgerTest, RefusesToStartOverOrWithoutItsFile) {
  ledger_bytes(path_, 2);
  expect_contains(privacy_error([&] { Ledger::create(path_, kHeader); }), "already");
  EXPECT_EQ(read_ledger(path_).charges, 2U);
  expect_contains(privacy_error([&] { Ledger::resume(dir_ / "none", kHeader); }), "none");
  expect_contains(privacy_error([&] { Ledger::resume(path_, kHeader, 3); }), "rolled back");
  expect_contains(privacy_error([&] { Ledger::create(dir_ / "no" / "folder", kHeader); }),
                  "cannot create");
}

TEST_F(LedgerTest, RefusesTheLedgerOfAnotherRunOrAgent) {
  ledger_bytes(path_, 1);
  const auto refused = [&](const auto& change, const std::string& field) {
    auto other = kHeader;
    change(other);
    const auto text = privacy_error([&] { Ledger::resume(path_, other); });
    expect_contains(text, field);
    expect_contains(text, path_.string());
  };
  refused([](auto& h) { h.run_id = "run-8"; }, "expected run id run-8, found run-7");
  refused([](auto& h) { h.agent = 4; }, "expected agent 4, found 3");
  refused([](auto& h) { h.sampler = "poisson"; }, "sampler");
  refused([](auto& h) { h.adjacency = "add-remove"; }, "adjacency");
  refused([](auto& h) { h.records = 9999; }, "records");
  refused([](auto& h) { h.batch = 1; }, "batch");
  refused([](auto& h) { h.noise_stddev = 0.1; }, "standard deviation");
  refused([](auto& h) { h.clip = 2; }, "clip");
  refused([](auto& h) { h.delta = 1e-3; }, "delta");
  refused([](auto& h) { h.epsilon = 9; }, "epsilon");
}

TEST_F(LedgerTest, RefusesHeadersThatMakeNoSense) {
  const auto refused = [&](const auto& change) {
    auto header = kHeader;
    change(header);
    privacy_error([&] { Ledger::create(path_, header); });
    EXPECT_FALSE(fs::exists(path_));
  };
  refused([](auto& h) { h.run_id = ""; });
  refused([](auto& h) { h.run_id = std::string(65, 'x'); });
  refused([](auto& h) { h.run_id = "line\nbreak"; });
  refused([](auto& h) { h.batch = 0; });
  refused([](auto& h) { h.batch = 4000; });
  refused([](auto& h) { h.noise_stddev = 0; });
  refused([](auto& h) { h.clip = std::numeric_limits<double>::quiet_NaN(); });
  refused([](auto& h) { h.delta = 1; });
  refused([](auto& h) { h.epsilon = 0; });
}

TEST_F(LedgerTest, RefusesASecondProcessAndASecondOpening) {
  auto ledger = Ledger::create(path_, kHeader);
  const auto second = privacy_error([&] { Ledger::resume(path_, kHeader); });
  expect_contains(second, "in use by another process");
  // Some filesystems number their devices otherwise in /proc/locks; then no process is named.
  if (second.find("(process ") != std::string::npos)
    expect_contains(second, "(process " + std::to_string(::getpid()) + ")");
  EXPECT_EQ(in_child([&] {
              try {
                Ledger::resume(path_, kHeader);
                return 1;
              } catch (const Error& error) {
                return error.kind() == ErrorKind::privacy ? 0 : 2;
              }
            }),
            0);
}

TEST_F(LedgerTest, RefusesAForkedChild) {
  auto ledger = Ledger::create(path_, kHeader);
  EXPECT_EQ(in_child([&] {
              try {
                ledger.charge(0);
                return 1;
              } catch (const Error& error) {
                return error.kind() == ErrorKind::privacy ? 0 : 2;
              }
            }),
            0);
  EXPECT_EQ(ledger.charge(0), 1U);
}

TEST_F(LedgerTest, RefusesToChargeAFileThatWasDeletedOrChanged) {
  auto ledger = Ledger::create(path_, kHeader);
  ledger.charge(0);
  fs::resize_file(path_, kLedgerHeaderBytes);
  expect_contains(privacy_error([&] { ledger.charge(1); }), "changed by someone else");
  fs::remove(path_);
  expect_contains(privacy_error([&] { ledger.charge(1); }), "deleted");
}

// The open file would go on growing under another name, and the next start find the other one.
TEST_F(LedgerTest, NoticesThatItWasRenamedOrReplaced) {
  auto ledger = Ledger::create(path_, kHeader);
  ledger.charge(0);
  const auto aside = dir_ / "aside";
  fs::rename(path_, aside);
  expect_contains(privacy_error([&] { ledger.charge(1); }), "renamed or replaced");
  fs::copy_file(aside, path_);  // of the same content
  expect_contains(privacy_error([&] { ledger.charge(1); }), "renamed or replaced");
  fs::remove(path_);
  fs::create_symlink(aside, path_);
  expect_contains(privacy_error([&] { ledger.charge(1); }), "renamed or replaced");
  expect_contains(privacy_error([&] { Ledger::resume(path_, kHeader); }), "symbolic link");
  fs::remove(path_);
  fs::rename(aside, path_);
  EXPECT_EQ(ledger.charge(1), 2U) << "nothing was written meanwhile";
}

TEST_F(LedgerTest, IsForItsOwnerOnly) {
  const auto old = ::umask(0);
  auto ledger = Ledger::create(path_, kHeader);
  ::umask(old);
  EXPECT_EQ(static_cast<unsigned>(fs::status(path_).permissions()), 0600U);
}

TEST_F(LedgerTest, RefusesChargesThatMakeNoSense) {
  auto ledger = Ledger::create(path_, kHeader);
  privacy_error([&] { ledger.charge(0, 0.0, 1); });
  privacy_error([&] { ledger.charge(0, 1.0, 0); });
  privacy_error([&] { ledger.charge(0, 1.0, 4000); });
  EXPECT_EQ(ledger.charge(0), 1U) << "nothing was written, so the ledger goes on";
}

TEST_F(LedgerTest, AFullDiskEndsTheLedger) {
  EXPECT_EQ(in_child([&] {
              auto ledger = Ledger::create(path_, kHeader);
              ledger.charge(0);
              // A limit on the file's size plays the full disk.
              ::signal(SIGXFSZ, SIG_IGN);
              const auto size = kLedgerHeaderBytes + kLedgerRecordBytes + 10;
              const struct rlimit limit { size, size };
              ::setrlimit(RLIMIT_FSIZE, &limit);
              for (int attempt = 0; attempt < 2; ++attempt) try {
                  ledger.charge(1);
                  return 1;
                } catch (const Error& error) {
                  if (error.kind() != ErrorKind::privacy) return 2;
                }
              return 0;
            }),
            0);
  const auto view = read_ledger(path_);
  EXPECT_EQ(view.charges, 2U) << "the charge that failed half way counts";
  EXPECT_TRUE(view.torn_tail);
}

TEST_F(LedgerTest, EveryTruncationCountsTheWholeRecordsAndTheTornOne) {
  const auto bytes = ledger_bytes(path_, 3);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    SCOPED_TRACE(size);
    const auto cut = dir_ / "cut.ledger";
    std::ofstream(cut, std::ios::binary) << bytes.substr(0, size);
    if (size < kLedgerHeaderBytes) {
      expect_contains(privacy_error([&] { read_ledger(cut); }), cut.string());
      continue;
    }
    const auto whole = (size - kLedgerHeaderBytes) / kLedgerRecordBytes;
    const bool torn = (size - kLedgerHeaderBytes) % kLedgerRecordBytes != 0;
    const auto view = read_ledger(cut);
    EXPECT_EQ(view.charges, whole + (torn ? 1 : 0));
    EXPECT_EQ(view.torn_tail, torn);
    {
      auto ledger = Ledger::resume(cut, kHeader);
      EXPECT_EQ(ledger.view().charges, view.charges);
      EXPECT_EQ(ledger.charge(9), view.charges + 1);
    }
    const auto repaired = read_ledger(cut);
    EXPECT_EQ(repaired.charges, view.charges + 1);
    EXPECT_EQ(repaired.torn, torn ? 1U : 0U);
    EXPECT_FALSE(repaired.torn_tail);
  }
}

TEST_F(LedgerTest, EveryFlippedBitIsRefusedOrCountedAsTornAtTheEnd) {
  const auto bytes = ledger_bytes(path_, 4);
  const auto last = bytes.size() - kLedgerRecordBytes;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    if (bit / 8 < last) {
      EXPECT_THROW(decode_ledger(bytes_of(flipped), "flipped"), Error) << "bit " << bit;
    } else {
      const auto view = decode_ledger(bytes_of(flipped), "flipped");
      EXPECT_EQ(view.charges, 4U) << "bit " << bit;
      EXPECT_TRUE(view.torn_tail) << "bit " << bit;
    }
  }
}

TEST_F(LedgerTest, NamesTheOffsetOfDamageInTheMiddle) {
  auto bytes = ledger_bytes(path_, 4);
  bytes[kLedgerHeaderBytes + kLedgerRecordBytes + 5] ^= 1;
  write_file(path_, bytes);
  const auto text = privacy_error([&] { Ledger::resume(path_, kHeader); });
  expect_contains(text, path_.string());
  expect_contains(text, "charge 2 at offset 208 is damaged");
}

TEST_F(LedgerTest, FindsRemovedSwappedAndRepeatedRecords) {
  const auto bytes = ledger_bytes(path_, 4);
  const auto header = bytes.substr(0, kLedgerHeaderBytes);
  const auto record = [&](std::size_t i) {
    return bytes.substr(kLedgerHeaderBytes + i * kLedgerRecordBytes, kLedgerRecordBytes);
  };
  for (const auto& forged :
       {header + record(0) + record(2) + record(3), header + record(0) + record(2),
        header + record(1), header + record(1) + record(0), header + record(0) + record(0),
        header + record(0) + record(1) + record(1)})
    expect_contains(privacy_error([&] { decode_ledger(bytes_of(forged), "forged"); }),
                    "missing or out of order");
  // The same sequence numbers, but the records of another ledger.
  auto other_header = kHeader;
  other_header.agent = 4;
  const auto other = encode_ledger_header(other_header);
  const std::string foreign(reinterpret_cast<const char*>(other.data()), other.size());
  expect_contains(privacy_error([&] { decode_ledger(bytes_of(foreign + record(0)), "forged"); }),
                  "of another history");
}

TEST_F(LedgerTest, RefusesForeignFiles) {
  for (const std::string& text :
       {std::string(), std::string("x"), std::string("PK\3\4 something"), std::string(500, '\0')})
    expect_contains(privacy_error([&] { decode_ledger(bytes_of(text), "foreign"); }),
                    "foreign: not a privacy ledger");
  auto bytes = ledger_bytes(path_, 1);
  bytes[8] = 2;
  expect_contains(privacy_error([&] { decode_ledger(bytes_of(bytes), "newer"); }),
                  "newer: expected ledger version 1 at offset 8, found 2");
}

// Charges in a loop and reports each returned count, until it is killed.
[[noreturn]] void charge_until_killed(const fs::path& path, int pipe) {
  auto ledger = Ledger::resume(path, kHeader);
  for (std::uint32_t round = 0;; ++round) {
    const std::uint64_t charges = ledger.charge(round);
    if (::write(pipe, &charges, sizeof charges) != sizeof charges) ::_exit(1);
  }
}

TEST_F(LedgerTest, NeverForgetsAReportedChargeWhenKilledAtAnyMoment) {
  ledger_bytes(path_, 0);
  RngStream rng(1, Draw::test, 0, 0);
  std::uint64_t before = 0;
  for (int kill = 0; kill < 50; ++kill) {
    SCOPED_TRACE(kill);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      charge_until_killed(path_, ends[1]);
    }
    ::close(ends[1]);
    ::usleep(static_cast<useconds_t>(rng.below(20'000)));
    ::kill(child, SIGKILL);
    std::uint64_t reported = 0, value = 0;
    while (::read(ends[0], &value, sizeof value) == sizeof value) reported = value;
    ::close(ends[0]);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const auto on_disk = read_ledger(path_).charges;
    EXPECT_GE(on_disk, reported);
    EXPECT_GE(on_disk, before);
    before = on_disk;
  }
  EXPECT_GT(before, 0U) << "no child came as far as a charge";
}

}  // namespace
}  // namespace porter
