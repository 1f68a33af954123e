// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <thread>

#include "commands.hpp"
#include "live_page.hpp"
#include "porter/core/error.hpp"
#include "run_one.hpp"

namespace porter::cli {
namespace {

struct WatchArguments {
  std::filesystem::path folder;
  std::uint16_t port = 0;
};

void watch(const WatchArguments& options) {
  require(std::filesystem::is_directory(options.folder), ErrorKind::io, options.folder.string(),
          ": no such folder");
  catch_interrupts();
  const LivePage page(options.folder, options.port);
  fmt::print("{} is shown at\n  {}\nuntil Ctrl-C\n", options.folder.string(), page.url());
  std::fflush(stdout);
  while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace

void add_watch_command(App& app) {
  auto* command = app.add_subcommand("watch", "serve a page that follows runs while they go on");
  const auto options = std::make_shared<WatchArguments>();
  command->add_option("folder", options->folder, "a folder as porter report takes it", "DIR")
      ->required();
  command->add_option("--port", options->port, "on 127.0.0.1 (default: one that is free)", "PORT");
  command->footer(
      "The page is the report of the folder and shows what is new by itself. It is served to this\n"
      "machine alone, at an address that cannot be guessed, and to nobody after Ctrl-C. porter "
      "run,\n"
      "sweep and cluster have --live, which does the same until they end. See docs/reports.md.");
  command->callback([options] { watch(*options); });
}

}  // namespace porter::cli
