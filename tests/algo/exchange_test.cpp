// SPDX-License-Identifier: Apache-2.0
// The same algorithm code with its agents in one process and spread over several: the same bits.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <thread>

#include "algo/message.hpp"
#include "comm/exchange.hpp"
#include "compress_cases.hpp"
#include "in_process.hpp"
#include "toy_network.hpp"

namespace porter {
namespace {

/// What all processes of a run together end with.
struct Outcome {
  Rows X, U;  // U only where the algorithm has it
  Traffic traffic;
  std::vector<std::string> reports;
  std::uint64_t posted = 0;  // bytes, by all processes
};

// Between two rounds of a process: its number, the round that is over (0: none), its state.
using Meddle = std::function<void(std::uint32_t, std::uint32_t, ToyNetwork::Parts&)>;

Rows state_or_none(ToyNetwork::Parts& parts, const std::string& name) {
  for (const auto& [key, matrix, copied] : parts.algorithm->state())
    if (key == name) return parts.state(name);
  return {};
}

void copy_rows(const Rows& from, std::span<const std::uint32_t> agents, Rows& to) {
  if (from.agents() == 0) return;
  if (to.agents() == 0) to = Rows(from.agents(), from.dim());
  for (const auto agent : agents) std::ranges::copy(from.row(agent), to.row(agent).begin());
}

Outcome simulate(const ToyNetwork& toy, std::uint32_t rounds) {
  const auto parts = toy.build();
  for (std::uint32_t round = 1; round <= rounds; ++round) parts->algorithm->step(round);
  return {
      parts->algorithm->iterates(), state_or_none(*parts, "U"), parts->algorithm->traffic(), {}};
}

const Meddle kNothing = [](std::uint32_t, std::uint32_t, ToyNetwork::Parts&) {};

Outcome run_in_processes(const ToyNetwork& toy, std::uint32_t rounds, std::size_t processes,
                         const Meddle& meddle = kNothing, Machines machines = Machines::one_each,
                         std::uint32_t first_round = 1) {
  const auto network = ToyNetwork::Parts::make_network(toy);
  const auto hosting = host_in_blocks(network.graph.neighbours(), processes);
  auto ends = make_in_process_transports(hosting, Exchange::max_message(toy.features, toy.agents),
                                         machines);
  Outcome all;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (std::uint32_t process = 0; process < processes; ++process)
    threads.emplace_back([&, process, end = std::move(ends[process])] {
      try {
        Exchange exchange(*end, hosting, process,
                          {.run = {std::byte{7}},
                           .encoding = encoding_id(toy.compressor),
                           .dim = toy.features,
                           .report = [&](const std::string& text) {
                             const std::lock_guard lock(mutex);
                             all.reports.push_back(concat("process ", process, ", ", text));
                           }});
        ToyNetwork::Parts parts(toy, &exchange);
        meddle(process, 0, parts);
        for (std::uint32_t round = first_round; round <= rounds; ++round) {
          parts.algorithm->step(round);
          meddle(process, round, parts);
        }
        end->finish();
        const std::lock_guard lock(mutex);
        copy_rows(parts.algorithm->iterates(), exchange.hosted(), all.X);
        copy_rows(state_or_none(parts, "U"), exchange.hosted(), all.U);
        all.traffic.message_bytes += parts.algorithm->traffic().message_bytes;
        all.traffic.link_bytes += parts.algorithm->traffic().link_bytes;
        all.posted += exchange.bytes().posted;
      } catch (const std::exception& error) {
        end->abort(error.what());
        ADD_FAILURE() << "process " << process << ": " << error.what();
      }
    });
  for (auto& thread : threads) thread.join();
  return all;
}

void expect_same_outcome(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.X, b.X);
  EXPECT_EQ(a.U, b.U);
  EXPECT_EQ(a.traffic.message_bytes, b.traffic.message_bytes);
  EXPECT_EQ(a.traffic.link_bytes, b.traffic.link_bytes);
  EXPECT_TRUE(b.reports.empty()) << b.reports[0];
}

ToyNetwork five_agents(const std::string& algorithm, const std::string& compressor) {
  ToyNetwork toy{.agents = 5,
                 .graph = "erdos-renyi:0.6",
                 .compressor = compressor,
                 .algorithm = algorithm,
                 .clip_target = ClipTarget::sample,
                 .features = 40,
                 .noise_stddev = 0.2};
  if (algorithm == "porter-gc" || algorithm == "beer") {
    toy.noise_stddev = 0;
    toy.clip_target = ClipTarget::batch;
  }
  return toy;
}

// Of 40 coordinates, one a message has its gaps stored, and eight have them summed up each time.
const std::vector<std::string> kStoredAndSummed = {"random_k:k=1", "random_k:0.2"};

TEST(Exchange, EveryGossipAlgorithmHasTheBitsOfTheSimulation) {
  for (const auto& info : algorithm_table())
    for (const auto& compressor : kStoredAndSummed) {
      if (!info.gossips()) continue;
      const auto toy = five_agents(info.name, info.compresses ? compressor : "identity");
      const auto simulated = simulate(toy, 100);
      for (const std::size_t processes : {1U, 2U, 3U, 5U}) {
        SCOPED_TRACE(concat(info.name, " ", compressor, ", ", processes, " processes"));
        expect_same_outcome(simulated, run_in_processes(toy, 100, processes));
      }
    }
}

TEST(Exchange, SilentAgentsHaveTheBitsOfTheSimulation) {
  for (const auto* const compressor : {"random_k:k=1", "random_k:0.2", "identity"}) {
    auto toy = five_agents("sparq-sgd", compressor);
    const auto all_sent = simulate(toy, 200);
    toy.trigger = 80;
    const auto simulated = simulate(toy, 200);
    EXPECT_LT(simulated.traffic.message_bytes, all_sent.traffic.message_bytes);
    EXPECT_GT(simulated.traffic.message_bytes, 0U);
    for (const auto machines : {Machines::one_each, Machines::one_for_all})
      for (const std::size_t processes : {2U, 5U}) {
        SCOPED_TRACE(concat(compressor, ", ", processes, " processes"));
        expect_same_outcome(simulated, run_in_processes(toy, 200, processes, kNothing, machines));
      }
  }
}

TEST(Exchange, EveryCompressorHasTheBitsOfTheSimulation) {
  for (const auto& info : compressor_table()) {
    SCOPED_TRACE(info.example);
    const auto toy = five_agents("porter-dp", info.example);
    expect_same_outcome(simulate(toy, 40), run_in_processes(toy, 40, 5));
  }
}

TEST(Exchange, ThreadsMasksPrecisionAndGossipStepsKeepTheBits) {
  for (const auto& compressor : kStoredAndSummed)
    for (const auto mask : {Mask::own, Mask::shared, Mask::sweep})
      for (const auto precision : {Precision::wide, Precision::narrow}) {
        const std::uint32_t gossip = mask == Mask::own ? 3 : 1;
        SCOPED_TRACE(concat(compressor, " mask ", int(mask), " precision ", int(precision)));
        auto toy = five_agents("porter-dp", compressor);
        toy.mask = mask;
        toy.precision = precision;
        toy.gossip = gossip;
        toy.gamma = 0.02;  // one entry of 40 keeps the agents together then
        toy.threads = 1;
        const auto simulated = simulate(toy, 140);  // past two rebuilds of float gaps
        toy.threads = 2;
        expect_same_outcome(simulated, simulate(toy, 140));
        expect_same_outcome(simulated, run_in_processes(toy, 140, 2));
        toy.threads = 1;
        expect_same_outcome(simulated, run_in_processes(toy, 140, 5));
      }
}

// There are no copies then, whatever is asked for between the rounds.
TEST(Exchange, ProcessesThatShareMemoryHaveTheBitsOfTheSimulation) {
  const auto look = [](std::uint32_t process, std::uint32_t round, ToyNetwork::Parts& parts) {
    if ((process + round) % 5 != 0) return;
    parts.algorithm->state();
    if (round % 2 == 0) parts.algorithm->state();
  };
  for (const auto* const compressor : {"random_k:k=1", "random_k:0.2", "sign"})
    for (const auto precision : {Precision::wide, Precision::narrow})
      for (const std::uint32_t gossip : {1U, 3U}) {
        auto toy = five_agents("porter-dp", compressor);
        toy.precision = precision;
        toy.gossip = gossip;
        toy.gamma = 0.02;
        const auto simulated = simulate(toy, 100);
        for (const std::size_t processes : {2U, 3U, 5U}) {
          SCOPED_TRACE(concat(compressor, " precision ", int(precision), " gossip ", gossip, ", ",
                              processes, " processes"));
          toy.threads = processes == 2 ? 2 : 1;
          expect_same_outcome(simulated,
                              run_in_processes(toy, 100, processes, look, Machines::one_for_all));
        }
      }
}

// What is read in shared memory does not travel, but counts as sent; what others keep copies of
// does.
TEST(Exchange, ProcessesThatShareMemorySendFramesWithoutVectors) {
  const auto toy = five_agents("porter-dp", "random_k:0.2");
  const auto apart = run_in_processes(toy, 20, 5);
  const auto together = run_in_processes(toy, 20, 5, kNothing, Machines::one_for_all);
  expect_same_outcome(apart, together);
  constexpr std::uint64_t kFrames = 20 * 5, kTwoLengths = 8;
  EXPECT_EQ(together.posted, kFrames * (kFrameHeaderBytes + kTwoLengths));
  EXPECT_EQ(apart.posted, together.posted + apart.traffic.message_bytes);
}

// What was taken of a state comes back: each process starts again from what all had after a round.
TEST(Exchange, ProcessesThatShareMemoryGoOnFromAStateThatIsPutBack) {
  const auto toy = five_agents("porter-dp", "random_k:0.2");
  const auto before = toy.build();
  for (std::uint32_t round = 1; round <= 31; ++round) before->algorithm->step(round);
  const auto saved = before->algorithm->state();
  const auto put_back = [&](std::uint32_t, std::uint32_t round, ToyNetwork::Parts& parts) {
    if (round != 0) return;
    auto state = parts.algorithm->state();
    for (std::size_t i = 0; i < state.size(); ++i)
      copy_rows(*std::get<Rows*>(saved[i].rows), std::vector<std::uint32_t>{0, 1, 2, 3, 4},
                *std::get<Rows*>(state[i].rows));
  };
  const auto outcome =
      run_in_processes(toy, 60, 5, put_back, Machines::one_for_all, /*first_round=*/32);
  EXPECT_EQ(simulate(toy, 60).X, outcome.X);
  EXPECT_TRUE(outcome.reports.empty());
}

// A bit of a copy of somebody else's Q flips, in an entry that few messages touch. The copy is
// found wrong, asked for and replaced, and nobody's result shows it.
TEST(Exchange, AFlippedBitInACopyIsFoundRepairedAndLeavesNoTrace) {
  for (const auto precision : {Precision::wide, Precision::narrow}) {
    SCOPED_TRACE(int(precision));
    auto toy = five_agents("porter-dp", "top_k:k=1");
    toy.graph = "complete";
    toy.precision = precision;
    const auto flip = [](auto* Q) {
      auto& entry = Q->row(3)[17];
      entry = std::nextafter(entry, std::decay_t<decltype(entry)>(9));
    };
    const auto outcome = run_in_processes(
        toy, 200, 5, [&](std::uint32_t process, std::uint32_t round, ToyNetwork::Parts& parts) {
          if (process != 1 || round != 40) return;
          for (const auto& [name, matrix, copied] : parts.algorithm->state())
            if (name == "Q1") std::visit(flip, matrix);
        });
    const auto simulated = simulate(toy, 200);
    EXPECT_EQ(simulated.X, outcome.X);
    EXPECT_EQ(simulated.U, outcome.U);
    ASSERT_EQ(outcome.reports.size(), 2U)
        << (outcome.reports.empty() ? "" : outcome.reports.back());
    // Step 48 is the next one with digests, 49 asks, 50 answers.
    EXPECT_EQ(outcome.reports[0].find("process 1, step 48: "), 0U) << outcome.reports[0];
    EXPECT_NE(outcome.reports[0].find("agent 3's surrogate differs"), std::string::npos);
    EXPECT_EQ(outcome.reports[1].find("process 1, step 50: "), 0U) << outcome.reports[1];
    EXPECT_NE(outcome.reports[1].find("agent 3's surrogate is repaired"), std::string::npos);
  }
}

double worst_difference(const Rows& a, const Rows& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.agents(); ++i)
    for (std::size_t j = 0; j < a.dim(); ++j)
      worst = std::max(worst, std::abs(a.row(i)[j] - b.row(i)[j]));
  return worst;
}

