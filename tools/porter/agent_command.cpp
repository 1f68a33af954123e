// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "commands.hpp"
#include "config/difference.hpp"
#include "core/text.hpp"
#include "http_server.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "porter/agent/agent.hpp"
#include "porter/core/error.hpp"
#include "report/text.hpp"
#include "run_one.hpp"

namespace porter::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kStatusPeriod{200}, kLookPeriod{1000};
constexpr std::chrono::seconds kLogPeriod{60};
constexpr std::chrono::seconds kStopPatience{3};

struct AgentArguments {
  std::string config, out, trace;
  std::vector<std::string> overrides;
  bool insecure_test_noise = false, allow_no_noise = false;
};

/// Lines on standard error and in FOLDER/agent.log, each with the time and the agent's name, as
/// text or as JSON. The folder must be there. May be used from several threads.
class AgentLog {
 public:
  AgentLog(const std::filesystem::path& folder, std::string name, bool json)
      : name_(std::move(name)), json_(json), file_(open_to_append(folder / "agent.log")) {}

  void info(const std::string& text) { write("info", text); }
  void error(const std::string& text) { write("error", text); }

 private:
  // A disk that is full must not end a run that goes on, so what cannot be logged is lost.
  void write(const char* level, const std::string& text) {
    const auto time = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    const auto line =
        (json_ ? json_text({{"time", time}, {"level", level}, {"agent", name_}, {"message", text}})
               : fmt::format("{} {} {}: {}", time, level, name_, without_controls(text))) +
        '\n';
    const std::lock_guard lock(mutex_);
    for (auto* out : {stderr, file_.get()}) {
      std::clearerr(out);
      static_cast<void>(std::fwrite(line.data(), 1, line.size(), out));
      static_cast<void>(std::fflush(out));
    }
  }

  std::string name_;
  bool json_;
  std::mutex mutex_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

/// Where the agent stands, for the metrics, for status.json and from time to time for the log.
class Board {
 public:
  Board(std::filesystem::path folder, AgentLog& log) : folder_(std::move(folder)), log_(log) {}

  const std::shared_ptr<LinkMeter>& links() const { return links_; }

  std::string metrics() {
    const std::lock_guard lock(mutex_);
    return to_prometheus(status_, links_->links());
  }

  /// Nobody calls update in the middle of a round, when neighbours are waited for.
  void look_at_links() {
    const std::lock_guard lock(mutex_);
    if (!status_.name.empty() && !ended_ && Clock::now() - written_ >= kLookPeriod) write();
  }

  bool is_due() {
    const std::lock_guard lock(mutex_);
    return Clock::now() - written_ >= kStatusPeriod;
  }

  void update(const AgentStatus& status) {
    const std::lock_guard lock(mutex_);
    if (!ended_) show(status);
  }

  /// The last word, from whichever thread ends the agent. One that had not begun has none: another
  /// may be working in its folder.
  void end(const std::string& state) {
    const std::lock_guard lock(mutex_);
    if (status_.name.empty() || std::exchange(ended_, true)) return;
    auto status = status_;
    status.state = state;
    show(status);
  }

 private:
  void show(const AgentStatus& status) {
    const auto now = Clock::now();
    const bool news = status.state != status_.state;
    status_ = status;
    if (news || now - written_ >= kStatusPeriod) write();
    if (news || now - logged_ >= kLogPeriod) {
      logged_ = now;
      log_.info(fmt::format("{}: round {} of {}{}", status.state, status.round, status.rounds,
                            status.epsilon
                                ? fmt::format(", epsilon {}{}", rounded_up(*status.epsilon, 4),
                                              status.secret ? "" : " were it secret")
                                : ""));
    }
  }

  // For whoever looks. A disk that is full must not end a run that goes on.
  void write() try {
    written_ = Clock::now();
    write_file_soon(folder_ / "status.json", to_json(status_, links_->links()));
  } catch (const Error&) {
  }

