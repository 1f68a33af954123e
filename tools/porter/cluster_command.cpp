// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "commands.hpp"
#include "config/difference.hpp"
#include "io/file.hpp"
#include "live_page.hpp"
#include "porter/agent/agent.hpp"
#include "porter/comm/keys.hpp"
#include "porter/core/error.hpp"
#include "porter/privacy/statement.hpp"
#include "progress.hpp"
#include "report/text.hpp"
#include "run_one.hpp"

namespace porter::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr unsigned kMaxRestarts = 1000;
constexpr std::chrono::seconds kGrace{10};     // for the others to end after one has failed
constexpr std::chrono::seconds kLastWords{5};  // once all have their results

struct ClusterArguments {
  std::string config, out, peer_loss = "wait:60s", keepalive = "10s", log = "text";
  std::vector<std::string> overrides;
  std::uint16_t metrics = 0;  // the first agent's port; 0: off
  bool insecure_test_noise = false, resume = false, trace = false;
  LiveOptions live;
};

/// One agent of a local cluster, as a process.
struct LocalAgent {
  std::string name;
  std::filesystem::path folder, config;
  const ClusterArguments& options;
  pid_t pid = 0;  ///< 0: does not run
  int exit_code = -1;
  unsigned restarts = 0;
  bool has_results = false;  ///< what collect_agents needs is in its folder

  bool running() const { return pid != 0; }
  bool done() const { return !running() && exit_code == 0; }
};

bool is_free(std::uint16_t port) {
  const FileDescriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(port);
  return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
}

// Starts `porter agent` for it; what it prints goes to FOLDER/output.log. It ends with this
// process.
void start(LocalAgent& agent) {
  const auto log = (agent.folder / "output.log").string();
  const auto config = agent.config.string(), folder = agent.folder.string();
  std::vector<const char*> arguments = {"porter", "agent", config.c_str(), "--out", folder.c_str()};
  const auto trace = (agent.folder / "trace.json").string();
  if (agent.options.insecure_test_noise) arguments.push_back("--insecure-test-noise");
  if (agent.options.trace) arguments.insert(arguments.end(), {"--trace", trace.c_str()});
  arguments.push_back(nullptr);
  // A page may be made in another thread, so that all that takes memory is done before.
  const FileDescriptor output(open_plain(log, O_WRONLY | O_CREAT | O_APPEND));
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  require(pid >= 0, ErrorKind::io, "cannot start ", agent.name, ": ", std::strerror(errno));
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::dup2(output.get(), STDOUT_FILENO);
    ::dup2(output.get(), STDERR_FILENO);
    ::setpgid(0, 0);  // Ctrl-C is for the cluster, which passes it on
    ::execv("/proc/self/exe", const_cast<char* const*>(arguments.data()));
    ::_exit(127);
  }
  agent.pid = pid;
  agent.exit_code = -1;
}

// Looks whether it has ended; true if a signal killed it.
bool reap(LocalAgent& agent) {
  int status = 0;
  if (!agent.running() || ::waitpid(agent.pid, &status, WNOHANG) != agent.pid) return false;
  agent.pid = 0;
  agent.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return WIFSIGNALED(status);
}

// Ports on the loopback device that nobody listens on, below the ephemeral range.
std::vector<std::uint16_t> free_ports(std::size_t count) {
  constexpr unsigned kFirst = 20'000, kLast = 32'000;
  std::vector<std::uint16_t> ports;
  const auto first = static_cast<unsigned>(::getpid()) * 37U;
  for (unsigned i = 0; i < kLast - kFirst && ports.size() < count; ++i) {
    const auto port = static_cast<std::uint16_t>(kFirst + (first + i) % (kLast - kFirst));
    if (is_free(port)) ports.push_back(port);
  }
  require(ports.size() == count, ErrorKind::network, "no ", count,
          " free ports between 20000 and 32000 on the loopback device");
  return ports;
}

// Whoever tries a run without noise on one machine owns all data in it.
std::string agent_section(const ClusterArguments& options, std::size_t index,
                          const std::string& peers, std::uint16_t port, bool noise) {
  const auto metrics =
      options.metrics == 0 ? "off" : fmt::format("127.0.0.1:{}", options.metrics + index);
  return fmt::format(
      "\n[agent]\nname = \"agent-{0}\"\nlisten = \"127.0.0.1:{1}\"\nca = \"../../keys/ca.crt\"\n"
      "certificate = \"../../keys/agent-{0}.crt\"\nkey = \"../../keys/agent-{0}.key\"\n"
      "peers = [{2}]\non_peer_loss = \"{3}\"\nkeepalive = \"{4}\"\nlog = \"{5}\"\nmetrics = "
      "\"{6}\"\n{7}",
      index, port, peers, options.peer_loss, options.keepalive, options.log, metrics,
      noise ? "" : "require_noise = false\n");
}

