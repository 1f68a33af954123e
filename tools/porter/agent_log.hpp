// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

namespace porter::cli {

/// The log of an agent: lines on standard error and in FOLDER/agent.log, each with the time and the
/// agent's name, as text or as JSON. The folder must be there. May be used from several threads.
class AgentLog {
 public:
  AgentLog(const std::filesystem::path& folder, std::string name, bool json);

  void info(const std::string& text) { write("info", text); }
  void error(const std::string& text) { write("error", text); }

 private:
  void write(const char* level, const std::string& text);

  std::string name_;
  bool json_;
  std::mutex mutex_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace porter::cli
