// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <csignal>
#include <exception>
#include <iostream>
#include <new>

#include "core/simd.hpp"
#include "porter/core/error.hpp"
#include "porter/version.hpp"

namespace porter::cli {
namespace {

int parse_and_run(int argc, char** argv, std::initializer_list<AddCommand> commands) {
  App app("porter",
          "porter: decentralised training with compressed messages, clipping and privacy");
  app.version_flag("--version", std::string("porter ") + kVersion);
  app.add_action("--simd", limit_simd,
                 "Use no better instruction set than this (default: $PORTER_SIMD, or the best); "
                 "results do not depend on it",
                 "NAME");
  app.before_commands([] { simd(); });
  app.require_subcommand(1);
  for (const auto add : commands) add(app);
  return app.parse(argc, argv);
}

int failed(const char* reason, int exit_code = 1) {
  std::cerr << "porter: " << reason << '\n';
  return exit_code;
}

}  // namespace

int run_program(int argc, char** argv, std::initializer_list<AddCommand> commands) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file too large is a failed write, as a full disk is
  try {
    return parse_and_run(argc, argv, commands);
  } catch (const Error& error) {
    return failed(error.what(), error.kind() == ErrorKind::usage ? kWrongUsage : 1);
  } catch (const std::bad_alloc&) {
    return failed("out of memory");
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

}  // namespace porter::cli
