// SPDX-License-Identifier: Apache-2.0
#include "cluster_processes.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "io/file.hpp"
#include "porter/core/error.hpp"

namespace porter::cli {
namespace {

bool is_free(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(port);
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  ::close(fd);
  return bound;
}

}  // namespace

void start(LocalAgent& agent) {
  const auto log = (agent.folder / "output.log").string();
  const auto config = agent.config.string(), folder = agent.folder.string();
  std::vector<const char*> arguments = {"porter", "agent", config.c_str(), "--out", folder.c_str()};
  const auto trace = (agent.folder / "trace.json").string();
  if (agent.insecure_test_noise) arguments.push_back("--insecure-test-noise");
  if (agent.trace) arguments.insert(arguments.end(), {"--trace", trace.c_str()});
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  require(pid >= 0, ErrorKind::io, "cannot start ", agent.name, ": ", std::strerror(errno));
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    const int fd = open_plain(log, O_WRONLY | O_CREAT | O_APPEND);
    ::dup2(fd, STDOUT_FILENO);
    ::dup2(fd, STDERR_FILENO);
    ::setpgid(0, 0);  // Ctrl-C is for the cluster, which passes it on
    ::execv("/proc/self/exe", const_cast<char* const*>(arguments.data()));
    ::_exit(127);
  }
  agent.pid = pid;
  agent.exit_code = -1;
}

bool reap(LocalAgent& agent) {
  int status = 0;
  if (!agent.running() || ::waitpid(agent.pid, &status, WNOHANG) != agent.pid) return false;
  agent.pid = 0;
  agent.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return WIFSIGNALED(status);
}

std::vector<std::uint16_t> free_ports(std::size_t count) {
  constexpr unsigned kFirst = 20'000, kLast = 32'000;
  std::vector<std::uint16_t> ports;
  const auto start = static_cast<unsigned>(::getpid()) * 37U;
  for (unsigned i = 0; i < kLast - kFirst && ports.size() < count; ++i) {
    const auto port = static_cast<std::uint16_t>(kFirst + (start + i) % (kLast - kFirst));
    if (is_free(port)) ports.push_back(port);
  }
  require(ports.size() == count, ErrorKind::network, "no ", count,
          " free ports between 20000 and 32000 on the loopback device");
  return ports;
}

}  // namespace porter::cli
