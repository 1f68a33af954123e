// SPDX-License-Identifier: Apache-2.0
#include "agent_log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "io/json_text.hpp"
#include "porter/core/error.hpp"
#include "porter/core/text.hpp"

namespace porter::cli {
namespace {

std::unique_ptr<std::FILE, int (*)(std::FILE*)> open_log(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const auto path = folder / "agent.log";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "ae"), std::fclose);
  require(file != nullptr, ErrorKind::io, "cannot open ", path.string(), ": ",
          std::strerror(errno));
  return file;
}

}  // namespace

AgentLog::AgentLog(const std::filesystem::path& folder, std::string name, bool json)
    : name_(std::move(name)), json_(json), file_(open_log(folder)) {}

// A disk that is full must not end a run that goes on, so what cannot be logged is lost.
void AgentLog::write(const char* level, const std::string& text) {
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

}  // namespace porter::cli
