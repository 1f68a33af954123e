// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "command_line.hpp"
#include "http_server.hpp"

namespace porter::cli {

/// --live and --port of a command that trains.
struct LiveOptions {
  bool live = false;
  std::uint16_t port = 0;  ///< 0: one that is free

  void add_to(App& command);
};

/// The report of one folder, served on the loopback device while this object lives: what the files
/// of the folder say, and nothing else. The only path is one that cannot be guessed, so others on
/// the machine do not get at what they may not read. The page is made when somebody asks, at most
/// once a second, and takes a twentieth of one core at most.
class LivePage {
 public:
  /// Error{network} if the port is taken; port 0 takes a free one, near 8650. The folder may come
  /// later.
  LivePage(std::filesystem::path folder, std::uint16_t port);
  ~LivePage();

  /// Lets whoever looks at the end see the end: the destructor waits for a browser to ask once
  /// more.
  void show_the_end() { shows_end_ = true; }
  /// Where it is.
  std::string url() const;

 private:
  using Clock = std::chrono::steady_clock;
  HttpReply answer(const HttpRequest& request);
  void render();

  std::filesystem::path folder_;
  std::string path_;
  bool shows_end_ = false;
  // Of the server's thread:
  std::string page_, version_;
  Clock::time_point next_{};  // not made anew before
  bool rendered_end_ = false;
  // Of both threads:
  std::atomic<bool> ending_{false}, seen_end_{false};
  std::atomic<Clock::rep> asked_{0};  // when somebody did, for the last time
  std::optional<HttpServer> server_;
};

/// Starts one and says where it is, if the options ask for it.
void start_live_page(const LiveOptions& options, const std::filesystem::path& folder,
                     std::optional<LivePage>& page);

}  // namespace porter::cli