  std::filesystem::path folder_;
  AgentLog& log_;
  std::mutex mutex_;
  AgentStatus status_;
  bool ended_ = false;
  const std::shared_ptr<LinkMeter> links_ = std::make_shared<LinkMeter>();
  Clock::time_point written_{}, logged_{};
};

/// Ends an agent that was asked to stop but waits for neighbours. That is what a kill would do, and
/// an agent may be killed at any moment: it goes on from its checkpoint.
class StopWatch {
 public:
  StopWatch(AgentLog& log, Board& board) : log_(log), board_(board), thread_([this] { watch(); }) {}
  ~StopWatch() {
    over_ = true;
    thread_.join();
  }

 private:
  void watch() {
    std::optional<Clock::time_point> asked;
    while (!over_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      board_.look_at_links();
      if (!interrupted()) continue;
      if (!asked) asked = Clock::now();
      if (Clock::now() - *asked < kStopPatience) continue;
      log_.info("stopped while it waited for neighbours; start it again to go on");
      board_.end("stopped");
      std::_Exit(1);
    }
  }

  AgentLog& log_;
  Board& board_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

/// Writes a trace when the run is over; one that StopWatch ends has none.
class TraceFile {
 public:
  TraceFile(std::string path, std::uint32_t process)
      : path_(std::move(path)),
        trace_(path_.empty() ? nullptr : std::make_shared<RoundTrace>(process)) {}
  ~TraceFile() {
    if (trace_) write();
  }
  const std::shared_ptr<RoundTrace>& trace() const { return trace_; }

 private:
  void write() const try { write_file(path_, trace_->to_json()); } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
  }

  std::string path_;
  std::shared_ptr<RoundTrace> trace_;
};

int run_agent(const AgentArguments& given) {
  auto options = with_hint(ErrorKind::privacy, "--insecure-test-noise permits it for a test", [&] {
    return load_agent_options(given.config, given.overrides, given.insecure_test_noise);
  });
  if (given.allow_no_noise) options.require_noise = false;
  const std::filesystem::path out = given.out.empty() ? "runs/agent-" + options.name : given.out;
  check_agent_folder(options, out);
  make_folder(out, options.config);
  AgentLog log(out, options.name, options.json_log);
  Board board(out, log);
  std::optional<HttpServer> server;
  if (!options.metrics.empty())
    server.emplace(options.metrics, "agent.metrics", metrics_page([&] { return board.metrics(); }));
  catch_interrupts();
  const StopWatch stop_watch(log, board);
  const TraceFile trace(given.trace, options.index);
  try {
    const auto status =
        run_agent(options, out,
                  {.log = [&](const std::string& text) { log.info(text); },
                   .after_round = [&](const AgentStatus& now) { board.update(now); },
                   .wants_status = [&] { return board.is_due(); },
                   .stop_requested = interrupted,
                   .links = board.links(),
                   .trace = trace.trace()});
    if (status == TrainStatus::interrupted)
      log.info("stopped; the neighbours wait for this agent, start it again to go on");
    else
      log.info("the model and the privacy statement are in " + out.string());
    return status == TrainStatus::interrupted ? 1 : 0;
  } catch (const std::exception& error) {
    log.error(error.what());
    board.end("failed");
    throw;
  }
}

}  // namespace

void add_agent_command(App& app) {
  auto* command = app.add_subcommand("agent", "run one agent of a networked run");
  auto options = std::make_shared<AgentArguments>();
  command->add_option("config", options->config, "the run's config with a section [agent] (TOML)")
      ->required();
  command->add_overrides(options->overrides, "override a key, e.g. --set agent.log=json");
  command->add_option("--out", options->out, "folder of this agent (default: runs/agent-NAME)");
  command->add_option("--trace", options->trace,
                      "write what each round did when, for chrome://tracing, to this file");
  command->add_flag("--insecure-test-noise", options->insecure_test_noise,
                    "seeded noise, the same in every run: nothing is private, for tests only");
  command->add_flag("--allow-no-noise", options->allow_no_noise,
                    "take part in a run without noise: gradients leave unprotected");
  command->footer(
      "The rest of the config is the same for all agents, and neighbours refuse each other where "
      "it\n"
      "is not. An agent that ends early is started again with the same command: it goes on from "
      "its\n"
      "checkpoint while its neighbours wait. docs/deploy.md explains [agent], keys and faults.");
  command->callback([options] { return run_agent(*options); });
}

}  // namespace porter::cli