// Gaps that are not stored are sums over the copies, so a wrong copy is used until it is replaced:
// for a few steps, and the effect of a last bit stays far below the noise.
TEST(Exchange, ACopyThatIsSummedFromIsRepairedToo) {
  const auto toy = five_agents("porter-dp", "random_k:0.2");
  const auto outcome = run_in_processes(
      toy, 200, 5, [&](std::uint32_t process, std::uint32_t round, ToyNetwork::Parts& parts) {
        if (process != 1 || round != 40) return;
        for (const auto& [name, matrix, copied] : parts.algorithm->state())
          if (name == "Q1")
            for (std::size_t sender = 0; sender < 5; ++sender)
              if (sender != 1) std::get<Rows*>(matrix)->row(sender)[17] += 1e-12;
      });
  ASSERT_GE(outcome.reports.size(), 2U);
  EXPECT_NE(outcome.reports.back().find("is repaired"), std::string::npos)
      << outcome.reports.back();
  EXPECT_EQ(outcome.reports.size() % 2, 0U);
  EXPECT_LT(worst_difference(simulate(toy, 200).X, outcome.X), 1e-9);
}

// Copies are read, summed up and proved in stretches of 4096 coordinates, on all threads.
TEST(Exchange, VectorsOfSeveralStretchesKeepTheBits) {
  for (const std::size_t features : {2049U, 4096U, 4097U, 8300U})
    for (const auto precision : {Precision::wide, Precision::narrow}) {
      auto toy = five_agents("porter-dp", "random_k:0.1");
      toy.features = features;
      toy.precision = precision;
      toy.gamma = 0.02;
      toy.threads = 2;
      const auto simulated = simulate(toy, 17);
      for (const std::size_t processes : {2U, 5U}) {
        SCOPED_TRACE(concat(features, " precision ", int(precision), ", ", processes));
        expect_same_outcome(simulated, run_in_processes(toy, 17, processes));
      }
    }
}

