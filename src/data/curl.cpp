// SPDX-License-Identifier: Apache-2.0
#include "curl.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "porter/core/error.hpp"

namespace porter {
namespace {

// curl's standard error comes back through a pipe; its other streams lead nowhere.
class SpawnActions {
 public:
  explicit SpawnActions(int error_fd) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, error_fd, STDERR_FILENO);
  }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

std::string read_all(int fd) {
  std::string text;
  std::array<char, 512> buffer;
  while (true) {
    const auto count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

// The last line: the earlier ones are the same trouble, once per retry.
std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

CurlResult run_curl(const std::string& url, const std::filesystem::path& path) {
  std::vector<std::string> words = {"curl",
                                    "--fail",
                                    "--location",
                                    "--silent",
                                    "--show-error",
                                    "--proto",
                                    "=https,file",
                                    "--proto-redir",
                                    "=https",
                                    "--connect-timeout",
                                    "20",
                                    "--speed-limit",
                                    "1000",
                                    "--speed-time",
                                    "60",
                                    "--retry",
                                    "2",
                                    "--continue-at",
                                    "-",
                                    "--output",
                                    path.string(),
                                    "--",
                                    url};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  std::array<int, 2> ends{};
  require(::pipe2(ends.data(), O_CLOEXEC) == 0, ErrorKind::io,
          "cannot start curl: no pipe: ", std::strerror(errno));
  pid_t child = 0;
  int error = 0;
  {
    const SpawnActions actions(ends[1]);
    error = ::posix_spawnp(&child, "curl", actions.get(), nullptr, arguments.data(), environ);
  }
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    fail(ErrorKind::io, "cannot start curl, which downloads the files: ", std::strerror(error),
         "; install curl, or download ", url, " by hand");
  }
  CurlResult result;
  result.message = last_line(read_all(ends[0]));
  ::close(ends[0]);
  result.code = wait_for(child);
  return result;
}

}  // namespace porter