// A folder with a config for each agent, and keys for all.
std::vector<LocalAgent> prepare(const ClusterArguments& options, const Config& config,
                                const fs::path& out) {
  const auto count = config.network.agents;
  const auto keys = out / "keys";
  for (const auto& folder : {out, out / "agents"}) make_folder(folder, config);
  if (!fs::exists(keys / "ca.crt")) init_authority(keys, "a local cluster", {.days = 365});
  const auto ports = free_ports(count);
  const bool noise = config.privacy && config.privacy->sigma != 0.0;
  std::string peers;
  for (std::size_t i = 0; i < count; ++i)
    peers += fmt::format("{}{{name = \"agent-{}\", address = \"127.0.0.1:{}\"}}", i ? ", " : "", i,
                         ports[i]);
  std::vector<LocalAgent> agents;
  for (std::size_t i = 0; i < count; ++i) {
    const auto name = fmt::format("agent-{}", i);
    const auto folder = out / "agents" / name;
    const LocalAgent agent{name, folder, folder / "node.toml", options};
    if (!fs::exists(keys / (agent.name + ".crt")))
      issue_certificate(keys, agent.name, {.days = 30});
    make_folder(agent.folder, config);
    write_file(agent.config, to_toml(config) + agent_section(options, i, peers, ports[i], noise));
    agents.push_back(agent);
  }
  return agents;
}

void signal_all(const std::vector<LocalAgent>& agents, int signal) {
  for (const auto& agent : agents)
    if (agent.running()) ::kill(agent.pid, signal);
}

// Once it has, it stays so.
bool has_results(const Config& config, LocalAgent& agent, std::uint32_t number) {
  return agent.has_results = agent.has_results || has_finished(config, agent.folder, number);
}

bool all_have_results(const Config& config, std::vector<LocalAgent>& agents) {
  for (std::uint32_t i = 0; i < agents.size(); ++i)
    if (!has_results(config, agents[i], i)) return false;
  return true;
}

// What the agent last wrote about itself; empty before it has.
nlohmann::json status_of(const LocalAgent& agent) {
  std::ifstream file(agent.folder / "status.json");
  auto json = nlohmann::json::parse(file, nullptr, false);
  return json.is_object() ? json : nlohmann::json::object();
}

std::string state_of(const LocalAgent& agent, const nlohmann::json& status) {
  if (!agent.running()) return agent.done() ? "finished" : fmt::format("exit {}", agent.exit_code);
  return status.value("state", "starting");
}

/// Shows all agents on standard error: a table that redraws itself on a terminal, else a line every
/// two seconds.
class ClusterView {
 public:
  void show(const std::vector<LocalAgent>& agents, bool last = false) {
    const auto period = std::chrono::milliseconds(terminal_ ? 200 : 2000);
    if (!last && Clock::now() - shown_ < period) return;
    shown_ = Clock::now();
    if (terminal_)
      draw_table(agents);
    else
      print_line(agents);
  }

 private:
  void draw_table(const std::vector<LocalAgent>& agents) {
    if (drawn_) fmt::print(stderr, "\x1b[{}A", agents.size() + 1);
    drawn_ = true;
    const auto print_row = [](const auto&... cells) {
      fmt::print(stderr, "\x1b[2K{:<12} {:>12}  {:<10} {:>9} {:>9} {:>9}  {:>8}\n", cells...);
    };
    print_row("agent", "round", "state", "sent", "received", "epsilon", "restarts");
    for (const auto& agent : agents) {
      const auto status = status_of(agent);
      const auto epsilon = status.contains("epsilon") && status["epsilon"].is_number()
                               ? rounded_up(status["epsilon"].get<double>(), 4)
                               : "-";
      print_row(agent.name,
                fmt::format("{}/{}", status.value("round", 0), status.value("rounds", 0)),
                state_of(agent, status), human_bytes(status.value("bytes_out", 0.0)),
                human_bytes(status.value("bytes_in", 0.0)), epsilon, agent.restarts);
    }
  }

  static void print_line(const std::vector<LocalAgent>& agents) {
    std::uint32_t least = ~0U, most = 0, rounds = 0;
    std::size_t training = 0, finished = 0;
    unsigned restarts = 0;
    for (const auto& agent : agents) {
      const auto status = status_of(agent);
      const auto round = status.value("round", 0U);
      least = std::min(least, round);
      most = std::max(most, round);
      rounds = std::max(rounds, status.value("rounds", 0U));
      const auto state = state_of(agent, status);
      training += state == "training";
      finished += state == "finished";
      restarts += agent.restarts;
    }
    fmt::print(stderr, "{} agents: {} training, {} finished; rounds {} to {} of {}; {} restarts\n",
               agents.size(), training, finished, least, most, rounds, restarts);
  }

  bool terminal_ = ::isatty(STDERR_FILENO) != 0, drawn_ = false;
  Clock::time_point shown_{};
};

