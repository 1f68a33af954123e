// SPDX-License-Identifier: Apache-2.0
#include "data/catalog.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <sstream>

#include "core/text.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "text.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

// Exit codes of curl: the server cannot go on in the middle of a file.
constexpr int kHttpError = 22, kRangeError = 33, kBadResume = 36;

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

// How a run of curl ended: its exit code (0: good) and what it said on its error output.
struct CurlResult {
  int code = 0;
  std::string message;
};

constexpr const char* kCurl =
    "curl --fail --location --silent --show-error --proto =https,file --proto-redir =https "
    "--connect-timeout 20 --speed-limit 1000 --speed-time 60 --retry 2 --continue-at - --output";

// Downloads an https or file URL to `path`, going on where the file there ends. A child process
// with an argument list, no shell. Error{io} if curl cannot be started.
CurlResult run_curl(const std::string& url, const fs::path& path) {
  std::istringstream command(kCurl);
  std::vector<std::string> words(std::istream_iterator<std::string>(command), {});
  words.insert(words.end(), {path.string(), "--", url});
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  std::array<int, 2> ends{};
  require(::pipe2(ends.data(), O_CLOEXEC) == 0, ErrorKind::io,
          "cannot start curl: no pipe: ", std::strerror(errno));
  const FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  pid_t child = 0;
  // Its standard error comes back through the pipe; its other streams lead nowhere.
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDERR_FILENO);
  const int error = ::posix_spawnp(&child, "curl", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  require(error == 0, ErrorKind::io,
          "cannot start curl, which downloads the files: ", std::strerror(error),
          "; install curl, or download ", url, " by hand");
  theirs = FileDescriptor(-1);
  auto message = last_line(read_all(ours.get()).value_or(""));
  return {wait_for(child), std::move(message)};
}

std::optional<std::string> checksum_of(const fs::path& path, bool text) {
  try {
    return content_sha256(read_file(path), text);
  } catch (const Error&) {  // missing, or a damaged .gz
    return std::nullopt;
  }
}

bool cannot_resume(const CurlResult& result) {
  return result.code == kRangeError || result.code == kBadResume ||
         (result.code == kHttpError && result.message.find("416") != std::string::npos);
}

struct Attempt {
  bool good = false, wrong_content = false;
  std::string reason = {};
};

// Leaves a part that may be resumed, and removes one whose content is wrong.
Attempt try_url(const std::string& url, const KnownFile& file, const fs::path& part) {
  std::error_code ignored;
  bool resumed = fs::exists(part, ignored) && fs::file_size(part, ignored) > 0;
  if (resumed && checksum_of(part, file.text) == file.sha256) return {.good = true};
  while (true) {
    const auto result = run_curl(url, part);
    if (result.code != 0 && !(resumed && cannot_resume(result)))
      return {.reason = url + ": " +
                        (result.message.empty() ? concat("curl failed with code ", result.code)
                                                : result.message)};
    const auto found = checksum_of(part, file.text);
    if (result.code == 0 && found == file.sha256) return {.good = true};
    fs::remove(part, ignored);
    if (!resumed)
      return {.wrong_content = true,
              .reason = url + ": expected content with sha256 " + file.sha256 + ", found " +
                        found.value_or("a damaged file") + "; the download was removed"};
    resumed = false;  // it went on from what was no part of this file: once more from the start
  }
}

}  // namespace

std::string content_sha256(std::string_view bytes, bool text) {
  if (!text) return sha256_hex(bytes);
  std::string normal;
  normal.reserve(bytes.size() + 1);
  LineReader lines(bytes);
  while (const auto line = lines.next()) {
    const auto last = line->find_last_not_of(kBlanks);
    normal += line->substr(0, last == line->npos ? 0 : last + 1);
    normal += '\n';
  }
  return sha256_hex(normal);
}

bool fetch_file(const KnownFile& file, const fs::path& folder) {
  const auto target = folder / file.name;
  if (checksum_of(target, file.text) == file.sha256) return false;
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  require(!error, ErrorKind::io, "cannot create the folder ", target.parent_path().string(), ": ",
          error.message());
  auto part = target;
  part += ".part";
  bool wrong_content = false;
  std::string reasons;
  for (const auto& url : file.urls) {
    const auto attempt = try_url(url, file, part);
    if (attempt.good) {
      fs::rename(part, target, error);
      require(!error, ErrorKind::io, "cannot write ", target.string(), ": ", error.message());
      return true;
    }
    wrong_content |= attempt.wrong_content;
    reasons += "\n  " + attempt.reason;
  }
  fail(wrong_content ? ErrorKind::io : ErrorKind::network, "cannot fetch ", file.name, ":", reasons,
       "\nTo go without a network, put the file (as it is or as .gz) into ", folder.string(),
       ", or into any folder that the variable PORTER_DATA names.");
}

}  // namespace porter