TEST(Exchange, AWrongEntryIsFoundInEveryStretch) {
  auto toy = five_agents("porter-dp", "random_k:0.1");
  toy.features = 8300;
  for (const std::size_t entry : {0U, 4095U, 4096U, 8191U, 8299U}) {
    SCOPED_TRACE(entry);
    const auto outcome = run_in_processes(
        toy, 20, 5, [&](std::uint32_t process, std::uint32_t round, ToyNetwork::Parts& parts) {
          if (process != 1 || round != 9) return;
          for (const auto& [name, matrix, copied] : parts.algorithm->state())
            if (name == "Q0")
              for (std::size_t sender = 0; sender < 5; ++sender)
                if (sender != 1) std::get<Rows*>(matrix)->row(sender)[entry] += 1e-6;
        });
    ASSERT_FALSE(outcome.reports.empty());
    EXPECT_TRUE(outcome.reports[0].starts_with("process 1, step 16: ")) << outcome.reports[0];
    EXPECT_NE(outcome.reports.back().find("is repaired"), std::string::npos)
        << outcome.reports.back();
  }
}

// What happens after the last comparison of eight steps is seen in the last one.
TEST(Exchange, ACopyThatIsWrongAtTheEndIsReported) {
  for (const auto& compressor : kStoredAndSummed) {
    auto toy = five_agents("porter-dp", compressor);
    toy.rounds = 43;
    const auto outcome =
        run_in_processes(toy, toy.rounds, 5,
                         [&](std::uint32_t process, std::uint32_t round, ToyNetwork::Parts& parts) {
                           if (process != 1 || round != 42) return;
                           for (const auto& [name, matrix, copied] : parts.algorithm->state())
                             if (name == "Q1")
                               for (std::size_t sender = 0; sender < 5; ++sender)
                                 if (sender != 1) std::get<Rows*>(matrix)->row(sender)[17] += 1;
                         });
    ASSERT_FALSE(outcome.reports.empty());
    EXPECT_TRUE(outcome.reports[0].starts_with("process 1, step 43: ")) << outcome.reports[0];
    EXPECT_NE(outcome.reports[0].find("too late to ask"), std::string::npos) << outcome.reports[0];
  }
}

