// SPDX-License-Identifier: Apache-2.0
#include "agent_log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "io/file.hpp"
#include "io/json.hpp"

namespace porter::cli {

AgentLog::AgentLog(const std::filesystem::path& folder, std::string name, bool json)
    : name_(std::move(name)), json_(json), file_(open_to_append(folder / "agent.log")) {}

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
