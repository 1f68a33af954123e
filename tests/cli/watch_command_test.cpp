// SPDX-License-Identifier: Apache-2.0
// porter watch and --live, asked as a browser does, and as others may.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "command_test.hpp"
#include "io/file.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

struct Url {
  int port = 0;
  std::string path;
};

class Watch : public CommandTest {
 protected:
  Watch() {
    write_file(dir_ / "c.toml",
               "[data]\nname = \"synthetic\"\n[network]\nagents = 3\ngraph = \"ring\"\n"
               "[algorithm]\nname = \"porter-gc\"\nrounds = 40\nbatch = 4\n");
  }
  /// What a command printed as the address of its page.
  std::optional<Url> url() const {
    if (!fs::exists(dir_ / "log")) return std::nullopt;
    const auto log = read_file(dir_ / "log");
    std::smatch found;
    if (!std::regex_search(log, found, std::regex("http://127.0.0.1:([0-9]+)(/[0-9a-f]{32})\n")))
      return std::nullopt;
    return Url{std::stoi(found[1]), found[2]};
  }
  /// The whole reply to these bytes; empty if there is nobody.
  static std::string ask(int port, const std::string& bytes) {
    const FileDescriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return {};
    if (::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return {};
    std::string reply;
    char buffer[4096];
    for (ssize_t count; (count = ::recv(fd.get(), buffer, sizeof buffer, 0)) > 0;)
      reply.append(buffer, static_cast<std::size_t>(count));
    return reply;
  }
  static std::string get(const Url& url, const std::string& more = {}) {
    return ask(url.port, "GET " + url.path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + more + "\r\n");
  }
  static bool is_page(const std::string& reply) { return reply.starts_with("HTTP/1.1 200"); }
  static std::string version_of(const std::string& reply) {
    std::smatch found;
    return std::regex_search(reply, found, std::regex("\r\nETag: ([^\r]*)\r\n")) ? found[1].str()
                                                                                 : "";
  }
};

TEST_F(Watch, ServesTheReportOfTheFolderAndFollowsIt) {
  ASSERT_EQ(porter("run c.toml --out runs/a").exit_code, 0);
  RunningPorter watch(dir_.path(), {"watch", "runs"}, dir_ / "log");
  ASSERT_TRUE(watch.wait_until([&] { return url().has_value(); }));
  const auto at = *url();
  const auto first = get(at);
  EXPECT_TRUE(first.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html")) << first;
  for (const char* part : {"Loss by round", "porter-gc", "class=\"live\"", "connect-src 'self'"})
    EXPECT_NE(first.find(part), first.npos) << part;
  const auto version = version_of(first);
  EXPECT_TRUE(get(at, "If-None-Match: " + version + "\r\n").starts_with("HTTP/1.1 304"));

  ASSERT_EQ(porter("run c.toml --out runs/b --set algorithm.step=0.5").exit_code, 0);
  EXPECT_TRUE(watch.wait_until(
      [&] { return get(at, "If-None-Match: " + version + "\r\n").starts_with("HTTP/1.1 200"); }));
  EXPECT_NE(version_of(get(at)), version);
  EXPECT_EQ(watch.stop(SIGINT), 0);
  // Nobody is there any more; or another test is, which has taken the port and another path.
  EXPECT_FALSE(is_page(get(at)));
}

TEST_F(Watch, AnswersNothingElse) {
  ASSERT_EQ(porter("run c.toml --out run").exit_code, 0);
  RunningPorter watch(dir_.path(), {"watch", "run"}, dir_ / "log");
  ASSERT_TRUE(watch.wait_until([&] { return url().has_value(); }));
  const auto [port, path] = *url();
  const std::string host = "Host: localhost:1\r\n\r\n";
  const std::pair<std::string, const char*> cases[] = {
      {"GET / HTTP/1.1\r\n" + host, "404"},
      {"GET " + path + "/ HTTP/1.1\r\n" + host, "404"},
      {"GET " + path + "/../config.toml HTTP/1.1\r\n" + host, "404"},
      {"GET /config.toml HTTP/1.1\r\n" + host, "404"},
      {"GET /metrics HTTP/1.1\r\n" + host, "404"},
      {"POST " + path + " HTTP/1.1\r\n" + host, "405"},
      {"GET " + path + " HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"},
      {"GET " + path + " HTTP/1.1\r\n\r\n", "403"},
      {"nonsense\r\n\r\n", "400"},
      {"GET /" + std::string(20000, 'a'), "431"}};
  for (const auto& [bytes, status] : cases) {
    const auto reply = ask(port, bytes);
    EXPECT_TRUE(reply.starts_with(std::string("HTTP/1.1 ") + status)) << bytes.substr(0, 80) << "\n"
                                                                      << reply.substr(0, 200);
    EXPECT_EQ(reply.find("porter-gc"), reply.npos) << bytes.substr(0, 80);
  }
  EXPECT_TRUE(get({port, path}).starts_with("HTTP/1.1 200")) << "and goes on";
  const auto taken = porter("watch run --port " + std::to_string(port));
  EXPECT_EQ(taken.exit_code, 1);
  EXPECT_NE(taken.output.find("cannot listen on 127.0.0.1"), std::string::npos) << taken.output;
  EXPECT_EQ(porter("watch missing").exit_code, 1);
}

// It would go on for minutes, so that it is seen before it is interrupted.
TEST_F(Watch, ALiveRunIsSeenWhileItGoesOnAndAtItsEnd) {
  std::string last;
  {
    RunningPorter run(dir_.path(),
                      {"run", "c.toml", "--out", "run", "--live", "--set",
                       "algorithm.rounds=100000000", "--set", "run.evaluate=every:100000"},
                      dir_ / "log");
    ASSERT_TRUE(run.wait_until([&] { return url().has_value(); }));
    const auto at = *url();
    EXPECT_TRUE(run.wait_until([&] {
      last = get(at);
      return last.find("has not ended: its figures are those of round") != last.npos;
    })) << last;
    run.send(SIGINT);
    run.wait_until([&] {  // until it has ended
      if (const auto reply = get(at); is_page(reply)) last = reply;
      return false;
    });
  }
  EXPECT_NE(last.find(">interrupted</span>"), last.npos) << "whoever looks sees the end";
  const auto with_port = porter("run c.toml --out other --port 8000");
  EXPECT_EQ(with_port.exit_code, 2) << "--port needs --live";
}

TEST_F(Watch, ALiveSweepShowsItsRunsAndPrintsNothingElseOnStandardOutput) {
  const auto result = porter(
      "sweep c.toml --vary algorithm.step=0.1,0.2 --live --json --out out > results 2> log && "
      "true");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  ASSERT_TRUE(url().has_value());
  EXPECT_TRUE(nlohmann::json::accept(read_file(dir_ / "results")));
  fs::remove(dir_ / "log");
  RunningPorter watch(dir_.path(), {"watch", "out"}, dir_ / "log");
  ASSERT_TRUE(watch.wait_until([&] { return url().has_value(); }));
  const auto page = get(*url());
  EXPECT_NE(page.find("step = 0.2 (3 seeds)"), page.npos) << page.substr(0, 300);
}

}  // namespace
}  // namespace porter
