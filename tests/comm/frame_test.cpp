// SPDX-License-Identifier: Apache-2.0
#include "comm/frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "porter/core/rng.hpp"

namespace porter {
namespace {

const FrameLimits kLimits = frame_limits(100, 3);

Payload random_bytes(std::size_t size, RngStream& rng) {
  Payload bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::byte>(rng.next_u32());
  return bytes;
}

struct Sample {
  FrameHeader header;
  std::vector<Payload> vectors;

  Payload bytes() const {
    const std::vector<std::span<const std::byte>> views(vectors.begin(), vectors.end());
    Payload frame;
    encode_frame(header, views, frame);
    return frame;
  }
};

Sample random_sample(std::uint32_t number) {
  RngStream rng(1, Draw::test, 0, number);
  Sample sample;
  sample.header.kind = FrameKind{static_cast<std::uint8_t>(rng.below(3))};
  for (auto& byte : sample.header.run) byte = static_cast<std::byte>(rng.next_u32());
  sample.header.sender = rng.next_u32();
  sample.header.step = rng.next_u32();
  sample.header.encoding = rng.next_u32();
  sample.header.digest = rng.next_u64();
  const auto count = rng.below(4);
  for (std::uint64_t v = 0; v < count; ++v)
    sample.vectors.push_back(random_bytes(rng.below(3) == 0 ? 0 : rng.below(700), rng));
  return sample;
}

void expect_same(const FrameView& view, const Sample& sample) {
  EXPECT_EQ(view.header, sample.header);
  ASSERT_EQ(view.vectors.size(), sample.vectors.size());
  for (std::size_t v = 0; v < sample.vectors.size(); ++v)
    EXPECT_TRUE(std::ranges::equal(view.vectors[v], sample.vectors[v])) << "vector " << v;
}

std::string frame_refusal(std::span<const std::byte> bytes, const FrameLimits& limits = kLimits) {
  try {
    decode_frame(bytes, limits, "agent 7");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::protocol);
    return error.what();
  }
  return "accepted";
}

TEST(Frame, RoundTripsEveryFieldAndVector) {
  for (std::uint32_t i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    const auto sample = random_sample(i);
    const auto bytes = sample.bytes();
    expect_same(decode_frame(bytes, kLimits, "peer"), sample);
  }
}

TEST(Frame, HasTheLayoutOfTheDocument) {
  Sample sample{.header = {.kind = FrameKind::update,
                           .run = {},
                           .sender = 0x01020304,
                           .step = 5,
                           .encoding = 6,
                           .digest = 7},
                .vectors = {{std::byte{0xaa}, std::byte{0xbb}}, {}}};
  sample.header.run[0] = std::byte{0x11};
  const auto bytes = sample.bytes();
  ASSERT_EQ(bytes.size(), kFrameHeaderBytes + 4 + 2 + 4);
  const auto at = [&](std::size_t i) { return std::to_integer<int>(bytes[i]); };
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), 4), "PRT1");
  EXPECT_EQ(at(4), 2);      // version
  EXPECT_EQ(at(6), 0);      // kind
  EXPECT_EQ(at(7), 2);      // vectors
  EXPECT_EQ(at(8), 0x11);   // run id
  EXPECT_EQ(at(24), 0x04);  // sender, lowest byte first
  EXPECT_EQ(at(27), 0x01);
  EXPECT_EQ(at(28), 5);   // step
  EXPECT_EQ(at(32), 6);   // encoding
  EXPECT_EQ(at(36), 10);  // payload bytes
  EXPECT_EQ(at(40), 7);   // digest
  EXPECT_EQ(at(56), 2);   // length of the first vector
  EXPECT_EQ(at(60), 0xaa);
  EXPECT_EQ(at(62), 0);  // length of the second
}

TEST(Frame, CostsLessThanThreePerCentOfThePayload) {
  // The paper's network at 5 %: two vectors of 2,544 floats, each with its compressor's checksum.
  const std::size_t floats = 2 * 2544 * 4;
  const Sample sample{.header = {}, .vectors = {Payload(2544 * 4 + 4), Payload(2544 * 4 + 4)}};
  EXPECT_EQ(sample.bytes().size(), floats + 72);
  EXPECT_LT(double(sample.bytes().size()), 1.03 * double(floats));
}

TEST(Frame, RefusesEveryTruncationAndEveryExtension) {
  auto bytes = random_sample(3).bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(frame_refusal(std::span(bytes).first(size)), "accepted") << size;
  bytes.push_back(std::byte{0});
  EXPECT_NE(frame_refusal(bytes), "accepted");
}

TEST(Frame, RefusesEveryFlippedBit) {
  const auto good = random_sample(3).bytes();
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_NE(frame_refusal(bytes), "accepted") << "bit " << bit;
  }
}

// Writes a field and mends the header's checksum, as a peer with intent would.
void forge(Payload& bytes, std::size_t at, std::uint32_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  const auto crc = crc32(std::span(bytes).first(kFrameHeaderBytes - 4));
  std::memcpy(bytes.data() + kFrameHeaderBytes - 4, &crc, sizeof crc);
}

