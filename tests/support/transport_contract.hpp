// SPDX-License-Identifier: Apache-2.0
// What every transport owes, as one test body. A program that includes this file instantiates it
// for its transports: threads of one program, or one rank of a job.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "porter/comm/transport.hpp"
#include "porter/core/bytes.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"

namespace porter {

inline constexpr std::size_t kContractMaxMessage = 4'000'000;

/// What a process does with its end; it owns the end and may drop it early.
using ProcessBody = std::function<void(std::unique_ptr<Transport>, std::uint32_t process)>;

struct TransportKind {
  std::string name;
  std::vector<std::size_t> process_counts;
  /// What a process is called in errors.
  std::function<std::string(const Hosting&, std::uint32_t)> describe =
      [](const Hosting& hosting, std::uint32_t process) { return hosting.describe(process); };
  /// Runs the body for every process of the hosting that lives in this program.
  std::function<void(const Hosting&, const ProcessBody&)> run;
};

inline void PrintTo(const TransportKind& kind, std::ostream* out) { *out << kind.name; }

/// Runs one thread per end; an exception that leaves a body is a failure.
inline void run_threads(std::vector<std::unique_ptr<Transport>> ends, const ProcessBody& body) {
  std::vector<std::thread> threads;
  for (std::uint32_t p = 0; p < ends.size(); ++p)
    threads.emplace_back([&body, p, end = std::move(ends[p])]() mutable {
      try {
        body(std::move(end), p);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "process " << p << ": " << error.what();
      }
    });
  for (auto& thread : threads) thread.join();
}

using Listeners = std::vector<std::vector<std::uint32_t>>;

inline Listeners ring(std::uint32_t n) {
  Listeners listeners(n);
  for (std::uint32_t i = 0; i < n; ++i)
    for (const auto j : {(i + 1) % n, (i + n - 1) % n})
      if (j != i) listeners[i].push_back(j);
  return listeners;
}

inline Listeners star(std::uint32_t n) {
  Listeners listeners(n);
  for (std::uint32_t i = 1; i < n; ++i) {
    listeners[0].push_back(i);
    listeners[i].push_back(0);
  }
  return listeners;
}

inline Listeners complete(std::uint32_t n) {
  Listeners listeners(n);
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint32_t j = 0; j < n; ++j)
      if (j != i) listeners[i].push_back(j);
  return listeners;
}

/// The message of an agent in a round: everybody can say what it must be.
inline Payload message_of(std::uint32_t agent, std::uint32_t round, std::size_t size) {
  Payload bytes(size);
  RngStream rng(1, Draw::test, agent, round);
  for (std::size_t i = 0; i < size; i += 4) {
    const auto word = rng.next_u32();
    std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(4, size - i));
  }
  return bytes;
}

using SizeOf = std::function<std::size_t(std::uint32_t agent, std::uint32_t round)>;

inline std::size_t random_size(std::uint32_t agent, std::uint32_t round) {
  return RngStream(2, Draw::test, agent, round).below(30'000);
}

inline void post_all(Transport& end, const Hosting& hosting, std::uint32_t process,
                     std::uint32_t round, const SizeOf& size) {
  for (const auto agent : hosting.hosted(process))
    end.post(round, agent, message_of(agent, round, size(agent, round)));
}

inline void expect_round(Transport& end, const Hosting& hosting, std::uint32_t process,
                         std::uint32_t round, const SizeOf& size) {
  const auto received = end.collect(round);
  const auto& sources = hosting.sources(process);
  ASSERT_EQ(received.size(), sources.size()) << "process " << process << " round " << round;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    ASSERT_EQ(received[i].sender, sources[i]) << "process " << process << " round " << round;
    const auto expected = message_of(sources[i], round, size(sources[i], round));
    ASSERT_TRUE(std::ranges::equal(received[i].bytes, expected))
        << "process " << process << " round " << round << " sender " << sources[i] << ": "
        << received[i].bytes.size() << " bytes for " << expected.size();
  }
}

class TransportContract : public testing::TestWithParam<TransportKind> {
 protected:
  /// Rounds first..last with a clean end, for every process count and the given agents beyond it.
  void run_rounds(const std::function<Listeners(std::uint32_t)>& graph, std::size_t more_agents,
                  std::uint32_t first, std::uint32_t last, const SizeOf& size,
                  const std::function<void(std::uint32_t, std::uint32_t)>& compute) {
    for (const auto processes : GetParam().process_counts) {
      SCOPED_TRACE(std::to_string(processes) + " processes");
      const auto agents = static_cast<std::uint32_t>(processes + more_agents);
      const auto hosting = host_in_blocks(graph(agents), processes);
      GetParam().run(hosting, [&](std::unique_ptr<Transport> end, std::uint32_t process) {
        for (auto round = first; round <= last; ++round) {
          post_all(*end, hosting, process, round, size);
          compute(process, round);
          expect_round(*end, hosting, process, round, size);
          if (testing::Test::HasFatalFailure()) return;
        }
        end->finish();
      });
    }
  }
};

inline void no_work(std::uint32_t, std::uint32_t) {}

TEST_P(TransportContract, DeliversEveryMessageToEveryListener) {
  for (const auto& graph : {ring, star, complete})
    for (const std::size_t more : {0, 1, 4}) run_rounds(graph, more, 1, 20, random_size, no_work);
}