// Sums that were built from a wrong copy are mended as well: here all of a copy and of what was
// summed from it is lost. The bits differ from those of a clean run, the values hardly do.
TEST(Exchange, LostSumsAreMendedFromTheRepairedCopies) {
  auto toy = five_agents("porter-dp", "random_k:k=1");
  toy.eta = 0.01;  // so small that a message of one entry keeps the agents together
  toy.gamma = 0.02;
  const auto outcome = run_in_processes(
      toy, 100, 2, [&](std::uint32_t process, std::uint32_t round, ToyNetwork::Parts& parts) {
        if (process != 0 || round != 90) return;
        for (const auto& [name, matrix, copied] : parts.algorithm->state())
          if (name == "Q1" || name == "gap1")
            for (std::uint32_t agent = name == "Q1" ? 2 : 0; agent < (name == "Q1" ? 5 : 2);
                 ++agent)
              for (auto& value : std::get<Rows*>(matrix)->row(agent)) value = 0.25;
      });
  const double worst = worst_difference(simulate(toy, 100).X, outcome.X);
  // Three steps moved by gamma times sums that were wrong by less than 2.
  EXPECT_LT(worst, 3 * toy.gamma * 2);
  EXPECT_GT(worst, 0);
  EXPECT_NE(outcome.reports.back().find("sums of messages are mended, too"), std::string::npos)
      << outcome.reports.back();
}

