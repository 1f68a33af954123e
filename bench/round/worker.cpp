// SPDX-License-Identifier: Apache-2.0
// One setting, timed on request:  round_worker CONFIG.toml [section.key=value ...]
// It answers one line of JSON per line of input, so that a driver can take turns between several
// programs:
//   time NAME COUNT     runs the round, or a part of it, COUNT times: {"seconds": s}
//   export DIR ROUNDS   writes the problem and the draws of the first rounds for the peers
//   iterates FILE       writes X
//   memory              bytes: the whole process at its largest, and what the algorithm added
// and before the first question it says what the setting is.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "export.hpp"
#include "parts.hpp"
#include "porter/core/error.hpp"

namespace porter::bench {
namespace {

using nlohmann::json;

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

class Worker {
 public:
  Worker(const std::string& config, const std::vector<std::string>& overrides)
      : setting_(config, overrides),
        before_(resident_bytes()),
        algorithm_(make_algorithm("porter-dp", setting_.algorithm())),
        round_bytes_(round_bytes(setting_, *algorithm_)) {}

  json facts() const {
    return {{"agents", setting_.agents()},
            {"dim", setting_.dim()},
            {"kept", setting_.kept()},
            {"batch", setting_.batch()},
            {"edges", setting_.network().graph.edges().size()},
            {"samples", setting_.problem().samples_per_agent()}};
  }

  json answer(const std::string& line) {
    std::istringstream words(line);
    std::string verb, name;
    std::uint32_t count = 0;
    words >> verb >> name >> count;
    if (verb == "time") return {{"seconds", seconds(name, count)}, {"bytes", bytes(name)}};
    if (verb == "export") {
      export_setting(setting_, count, name);
      return {{"exported", name}};
    }
    if (verb == "iterates") {
      export_rows(algorithm_->iterates(), name);
      return {{"exported", name}};
    }
    if (verb == "memory") return memory();
    fail(ErrorKind::usage, "expected time, export, iterates or memory, found \"", line, "\"");
  }

 private:
  double seconds(const std::string& name, std::uint32_t count) {
    const bool whole = name == "round";
    if (!whole && !parts_) parts_.emplace(setting_);
    const auto start = std::chrono::steady_clock::now();
    for (std::uint32_t i = 0; i < count; ++i)
      if (whole)
        algorithm_->step(++round_);
      else
        parts_->run(name, ++part_round_);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  double bytes(const std::string& name) const {
    if (name == "round") return round_bytes_;
    for (const auto& part : parts_->list())
      if (part.name == name) return part.bytes;
    return 0;
  }

  json memory() const {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {{"peak", 1024.0 * static_cast<double>(usage.ru_maxrss)},
            {"algorithm", resident_bytes() - before_}};
  }

  Setting setting_;
  double before_;
  std::unique_ptr<Algorithm> algorithm_;
  double round_bytes_;  // asked for once: who looks at the state makes the next round longer
  std::optional<Parts> parts_;
  std::uint32_t round_ = 0, part_round_ = 0;
};

int run(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: round_worker CONFIG.toml [section.key=value ...]\n";
    return 2;
  }
  Worker worker(argv[1], {argv + 2, argv + argc});
  std::cout << worker.facts() << std::endl;
  for (std::string line; std::getline(std::cin, line);)
    std::cout << worker.answer(line) << std::endl;
  return 0;
}

}  // namespace
}  // namespace porter::bench

int main(int argc, char** argv) {
  try {
    return porter::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "round_worker: " << error.what() << '\n';
    return 1;
  }
}
