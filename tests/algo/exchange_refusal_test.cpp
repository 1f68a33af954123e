// SPDX-License-Identifier: Apache-2.0
// Messages that no honest agent sends, and what is said of them.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "algo/bounds.hpp"
#include "algo/message.hpp"
#include "comm/frame.hpp"
#include "compress_cases.hpp"
#include "exchange_runs.hpp"
#include "porter/comm/transport.hpp"
#include "porter/compress/compressor.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

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
          for (const double momentum : {1.0, 0.1}) {
            toy.momentum = momentum;
            EXPECT_NO_THROW(simulate(toy, toy.rounds)) << momentum;
          }
        }
}

// Recursive momentum tracks up to 1 / beta times what a round releases, and steps along that.
TEST(Exchange, BoundsKnowWhatMomentumGathers) {
  const auto toy = five_agents("motef-vr", "random_k:0.2").build();
  AlgorithmSetup setup{.problem = {*toy->model, toy->data, 5},
                       .compressor = *toy->compressor,
                       .pool = toy->pool,
                       .start = std::vector<double>(40, 0.0),
                       .rounds = 300,
                       .gradients = toy->gradients};
  setup.gradients.momentum = 0.25;
  const auto low_pass = public_bounds(setup);
  setup.gathers = find_algorithm("motef-vr").gathers;
  const auto recursive = public_bounds(setup);
  EXPECT_DOUBLE_EQ(recursive.tracker, 4 * low_pass.tracker);
  EXPECT_DOUBLE_EQ(recursive.scale - 1, 4 * (low_pass.scale - 1));
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
