// SPDX-License-Identifier: Apache-2.0
// A job in which rank 1 goes wrong: mpi_faults stopped|killed|thrown|early. Called by fault.sh.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "porter/comm/mpi.hpp"
#include "porter/core/error.hpp"

namespace {

using namespace porter;

void go_wrong(const std::string& fault) {
  if (fault == "stopped") std::raise(SIGSTOP);
  if (fault == "killed") std::raise(SIGKILL);
  if (fault == "thrown") fail(ErrorKind::io, "the disk is full");
}

void exchange(Transport& end, const Hosting& hosting, std::uint32_t rank,
              const std::string& fault) {
  for (std::uint32_t round = 1;; ++round) {
    for (const auto agent : hosting.hosted(rank)) end.post(round, agent, Payload(5000));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    end.collect(round);
    if (rank == 1 && round == 50) go_wrong(fault);
  }
}

void run(const std::string& fault) {
  // Where it is not the watchdog who is to find out, a rank that is only slow must not wake it.
  const std::chrono::seconds watchdog(fault == "stopped" ? 10 : 600);
  const auto session =
      make_mpi_session({.watchdog = watchdog, .report = [](const std::string& text) {
                          std::fprintf(stderr, "watchdog: %s\n", text.c_str());
                        }});
  if (fault == "early" && session->rank() == 1) fail(ErrorKind::io, "no such file");
  const auto size = session->size();
  std::vector<std::vector<std::uint32_t>> ring(2 * size);
  for (std::uint32_t i = 0; i < 2 * size; ++i)
    ring[i] = {(i + 1) % (2 * size), (i + 2 * size - 1) % (2 * size)};
  const auto hosting = host_in_blocks(ring, size);
  const auto end = session->make_transport(hosting, 10'000);
  try {
    exchange(*end, hosting, session->rank(), fault);
  } catch (const Error& error) {
    end->abort(error.what());
    throw;
  }
}

}  // namespace

int main(int, char** argv) {
  try {
    run(argv[1]);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    // mpirun ends the others as soon as one has ended: the one at fault lets them speak first.
    const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
    if (rank && rank == std::string("1")) std::this_thread::sleep_for(std::chrono::seconds(20));
    return 1;
  }
}
