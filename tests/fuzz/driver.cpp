// SPDX-License-Identifier: Apache-2.0
// Runs libFuzzer targets without libFuzzer: the kept corpus, then mutations of it and of the
// target's own seeds, for a while. The sanitizer builds turn any bad access into a failure.
// fuzz_driver NAME: the corpus of the tree, and PORTER_FUZZ_SECONDS (1) seconds of mutations.
// fuzz_driver NAME FILE...: these inputs alone, to look at a finding.
// PORTER_FUZZ_SEED (1) decides on the mutations, so a run can be repeated. The input under which
// the program ends, or that takes longer than 20 seconds of the processor's time, is kept as
// crash-NAME in PORTER_FUZZ_SAVE or the current folder.
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz.hpp"
#include "fuzz_targets.hpp"
#include "paths.hpp"
#include "porter/core/rng.hpp"

extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

namespace fs = std::filesystem;

constexpr int kLongestSeconds = 20;

// What a handler of signals may look at.
char g_save[4096];
const char* g_input = nullptr;
std::size_t g_size = 0;

const FuzzTarget* g_target = nullptr;

void save_input() {
  if (g_input == nullptr) return;
  const int file = open(g_save, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || write(file, g_input, g_size) != static_cast<ssize_t>(g_size)) return;
  close(file);
  g_input = nullptr;
  constexpr char kText[] = "\nthe input is kept as ";
  if (write(2, kText, sizeof kText - 1) < 0 ||
      write(2, g_save, std::char_traits<char>::length(g_save)) < 0 || write(2, "\n", 1) < 0)
    return;
}

void on_signal(int number) {
  save_input();
  signal(number, SIG_DFL);
  raise(number == SIGPROF ? SIGABRT : number);
}

void watch_for_the_end(const std::string& name) {
  const char* folder = std::getenv("PORTER_FUZZ_SAVE");
  std::snprintf(g_save, sizeof g_save, "%s/crash-%s", folder ? folder : ".", name.c_str());
  static char stack[1 << 16];  // of the handlers: the program's own may be used up
  const stack_t other{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&other, nullptr);
  for (const int number : {SIGABRT, SIGPROF, SIGFPE, SIGILL, SIGBUS, SIGSEGV}) {
    struct sigaction old {
    }, action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    sigaction(number, nullptr, &old);
    if (old.sa_handler == SIG_DFL) sigaction(number, &action, nullptr);  // else a sanitizer's
  }
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(save_input);
}

// Of the processor's time: on a busy machine an input may wait for long. 0: not at all.
void stop_after(int seconds) {
  const itimerval limit{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}

void try_input(const std::string& input) {
  g_size = input.size();
  g_input = input.data();
  stop_after(kLongestSeconds);
  g_target->try_one(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  stop_after(0);
  g_input = nullptr;
}

std::string read_all(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "cannot read %s\n", file.c_str());
    std::exit(1);
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

// The target's own seeds, then the kept files in the order of their names.
std::vector<std::string> seeds_of(const std::string& name) {
  auto seeds = g_target->seeds();
  std::vector<fs::path> files;
  const auto folder = fs::path(porter::source_dir()) / "tests/fuzz/corpus" / name;
  if (fs::exists(folder))
    for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) seeds.push_back(read_all(file));
  return seeds;
}

std::string mutate(std::string input, const std::vector<std::string>& seeds,
                   porter::RngStream& rng) {
  const auto edits = 1 + rng.below(4);
  for (std::uint64_t i = 0; i < edits; ++i) {
    const auto at = rng.below(input.size() + 1);
    const auto byte = static_cast<char>(rng.next_u32());
    switch (rng.below(8)) {
      case 0:
        input.insert(input.begin() + static_cast<long>(at), byte);
        break;
      case 1:
        input.resize(at);
        break;
      case 2:
        input += input.substr(at);
        break;
      case 3:
        input.erase(at, rng.below(8));
        break;
      case 4: {  // a piece of another one
        const auto& other = seeds[rng.below(seeds.size())];
        input.insert(at, other.substr(rng.below(other.size() + 1), rng.below(64)));
        break;
      }
      case 5:  // a digit more, or less
        if (at < input.size() && input[at] >= '0' && input[at] <= '9')
          input.insert(at, std::string(rng.below(20), '9'));
        break;
      default:
        if (at < input.size()) input[at] = byte;
    }
  }
  constexpr std::size_t kLargest = 1 << 16;
  if (input.size() > kLargest) input.resize(kLargest);
  return input;
}

double number_from(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atof(text) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  const auto targets = fuzz_targets();
  const auto found = std::ranges::find(targets, name, &FuzzTarget::name);
  if (found == targets.end()) {
    std::fprintf(stderr, "usage: %s TARGET [FILE...]; there is no target \"%s\"\n", argv[0],
                 name.c_str());
    return 2;
  }
  g_target = &*found;
  watch_for_the_end(name);
  for (int i = 2; i < argc; ++i) try_input(read_all(argv[i]));
  if (argc > 2) return 0;
  const auto seconds = std::chrono::duration<double>(number_from("PORTER_FUZZ_SECONDS", 1));
  const auto seed = static_cast<std::uint64_t>(number_from("PORTER_FUZZ_SEED", 1));
  auto seeds = seeds_of(name);
  for (const auto& input : seeds) try_input(input);
  if (seeds.empty()) seeds.emplace_back();
  const auto start = std::chrono::steady_clock::now();
  std::uint32_t round = 0;
  for (; std::chrono::steady_clock::now() - start < seconds; ++round) {
    porter::RngStream rng(seed, porter::Draw::test, 0, round);
    std::string input = seeds[rng.below(seeds.size())];
    if (rng.below(8) == 0) {
      input.resize(rng.below(64));
      for (auto& byte : input) byte = static_cast<char>(rng.next_u32());
    }
    try_input(mutate(std::move(input), seeds, rng));
  }
  std::printf("%s: %zu kept inputs, %u more with PORTER_FUZZ_SEED=%llu\n", name.c_str(),
              seeds.size(), round, static_cast<unsigned long long>(seed));
  return 0;
}
