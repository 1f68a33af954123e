// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "paths.hpp"

namespace porter {

struct CommandResult {
  int exit_code;       ///< 128 + signal if it was killed
  std::string output;  ///< standard output and standard error
};

/// Runs a shell command line.
inline CommandResult run_command(const std::string& line) {
  std::FILE* pipe = popen((line + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen failed");
  CommandResult result{};
  char buffer[4096];
  while (const auto count = std::fread(buffer, 1, sizeof buffer, pipe))
    result.output.append(buffer, count);
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

/// porter, running beside the test: for those that interrupt or kill it.
class RunningPorter {
 public:
  /// Starts it in `folder`; what it prints goes to `log`.
  RunningPorter(const std::filesystem::path& folder, std::vector<std::string> arguments,
                const std::filesystem::path& log)
      : child_(fork()) {
    if (child_ != 0) return;
    if (chdir(folder.c_str()) != 0 || !freopen(log.c_str(), "a", stdout) ||
        !freopen(log.c_str(), "a", stderr))
      _exit(9);
    std::vector<char*> words;
    arguments.insert(arguments.begin(), "porter");
    for (auto& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    execv((binary_dir() + "/porter").c_str(), words.data());
    _exit(9);
  }
  RunningPorter(const RunningPorter&) = delete;
  RunningPorter& operator=(const RunningPorter&) = delete;
  ~RunningPorter() {
    if (child_ > 0) stop(SIGKILL);
  }

  /// Waits until `ready()`; false if the command ends before, or in 30 seconds.
  template <class Ready>
  bool wait_until(const Ready& ready) {
    for (int tries = 0; tries < 30000; ++tries) {
      if (ready()) return true;
      if (waitpid(child_, &status_, WNOHANG) == child_) {
        child_ = 0;
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  /// Sends the signal and does not wait.
  void send(int signal) const {
    if (child_ > 0) kill(child_, signal);
  }

  /// Sends the signal, waits for the end and returns the exit code, 128 + signal if it was killed.
  int stop(int signal) {
    if (child_ > 0) {
      kill(child_, signal);
      waitpid(child_, &status_, 0);
      child_ = 0;
    }
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }

 private:
  pid_t child_;
  int status_ = 0;
};

}  // namespace porter
