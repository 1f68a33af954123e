// SPDX-License-Identifier: Apache-2.0
#include "live_page.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <thread>

#include "core/text.hpp"
#include "grid/find_runs.hpp"
#include "porter/core/error.hpp"
#include "report/page.hpp"

namespace porter::cli {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kFirstPort = 8650, kPorts = 50;
constexpr std::chrono::milliseconds kLeastPause{1000};
constexpr int kPausePerWork = 19;
// A browser that asked so recently is still there, and gets so long to ask once more.
constexpr std::chrono::seconds kStillThere{5}, kLastLook{3};

std::string secret_path() {
  std::array<unsigned char, 16> bytes;
  require(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
          ErrorKind::io, "the system gives no random numbers");
  std::string text = "/";
  for (const auto byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// The name is checked, or a page of somebody else could call itself this one; the port is not, as
// a tunnel may have another.
bool is_local(const std::string& host) {
  const auto name = split_spec(host).name;
  return name == "127.0.0.1" || name == "localhost";
}

std::string page_of(const fs::path& folder) {
  PageText text{.title = without_controls(fs::absolute(folder).lexically_normal().string()),
                .live = true};
  try {
    auto found = find_runs(std::vector{folder}, true);
    text.sources = source_lines(found, false);
    const auto groups = group_by_seed(std::move(found.traces));
    if (groups.empty() && found.under_way.empty())
      text.sources.insert(text.sources.begin(), "Nothing has been measured yet.");
    return html_report(text, groups, found.under_way);
  } catch (const Error& error) {  // e.g. a file that is just being replaced
    text.sources = {std::string("Nothing to show yet: ") + error.what()};
    return html_report(text, {});
  }
}

}  // namespace

void LiveOptions::add_to(App& command) {
  auto* flag = command.add_flag(
      "--live", live, "serve a page on this machine that follows the run (docs/reports.md)");
  command
      .add_option("--port", port, "with --live: its port on 127.0.0.1 (default: one that is free)",
                  "PORT")
      ->needs(flag);
}

LivePage::LivePage(fs::path folder, std::uint16_t port)
    : folder_(std::move(folder)), path_(secret_path()) {
  const auto start = [&](unsigned at) {
    server_.emplace(fmt::format("127.0.0.1:{}", at), "--port",
                    [this](const HttpRequest& request) { return answer(request); });
  };
  for (unsigned at = kFirstPort; port == 0 && !server_ && at < kFirstPort + kPorts; ++at) try {
      start(at);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::network) throw;
    }
  if (!server_) start(port);
}

LivePage::~LivePage() {
  const auto now = Clock::now();
  const Clock::time_point asked{Clock::duration(asked_)};
  ending_ = true;
  while (shows_end_ && asked_ != 0 && now - asked < kStillThere && !seen_end_ &&
         Clock::now() - now < kLastLook)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

std::string LivePage::url() const {
  return fmt::format("http://127.0.0.1:{}{}", server_->port(), path_);
}

HttpReply LivePage::answer(const HttpRequest& request) {
  if (!is_local(request.host)) return {.status = "403 Forbidden", .body = "403 Forbidden\n"};
  if (request.path != path_) return {.status = "404 Not Found", .body = "404 Not Found\n"};
  asked_ = Clock::now().time_since_epoch().count();
  const bool ending = ending_;
  if (Clock::now() >= next_ || (ending && !rendered_end_)) render();
  rendered_end_ = ending;
  seen_end_ = ending;
  if (request.version == version_) return {.status = "304 Not Modified", .version = version_};
  return {.type = "text/html; charset=utf-8", .body = page_, .version = version_};
}

void LivePage::render() {
  const auto start = Clock::now();
  page_ = page_of(folder_);
  version_ = '"' + sha256_hex(page_).substr(0, 32) + '"';
  const auto end = Clock::now();
  next_ = end + std::max<Clock::duration>(kLeastPause, kPausePerWork * (end - start));
}

void start_live_page(const LiveOptions& options, const fs::path& folder,
                     std::optional<LivePage>& page) {
  if (!options.live) return;
  page.emplace(folder, options.port);
  page->show_the_end();
  fmt::print(stderr, "live page: {}\n", page->url());  // what is printed may be for a program
}

}  // namespace porter::cli