// Changes messages on their way.
class Tampering final : public Transport {
 public:
  using Change = std::function<void(std::uint32_t round, Payload& message)>;
  Tampering(std::unique_ptr<Transport> inner, Change change)
      : inner_(std::move(inner)), change_(std::move(change)) {}
  void post(std::uint32_t round, std::uint32_t sender, std::span<const std::byte> bytes) override {
    inner_->post(round, sender, bytes);
  }
  std::span<const Received> collect(std::uint32_t round) override {
    const auto received = inner_->collect(round);
    held_.assign(received.begin(), received.end());
    bytes_.assign(received[0].bytes.begin(), received[0].bytes.end());
    change_(round, bytes_);
    held_[0].bytes = bytes_;
    return held_;
  }
  void finish() override { inner_->finish(); }
  void abort(const std::string& reason) noexcept override { inner_->abort(reason); }

 private:
  std::unique_ptr<Transport> inner_;
  Change change_;
  Payload bytes_;
  std::vector<Received> held_;
};

std::string refusal_of(const ToyNetwork& toy, const Tampering::Change& change,
                       std::uint32_t rounds = 5) {
  const auto network = ToyNetwork::Parts::make_network(toy);
  const auto hosting = host_in_blocks(network.graph.neighbours(), 2);
  auto ends = make_in_process_transports(hosting, Exchange::max_message(toy.features, toy.agents));
  ends[0] = std::make_unique<Tampering>(std::move(ends[0]), change);
  std::string refusal;
  std::vector<std::thread> threads;
  for (std::uint32_t process = 0; process < 2; ++process)
    threads.emplace_back([&, process, end = std::move(ends[process])] {
      Exchange exchange(*end, hosting, process,
                        {.run = {}, .encoding = encoding_id(toy.compressor), .dim = toy.features});
      ToyNetwork::Parts parts(toy, &exchange);
      try {
        for (std::uint32_t round = 1; round <= rounds; ++round) parts.algorithm->step(round);
        end->finish();
      } catch (const Error& error) {
        if (process == 0) refusal = error.what();
        end->abort(error.what());
      }
    });
  for (auto& thread : threads) thread.join();
  return refusal;
}

