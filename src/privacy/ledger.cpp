// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/ledger.hpp"

#include <unistd.h>

#include <cmath>
#include <utility>

#include "io/append_file.hpp"
#include "io/file.hpp"
#include "ledger_format.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

template <class... Parts>
void require_ledger(bool condition, const fs::path& path, const Parts&... parts) {
  if (!condition) fail(ErrorKind::privacy, path.string(), ": ", parts...);
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

AppendFile::Options ledger_options() {
  return {.sync = AppendFile::Sync::disk,
          .error = ErrorKind::privacy,
          .in_use = "two processes would spend one budget twice; it is in use by another process"};
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

}  // namespace

struct Ledger::State {
  explicit State(AppendFile ledger) : file(std::move(ledger)) {}

  const fs::path& path() const { return file.path(); }
  std::size_t end() const { return kLedgerHeaderBytes + view.charges * kLedgerRecordBytes; }

  // Over a torn record, if there is one, which counts until this one is in its place.
  void append(const LedgerRecord& record) {
    const auto bytes = encode_ledger_record(record);
    usable = false;  // until it is known to be on disk
    file.replace_tail(end(), text_of(bytes));
    count_record(view, record, stored_crc(bytes));
    usable = true;
  }

  AppendFile file;
  pid_t owner = ::getpid();
  LedgerView view;
  bool usable = true;
};

Ledger::Ledger(std::unique_ptr<State> state) : state_(std::move(state)) {}
Ledger::~Ledger() = default;
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;
const LedgerView& Ledger::view() const { return state_->view; }

Ledger Ledger::create(const fs::path& path, const LedgerHeader& header) {
  check_ledger_header(header, path.string());
  std::error_code ignored;
  require_ledger(!fs::exists(path, ignored), path,
                 "a ledger is there already; resume its run, or start a run of its own");
  const auto bytes = encode_ledger_header(header);
  auto state = std::make_unique<State>(AppendFile::create(path, text_of(bytes), ledger_options()));
  state->view.header = header;
  state->view.last_crc = stored_crc(bytes);
  return Ledger(std::move(state));
}

Ledger Ledger::resume(const fs::path& path, const LedgerHeader& header, std::uint64_t at_least) {
  std::error_code ignored;
  require_ledger(fs::symlink_status(path, ignored).type() != fs::file_type::not_found, path,
                 "there is no ledger; without it what was spent is unknown");
  auto state = std::make_unique<State>(AppendFile::open_existing(path, ledger_options()));
  auto& view = state->view;
  const auto content = state->file.read();
  view = decode_whole_records(std::as_bytes(std::span(content)), path.string());
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
  const auto& path = state_->path();
  require_ledger(state_->usable, path, "the ledger failed before and takes no further charge");
  require_ledger(state_->owner == ::getpid(), path,
                 "a forked process cannot charge the ledger of process ", state_->owner);
  require_ledger(
      std::isfinite(noise_stddev) && noise_stddev > 0 && batch > 0 && batch <= view.header.records,
      path, "a charge needs a positive standard deviation and a batch in [1, ", view.header.records,
      "], found ", noise_stddev, " and ", batch);
  state_->file.require_untouched(state_->end());
  state_->append({.sequence = view.charges + 1,
                  .round = round,
                  .noise_stddev = noise_stddev,
                  .batch = batch,
                  .previous_crc = view.last_crc});
  return view.charges;
}

LedgerView read_ledger(const fs::path& path) {
  const auto content = read_raw_file(path);
  return decode_ledger(std::as_bytes(std::span(content)), path.string());
}

}  // namespace porter