TEST(Frame, NamesThePeerAndWhatIsWrong) {
  const auto good = random_sample(3).bytes();
  auto bytes = good;
  EXPECT_EQ(frame_refusal(std::span(bytes).first(10)),
            "frame from agent 7: a header of 56 bytes expected, 10 bytes found");
  forge(bytes, 36, 0xffffffff);
  EXPECT_EQ(frame_refusal(bytes),
            "frame from agent 7: a payload of at most 2604 bytes expected, 4294967295 announced");
  bytes = good;
  forge(bytes, 4, 9);  // version 9, kind 0, no vectors
  EXPECT_EQ(frame_refusal(bytes), "frame from agent 7: protocol version 2 expected, 9 found");
  bytes = good;
  bytes[0] = std::byte{'G'};
  EXPECT_NE(frame_refusal(bytes).find("does not begin with \"PRT1\""), std::string::npos);
  bytes = good;
  bytes[6] = std::byte{3};
  forge(bytes, 28, 0);
  EXPECT_EQ(frame_refusal(bytes), "frame from agent 7: unknown kind 3");
}

TEST(Frame, RefusesVectorsThatDoNotFillThePayload) {
  auto bytes = Sample{.header = {}, .vectors = {Payload(8)}}.bytes();
  const auto with_length = [&](std::uint32_t length, std::uint8_t vectors) {
    auto altered = bytes;
    altered[7] = std::byte{vectors};
    std::memcpy(altered.data() + kFrameHeaderBytes, &length, sizeof length);
    forge(altered, 48, crc32(std::span(altered).subspan(kFrameHeaderBytes)));
    return frame_refusal(altered);
  };
  EXPECT_EQ(with_length(8, 1), "accepted");
  EXPECT_EQ(with_length(7, 1), "frame from agent 7: 1 bytes follow the last vector");
  EXPECT_EQ(with_length(0xfffffff0, 1),
            "frame from agent 7: vector 0 claims 4294967280 bytes, 8 are left");
  EXPECT_EQ(with_length(8, 2), "frame from agent 7: the payload ends before vector 1");
  EXPECT_EQ(with_length(8, 9), "frame from agent 7: 9 vectors do not fit into 12 bytes");
  EXPECT_EQ(with_length(8, 0), "frame from agent 7: 12 bytes follow the last vector");
}

TEST(Frame, LimitsFollowFromTheDimension) {
  EXPECT_EQ(frame_limits(100, 2).max_payload, 2 * (4U + 64U + 800U));
  EXPECT_EQ(frame_limits(0, 1).max_frame(), 56U + 68U);
  EXPECT_NO_THROW(frame_limits(268'000'000, 2));
  for (const auto& [dim, vectors] : {std::pair<std::size_t, std::size_t>{269'000'000, 2},
                                     {~std::size_t{0}, 1},
                                     {5, 0},
                                     {5, 256}})
    EXPECT_THROW(frame_limits(dim, vectors), Error) << dim << " " << vectors;
}

TEST(Frame, FindsEveryFlippedBit) {
  const auto good = random_sample(3).bytes();
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_THROW(decode_frame(bytes, kLimits, "peer"), Error) << "bit " << bit;
  }
}

TEST(ExpectedFrame, RefusesReplayedReorderedAndForeignFrames) {
  const Payload part(4);
  const FrameView good{{.sender = 3, .step = 10, .encoding = 5}, {part, part}};
  const ExpectedFrame expected{.run = {}, .sender = 3, .step = 10, .encoding = 5, .vectors = 2};
  const auto answer = [&](auto change) {
    auto frame = good;
    change(frame);
    try {
      require_expected(frame, expected, "agent 3");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::protocol);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(answer([](FrameView&) {}), "accepted");
  EXPECT_EQ(answer([](FrameView& f) { f.header.step = 9; }),
            "frame from agent 3: step 9 came again, step 10 expected: a replayed frame");
  EXPECT_EQ(answer([](FrameView& f) { f.header.step = 11; }),
            "frame from agent 3: step 11 came before step 10: a frame was lost or overtaken");
  EXPECT_EQ(answer([](FrameView& f) { f.header.run[15] = std::byte{1}; }),
            "frame from agent 3: it belongs to another run");
  EXPECT_EQ(answer([](FrameView& f) { f.header.sender = 4; }),
            "frame from agent 3: it names agent 4 as its sender, agent 3 expected");
  EXPECT_EQ(answer([](FrameView& f) { f.header.kind = FrameKind::resync; }),
            "frame from agent 3: an update expected, kind 2 found");
  EXPECT_EQ(answer([](FrameView& f) { f.header.encoding = 6; }),
            "frame from agent 3: encoding 5 expected, 6 found: another compressor");
  EXPECT_EQ(answer([](FrameView& f) { f.vectors.pop_back(); }),
            "frame from agent 3: 2 vectors expected, 1 found");
}

TEST(EncodingId, TellsCompressorsApart) {
  EXPECT_EQ(encoding_id("random_k:0.05"), encoding_id("random_k:0.05"));
  EXPECT_NE(encoding_id("random_k:0.05"), encoding_id("random_k:0.06"));
}

}  // namespace
}  // namespace porter