std::string refusal_of(const Tampering::Change& change) {
  return refusal_of(five_agents("porter-dp", "random_k:0.2"), change);
}

// The update of a message with these bytes as each of its vectors; what follows it stays.
void replace_vectors(const ToyNetwork& toy, std::span<const std::byte> vector, Payload& message) {
  const auto limits = frame_limits(toy.features, Exchange::kMaxVectors);
  const auto length = frame_bytes(message, limits, "test");
  const auto frame = decode_frame(std::span(message).first(length), limits, "test");
  const std::vector<std::span<const std::byte>> vectors(frame.vectors.size(), vector);
  Payload changed;
  encode_frame(frame.header, vectors, changed);
  changed.insert(changed.end(), message.begin() + static_cast<std::ptrdiff_t>(length),
                 message.end());
  message = changed;
}

Payload payload_of(const ToyNetwork& toy, double value) {
  const std::vector<double> all(toy.features, value), none(toy.features, 0.0);
  porter::Message large;
  porter::compress_difference(*make_compressor(toy.compressor), all, none, {1, Draw::test, 0, 0},
                              large);
  return large.payload;
}

// What an agent sends that wants its neighbours to follow it: a good frame with this in every
// entry.
void set_all_entries(const ToyNetwork& toy, double value, Payload& message) {
  replace_vectors(toy, payload_of(toy, value), message);
}

// What a compressor would not encode, with a checksum that fits: a float of 1e30, or the scale of
// such entries, becomes `value`.
void set_one_float(const ToyNetwork& toy, float value, Payload& message) {
  auto body = payload_of(toy, 1e30);
  body.resize(body.size() - sizeof(std::uint32_t));  // its checksum
  if (toy.compressor == "natural") {                 // sends 9 bits of a float
    const auto code = std::bit_cast<std::uint32_t>(value) >> 23;
    body[0] = std::byte(code & 0xFF);
    body[1] = (body[1] & std::byte{0xFE}) | std::byte(code >> 8);
  } else {
    const bool ends_with_floats = make_compressor(toy.compressor)->kept(toy.features).has_value();
    std::memcpy(body.data() + (ends_with_floats ? body.size() - sizeof value : 0), &value,
                sizeof value);
  }
  replace_vectors(toy, with_checksum(body), message);
}

const std::vector<std::pair<const char*, const char*>> kMethodsAndCompressors = {
    {"porter-dp", "random_k:0.2"},    {"porter-dp", "top_k:0.2"},    {"porter-gc", "sign"},
    {"porter-sweep", "random_k:0.2"}, {"sweep-led", "random_k:0.2"}, {"beer", "qsgd:4"},
    {"choco-sgd", "natural"},         {"dsgd", "identity"},          {"dsgt", "identity"},
    {"deepsqueeze", "random_k:0.2"}};

// What the neighbour says of a first message that was changed like this.
std::string first_refusal(const std::string& algorithm, const std::string& compressor,
                          const std::function<void(const ToyNetwork&, Payload&)>& change) {
  auto toy = five_agents(algorithm, compressor);
  toy.rounds = 5;
  return refusal_of(toy, [&](std::uint32_t round, Payload& message) {
    if (round == 1) change(toy, message);
  });
}

