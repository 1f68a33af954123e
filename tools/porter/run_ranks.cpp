// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>

#include "command_line.hpp"
#include "io/file.hpp"
#include "porter/comm/mpi.hpp"
#include "porter/core/error.hpp"
#include "porter/train/train.hpp"
#include "porter/version.hpp"
#include "run_ranks.hpp"

namespace porter::cli {
namespace {

// The folder that rank 0 names, which may hold the time. What decides which collective calls follow
// is compared first.
std::filesystem::path agreed(MpiSession& session, const std::filesystem::path& out,
                             ExistingRun existing) {
  const bool resume = existing == ExistingRun::resume, force = existing == ExistingRun::replace;
  require_equal_facts(session, {{"porter", kVersion},
                                {"--resume", resume ? "yes" : "no"},
                                {"--force", force ? "yes" : "no"}});
  const auto all = session.all_gather(std::as_bytes(std::span(out.native())));
  return std::string(reinterpret_cast<const char*>(all[0].data()), all[0].size());
}

// Steps that are "auto" are those of the run in the folder of rank 0.
Config with_known_steps(MpiSession& session, Config config, const std::filesystem::path& out) {
  const auto known = session.rank() == 0 ? RunFolder::with_known_steps(out, config) : config;
  const std::array steps = {known.algorithm.step, known.algorithm.consensus};
  const auto all = session.all_gather(std::as_bytes(std::span(steps)));
  std::array<double, 2> agreed = {};
  std::memcpy(agreed.data(), all[0].data(), sizeof agreed);
  set_auto_steps(config, agreed[0], agreed[1]);
  return config;
}

// Whether rank 0 finds that there is nothing left to do.
bool already_finished(MpiSession& session, const Config& config, const std::filesystem::path& out) {
  const bool finished = session.rank() == 0 && !RunFolder::is_extension(out, config) &&
                        RunFolder::recorded_status(out) == TrainStatus::finished;
  return session.all_gather(std::as_bytes(std::span(&finished, 1)))[0][0] != std::byte{0};
}

TrainStatus train_as_rank(Trainer& trainer, MpiSession& session, const std::filesystem::path& out,
                          ExistingRun existing, const LiveOptions& live) {
  const auto train = [&](const std::vector<Observer>& observers) {
    return with_hint(ErrorKind::usage, kFolderHint,
                     [&] { return train_on_ranks(trainer, session, out, existing, observers); });
  };
  if (!trainer.is_root()) return train({{.stop_requested = interrupted}});
  std::optional<LivePage> page;
  start_live_page(live, out, page);
  print_facts(trainer.parts());
  fmt::print("{} ranks\n", session.size());
  return train_and_show(trainer, out, train);
}

TrainStatus run(MpiSession& session, const Config& config, const std::filesystem::path& out,
                ExistingRun existing, const RankOptions& options,
                const std::shared_ptr<RoundTrace>& trace) {
  const auto known =
      existing == ExistingRun::resume ? with_known_steps(session, config, out) : config;
  auto parts = session.rank() == 0 ? read_and_assemble(known) : assemble(known);
  if (existing == ExistingRun::resume && already_finished(session, parts.config, out)) {
    if (session.rank() == 0)
      fmt::print("{} is finished already; nothing to resume. More algorithm.rounds extend it\n",
                 out.string());
    return TrainStatus::finished;
  }
  auto link = mpi_link(session, parts, [rank = session.rank()](const std::string& text) {
    fmt::print(stderr, "porter: rank {}: {}\n", rank, text);
  });
  link.trace = trace;
  Trainer trainer(std::move(parts), std::move(link));
  if (options.raw_metrics) trainer.include_raw_metrics();
  try {
    return train_as_rank(trainer, session, out, existing, options.live);
  } catch (const std::exception& error) {
    trainer.link()->transport->abort(error.what());
    throw;
  }
}

}  // namespace

TrainStatus run_on_ranks(const Config& config, const std::filesystem::path& out,
                         ExistingRun existing, const RankOptions& options) {
  const auto session = make_mpi_session(
      {.watchdog = std::chrono::milliseconds(std::lround(1e3 * options.watchdog_seconds)),
       .report = [](const std::string& text) { fmt::print(stderr, "porter: {}\n", text); }});
  const auto trace =
      options.trace.empty() ? nullptr : std::make_shared<RoundTrace>(session->rank());
  try {
    const auto status =
        run(*session, config, agreed(*session, out, existing), existing, options, trace);
    if (trace) write_file(fmt::format("{}.{}", options.trace, session->rank()), trace->to_json());
    return status;
  } catch (const Error& error) {
    fail(error.kind(), "rank ", session->rank(), ": ", error.what());
  }
}

}  // namespace porter::cli
