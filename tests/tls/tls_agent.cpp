// SPDX-License-Identifier: Apache-2.0
// One of three agents on a ring that do what a run does: exchange, compute, write checkpoints.
// tls_agent keys FOLDER | tls_agent FOLDER PROCESS FIRST_PORT ROUNDS. Called by agents.sh.
#include <cstdio>
#include <fstream>
#include <thread>

#include "comm/tls.hpp"
#include "porter/core/bytes.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"

namespace {

using namespace porter;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::size_t kAgents = 3;

std::string name_of(std::size_t process) { return "agent-" + std::to_string(process); }

// What a checkpoint holds. The state is a hash of everything received, so that a message which is
// lost, repeated or different changes all that follow, at all agents.
struct State {
  std::uint32_t round = 0;
  std::uint64_t value = 1;
};

Payload message_of(const State& state) {
  Payload bytes(1000);
  RngStream rng(state.value, Draw::test, 0, state.round);
  for (auto& byte : bytes) byte = static_cast<std::byte>(rng.next_u32());
  return bytes;
}

State advanced(State state, std::span<const Received> received) {
  ++state.round;
  for (const auto& [sender, bytes] : received)
    state.value = state.value * 6364136223846793005U + crc32(bytes) + sender;
  return state;
}

State load(const fs::path& file) {
  State state;
  std::ifstream(file) >> state.round >> state.value;
  return state;
}

void save(const fs::path& file, const State& state) {
  const auto temporary = file.string() + ".tmp";
  std::ofstream(temporary) << state.round << ' ' << state.value << '\n';
  fs::rename(temporary, file);
}

NetworkOptions options_of(const fs::path& folder, std::uint32_t process, int first_port) {
  NetworkOptions options;
  const auto at = [&](const std::string& file) { return folder / "keys" / file; };
  options.identity =
      load_identity(at("ca.crt"), at(name_of(process) + ".crt"), at(name_of(process) + ".key"));
  options.process = process;
  for (int p = 0; p < int{kAgents}; ++p)
    options.peers.push_back(
        {name_of(static_cast<std::size_t>(p)), "127.0.0.1:" + std::to_string(first_port + p)});
  options.listen = options.peers[process].address;
  options.max_message = 10'000;
  options.peer_wait = 4s;
  options.start_wait = 30s;
  options.keepalive = 1s;
  options.may_restart = true;
  return options;
}

void run(const fs::path& folder, std::uint32_t process, int first_port, std::uint32_t rounds) {
  const Hosting hosting = host_in_blocks({{1, 2}, {0, 2}, {0, 1}}, kAgents);
  const auto checkpoint = folder / (name_of(process) + ".state");
  auto state = load(checkpoint);
  if (state.value == 1) state.value = process + 1;
  auto options = options_of(folder, process, first_port);
  options.resume_after = state.round;
  const auto end = make_network_transport(hosting, options);
  while (state.round < rounds) {
    end->post(state.round + 1, process, message_of(state));
    std::this_thread::sleep_for(5ms);
    state = advanced(state, end->collect(state.round + 1));
    if (state.round % 7 == 0) {
      save(checkpoint, state);
      end->settle(state.round);
    }
  }
  end->finish();
  std::printf("%s: %llu\n", name_of(process).c_str(), static_cast<unsigned long long>(state.value));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3) {
      init_authority(argv[2], "test", {.days = 2});
      for (std::size_t p = 0; p < kAgents; ++p) issue_certificate(argv[2], name_of(p), {.days = 1});
    } else {
      run(argv[1], static_cast<std::uint32_t>(std::stoul(argv[2])), std::stoi(argv[3]),
          static_cast<std::uint32_t>(std::stoul(argv[4])));
    }
    return 0;
  } catch (const Error& error) {
    std::printf("%s: error: %s\n", argv[2], error.what());
    return 1;
  }
}