TEST(Exchange, AMessageBeyondWhatTheConfigAllowsIsRefusedAtOnceWithTheSendersName) {
  const auto expect_too_long = [](const std::string& refusal) {
    EXPECT_TRUE(refusal.starts_with("message from agent 2: a vector of norm ")) << refusal;
    EXPECT_NE(refusal.find("in step 1; "), std::string::npos) << refusal;
  };
  for (const auto& [algorithm, compressor] : kMethodsAndCompressors) {
    for (const double value : {1e30, -1e30, 3.4e37}) {
      SCOPED_TRACE(concat(algorithm, ' ', compressor, ' ', value));
      expect_too_long(first_refusal(algorithm, compressor, [&](const auto& toy, Payload& message) {
        set_all_entries(toy, value, message);
      }));
    }
    SCOPED_TRACE(concat(algorithm, ' ', compressor, ", the largest float"));
    expect_too_long(first_refusal(algorithm, compressor, [](const auto& toy, Payload& message) {
      set_one_float(toy, std::numeric_limits<float>::max(), message);
    }));
  }
}

// Silence is for sparq-sgd alone; there a digest tells when nobody meant it.
TEST(Exchange, AnEmptyVectorIsRefusedUnlessAgentsMayBeSilent) {
  const auto silenced = [](const char* algorithm) {
    return first_refusal(algorithm, "random_k:0.2", [](const auto& toy, Payload& message) {
      replace_vectors(toy, {}, message);
    });
  };
  EXPECT_TRUE(silenced("choco-sgd").starts_with("message from agent 2: ")) << silenced("choco-sgd");
  EXPECT_EQ(silenced("sparq-sgd"), "");
}

TEST(Exchange, AMessageThatIsNotFiniteIsRefusedAtOnceWithTheSendersName) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& [algorithm, compressor] : kMethodsAndCompressors)
    for (const float value : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
      SCOPED_TRACE(concat(algorithm, ' ', compressor, ' ', value));
      const auto refusal = first_refusal(
          algorithm, compressor,
          [&](const auto& toy, Payload& message) { set_one_float(toy, value, message); });
      EXPECT_TRUE(refusal.starts_with("message from agent 2: ")) << refusal;
      const char* words = compressor == std::string("natural") ? "holds the code " : "finite";
      EXPECT_NE(refusal.find(words), std::string::npos) << refusal;
    }
}