// An agent that was killed is started again; one that failed takes the others with it. Once all
// have their results nobody needs anybody any more, which one that was killed at the very end
// cannot know: it would wait for those who have left.
void supervise(const Config& config, std::vector<LocalAgent>& agents) {
  ClusterView view;
  std::optional<Clock::time_point> over, complete;
  bool stopping = false;
  for (auto& agent : agents) start(agent);
  while (std::ranges::any_of(agents, &LocalAgent::running)) {
    if (!complete && all_have_results(config, agents)) complete = Clock::now();
    if (complete && Clock::now() - *complete > kLastWords) signal_all(agents, SIGKILL);
    for (auto& agent : agents) {
      const bool killed = reap(agent);
      if (killed && complete) {
        agent.exit_code = 0;
      } else if (killed && !stopping && !over && agent.restarts < kMaxRestarts) {
        ++agent.restarts;
        start(agent);
      } else if (!agent.running() && !agent.done() && !over) {
        over = Clock::now();
      }
    }
    if (interrupted() && !stopping) {
      stopping = true;
      over = Clock::now();
      signal_all(agents, SIGTERM);
    }
    if (over && Clock::now() - *over > kGrace) signal_all(agents, SIGKILL);
    view.show(agents);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  view.show(agents, true);
}

void report_failure(const std::vector<LocalAgent>& agents) {
  for (const auto& agent : agents) {
    if (agent.done()) continue;
    auto log = read_file(agent.folder / "output.log");
    if (log.ends_with('\n')) log.pop_back();
    fmt::print(stderr, "{}: {}\n", agent.name, log.substr(log.rfind('\n') + 1));
  }
}

int run_cluster(const ClusterArguments& options) {
  const auto config =
      with_hint(ErrorKind::privacy, "--insecure-test-noise permits it for a test", [&] {
        return load_agent_config(options.config, options.overrides, options.insecure_test_noise);
      });
  const auto out = OutOptions{.out = options.out}.folder("cluster");
  require(options.resume ? fs::exists(out / "agents") : !fs::exists(out) || fs::is_empty(out),
          ErrorKind::usage, out.string(),
          options.resume
              ? " holds no cluster to resume"
              : " is not empty; --resume continues the cluster in it, or choose another --out");
  const bool secret = claims_guarantee(config);
  fmt::print("{} agents on this machine, {}; {}\n", config.network.agents, config.algorithm.name,
             secret           ? "secret noise"
             : config.privacy ? "seeded noise for a test: not private"
                              : "no noise: not private");
  std::fflush(stdout);
  catch_interrupts();
  auto agents = prepare(options, config, out);
  std::optional<LivePage> page;
  start_live_page(options.live, out, page);
  supervise(config, agents);
  if (!std::ranges::all_of(agents, &LocalAgent::done)) {
    report_failure(agents);
    if (!interrupted())
      fail(ErrorKind::network, "not all agents finished; their logs are in ",
           (out / "agents").string());
    fmt::print("interrupted; continue with --resume --out {}\n", out.string());
    return 1;
  }
  std::vector<fs::path> folders;
  for (const auto& agent : agents) folders.push_back(agent.folder);
  collect_agents(config, folders, out);
  fmt::print("results in {}\n", out.string());
  return 0;
}

}  // namespace

void add_cluster_command(App& app) {
  auto* command = app.add_subcommand(
      "cluster", "try a networked run: one agent process each on this machine, keys made for it");
  auto options = std::make_shared<ClusterArguments>();
  command->add_option("config", options->config, "the config file (TOML)")->required();
  command->add_overrides(options->overrides, "override a key, e.g. --set algorithm.rounds=50");
  command->add_option("--out", options->out, "folder of the run (default: runs/cluster-TIME)");
  command->add_option("--on-peer-loss", options->peer_loss,
                      "what an agent does that loses a neighbour: wait:DURATION or stop");
  command->add_option("--keepalive", options->keepalive, "how soon a silent neighbour is noticed");
  command->add_option("--log", options->log, "how agents log: text or json");
  command->add_option("--metrics", options->metrics,
                      "serve metrics for Prometheus: agent I on 127.0.0.1, port PORT + I", "PORT");
  command->add_flag("--insecure-test-noise", options->insecure_test_noise,
                    "seeded noise, so that results are those of porter run: nothing is private");
  command->add_flag("--trace", options->trace,
                    "each agent writes trace.json for chrome://tracing in its folder");
  command->add_flag("--resume", options->resume, "continue the cluster in --out");
  options->live.add_to(*command);
  command->footer(
      "Agents that are killed are started again and go on from their checkpoints. At the end the\n"
      "folder holds what porter run writes, with metrics of the first and the last round; agents/\n"
      "holds the folder, log and ledger of each agent, keys/ the keys.");
  command->callback([options] { return run_cluster(*options); });
}

}  // namespace porter::cli