TEST_P(TransportContract, CarriesAnySizeFromZeroOn) {
  const std::vector<std::size_t> sizes = {
      0, 1, 55, 4095, 4096, 4097, 65536, 65'537, 1'000'000, 20'424, 0, kContractMaxMessage};
  run_rounds(
      complete, 0, 1, static_cast<std::uint32_t>(sizes.size()),
      [&](std::uint32_t, std::uint32_t round) { return sizes[round - 1]; }, no_work);
}

TEST_P(TransportContract, KeepsRoundsApartForLong) {
  run_rounds(
      ring, 2, 1, 1000,
      [](std::uint32_t agent, std::uint32_t round) { return (agent + round) % 40; }, no_work);
}

TEST_P(TransportContract, StartsAtAnyRound) {
  run_rounds(ring, 1, 4'000'000'000, 4'000'000'005, random_size, no_work);
}

TEST_P(TransportContract, WaitsForASlowPeer) {
  run_rounds(complete, 1, 1, 12, random_size, [](std::uint32_t process, std::uint32_t round) {
    if (round % 3 == process % 3) std::this_thread::sleep_for(std::chrono::milliseconds(15));
  });
}

TEST_P(TransportContract, TakesPostsFromManyThreads) {
  for (const auto processes : GetParam().process_counts) {
    const auto hosting =
        host_in_blocks(complete(static_cast<std::uint32_t>(processes * 4)), processes);
    GetParam().run(hosting, [&](std::unique_ptr<Transport> end, std::uint32_t process) {
      for (std::uint32_t round = 1; round <= 20; ++round) {
        std::vector<std::thread> threads;
        for (const auto agent : hosting.hosted(process))
          threads.emplace_back([&, agent] {
            end->post(round, agent, message_of(agent, round, random_size(agent, round)));
          });
        for (auto& thread : threads) thread.join();
        expect_round(*end, hosting, process, round, random_size);
      }
      end->finish();
    });
  }
}

TEST_P(TransportContract, RefusesWhatACallerMustNotPost) {
  for (const auto processes : GetParam().process_counts) {
    const auto agents = static_cast<std::uint32_t>(processes + 1);
    const auto hosting = host_in_blocks(ring(agents), processes);
    GetParam().run(hosting, [&](std::unique_ptr<Transport> end, std::uint32_t process) {
      const auto kind_of = [&](std::uint32_t sender, std::size_t size) {
        try {
          end->post(1, sender, Payload(size));
        } catch (const Error& error) {
          return error.kind();
        }
        return ErrorKind::numeric;
      };
      EXPECT_EQ(kind_of(agents, 1), ErrorKind::usage);
      if (processes > 1) {
        EXPECT_EQ(kind_of(hosting.hosted((process + 1) % processes)[0], 1), ErrorKind::usage);
      }
      EXPECT_EQ(kind_of(hosting.hosted(process)[0], kContractMaxMessage + 1), ErrorKind::usage);
      post_all(*end, hosting, process, 1, random_size);
      expect_round(*end, hosting, process, 1, random_size);
      end->finish();
    });
  }
}

/// Rounds until the transport throws, as it must; then what it said.
inline std::string last_words(Transport& end, const Hosting& hosting, std::uint32_t process,
                              std::uint32_t round) {
  try {
    for (;; ++round) {
      post_all(end, hosting, process, round, random_size);
      end.collect(round);
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::network) << error.what();
    return error.what();
  }
}

inline void expect_begins(const std::string& text, const std::string& begin) {
  EXPECT_TRUE(text.starts_with(begin)) << text;
}

// On a ring of five processes somebody is no neighbour of the one that gives up. The news may
// overtake messages that were sent before it.
TEST_P(TransportContract, TellsEverybodyWhoGaveUpAndWhy) {
  for (const auto processes : GetParam().process_counts) {
    if (processes == 1) continue;
    const auto hosting = host_in_blocks(ring(static_cast<std::uint32_t>(processes)), processes);
    GetParam().run(hosting, [&](std::unique_ptr<Transport> end, std::uint32_t process) {
      std::uint32_t round = 1;
      if (process == 1) {
        for (; round <= 5; ++round) {
          post_all(*end, hosting, process, round, random_size);
          expect_round(*end, hosting, process, round, random_size);
        }
        end->abort("the disk is full");
        end->abort("a second reason that nobody hears");
      }
      expect_begins(last_words(*end, hosting, process, round),
                    GetParam().describe(hosting, 1) + " gave up: the disk is full");
    });
  }
}

TEST_P(TransportContract, TellsEverybodyWhoEndedTooEarly) {
  for (const auto processes : GetParam().process_counts) {
    if (processes == 1) continue;
    const auto hosting = host_in_blocks(ring(static_cast<std::uint32_t>(processes)), processes);
    GetParam().run(hosting, [&](std::unique_ptr<Transport> end, std::uint32_t process) {
      if (process == 0) {
        post_all(*end, hosting, process, 1, random_size);
        end.reset();
        return;
      }
      expect_begins(last_words(*end, hosting, process, 1),
                    GetParam().describe(hosting, 0) + " gave up: it ended before the run was over");
    });
  }
}

TEST_P(TransportContract, ReachesThoseWhoHaveFinishedAlready) {
  for (const auto processes : GetParam().process_counts) {
    if (processes != 2) continue;
    const auto hosting = host_in_blocks(ring(2), processes);
    GetParam().run(hosting, [&](std::unique_ptr<Transport> end, std::uint32_t process) {
      post_all(*end, hosting, process, 1, random_size);
      if (process == 1) {
        end->collect(1);
        end->abort("at the very end");
        return;
      }
      const auto rest = [&] {
        end->collect(1);
        end->finish();
      };
      EXPECT_THROW(rest(), Error);
    });
  }
}

}  // namespace porter