// Who gives a wrong digest is asked for all of its surrogate, which goes through no compressor.
TEST(Exchange, AnAnswerBeyondTheBoundIsRefusedWithTheSendersName) {
  const auto toy = five_agents("porter-dp", "random_k:0.2");
  const auto limits = frame_limits(toy.features, Exchange::kMaxVectors);
  for (const double value :
       {1e30, 1e300, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    SCOPED_TRACE(value);
    bool answered = false;
    const auto lie = [&](std::uint32_t round, Payload& message) {
      const auto length = frame_bytes(message, limits, "test");
      auto frame = decode_frame(std::span(message).first(length), limits, "test");
      Payload changed;
      if (round == 8) {
        ++frame.header.digest;
        encode_frame(frame.header, frame.vectors, changed);
        message = changed;
      } else if (message.size() > length) {
        frame = decode_frame(std::span(message).subspan(length), limits, "test");
        answered |= frame.header.kind == FrameKind::resync;
        const std::vector<double> lies(toy.features, value);
        const std::vector<std::span<const std::byte>> vectors(frame.vectors.size(),
                                                              std::as_bytes(std::span(lies)));
        encode_frame(frame.header, vectors, changed);
        message.resize(length);
        message.insert(message.end(), changed.begin(), changed.end());
      }
    };
    const auto refusal = refusal_of(toy, lie, 16);
    EXPECT_TRUE(answered);
    EXPECT_TRUE(refusal.starts_with("message from agent 2: a vector of norm ")) << refusal;
    EXPECT_NE(refusal.find("in step 10; "), std::string::npos) << refusal;
  }
}

// All of a surrogate is much to send for a few bytes that ask for it.
TEST(Exchange, WhoAsksForASurrogateAgainAndAgainIsRefused) {
  const auto toy = five_agents("porter-dp", "random_k:0.2");
  const auto limits = frame_limits(toy.features, Exchange::kMaxVectors);
  const auto refusal_with = [&](std::uint32_t period) {
    const auto ask = [&](std::uint32_t round, Payload& message) {
      if (round % period != 0) return;
      const auto length = frame_bytes(message, limits, "test");
      auto header = decode_frame(std::span(message).first(length), limits, "test").header;
      header.kind = FrameKind::resync_request;
      const std::uint32_t wanted = 0;
      const auto list = std::as_bytes(std::span(&wanted, 1));
      Payload request;
      encode_frame(header, {&list, 1}, request);
      message.insert(message.end(), request.begin(), request.end());
    };
    return refusal_of(toy, ask, 30);
  };
  EXPECT_EQ(refusal_with(3), "");
  EXPECT_EQ(refusal_with(1),
            "message from agent 2: more than 3 requests for one surrogate in 8 steps");
}

// Every message by itself is allowed, but not what they add up to: |x| <= 1e12 (1 + |x0|) without
// clipping, and |x0| is near the root of 40.
TEST(Exchange, MessagesThatAddUpBeyondTheBoundAreRefused) {
  auto toy = five_agents("choco-sgd", "identity");
  toy.clip = "none";
  toy.gamma = 1e-3;  // so that the others follow slowly
  const auto refusal = refusal_of(
      toy, [&](std::uint32_t, Payload& message) { set_all_entries(toy, 3e11, message); }, 8);
  EXPECT_TRUE(refusal.starts_with("message from agent 2: a vector of norm ")) << refusal;
  EXPECT_NE(refusal.find("in step 8; "), std::string::npos) << refusal;
}

// Wild but legal configs: a run that does what its config says never meets the bounds.
TEST(Exchange, HonestRunsStayWithinTheBounds) {
  for (const auto& info : algorithm_table())
    for (const double eta : {1e-3, 1.0, 100.0})
      for (const double noise : {0.0, 1e-3, 100.0})
        for (const char* graph : {"path", "complete"}) {
          if (!info.gossips()) continue;
          SCOPED_TRACE(concat(info.name, " eta ", eta, " noise ", noise, ' ', graph));
          auto toy = five_agents(info.name, info.compresses ? "random_k:0.2" : "identity");
          toy.graph = graph;
          toy.eta = eta;
          toy.gamma = 0.05;
          toy.noise_stddev = noise;
          toy.rounds = 300;
          EXPECT_NO_THROW(simulate(toy, toy.rounds));
        }
}

TEST(Exchange, AnAlteredATruncatedAndAReplayedMessageAreRefusedWithTheSendersName) {
  EXPECT_EQ(refusal_of([](std::uint32_t, Payload&) {}), "");
  EXPECT_EQ(
      refusal_of([](std::uint32_t round, Payload& message) {
        if (round == 3) message[70] ^= std::byte{4};
      }),
      "frame from agent 2: the payload's checksum does not fit, bytes were altered on the way");
  EXPECT_NE(refusal_of([](std::uint32_t round, Payload& message) {
              if (round == 3) message.resize(message.size() - 1);
            }).find("frame from agent 2: "),
            std::string::npos);
  EXPECT_NE(refusal_of([](std::uint32_t round, Payload& message) {
              if (round == 3) message.resize(20);
            }).find("a header of 56 bytes expected, 20 bytes found"),
            std::string::npos);
  Payload old;
  EXPECT_EQ(refusal_of([&](std::uint32_t round, Payload& message) {
              if (round == 2) old = message;
              if (round == 3) message = old;
            }),
            "frame from agent 2: step 2 came again, step 3 expected: a replayed frame");
  EXPECT_NE(refusal_of([&](std::uint32_t round, Payload& message) {
              if (round == 3) message.insert(message.end(), message.begin(), message.end());
            }).find("kind 0 after kind 0"),
            std::string::npos);
}

}  // namespace
}  // namespace porter
