// SPDX-License-Identifier: Apache-2.0
#include "comm/frame.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace porter {
namespace {

constexpr std::uint32_t kMagic = 0x31545250;  // "PRT1"
constexpr std::size_t kSpare = 64;            // a compressor's scales and checksum
constexpr std::size_t kCheckedBytes = kFrameHeaderBytes - 4;

// The header with the fields that only the format needs.
struct RawHeader {
  FrameHeader header;
  std::size_t vectors, payload_bytes;
  std::uint32_t payload_crc;
};

template <class... Parts>
void require_frame(bool condition, std::string_view peer, const Parts&... parts) {
  require(condition, ErrorKind::protocol, "frame from ", peer, ": ", parts...);
}

RawHeader read_header(std::span<const std::byte> bytes, const FrameLimits& limits,
                      std::string_view peer) {
  require_frame(bytes.size() >= kFrameHeaderBytes, peer, "a header of ", kFrameHeaderBytes,
                " bytes expected, ", bytes.size(), " bytes found");
  ByteReader in(bytes.first(kFrameHeaderBytes));
  const auto magic = in.get<std::uint32_t>();
  require_frame(magic == kMagic, peer, "it does not begin with \"PRT1\", the peer is no porter");
  const auto version = in.get<std::uint16_t>();
  require_frame(version == kProtocolVersion, peer, "protocol version ", kProtocolVersion,
                " expected, ", version, " found");
  RawHeader raw;
  const auto kind = in.get<std::uint8_t>();
  raw.vectors = in.get<std::uint8_t>();
  const auto run = in.take(raw.header.run.size());
  std::copy(run.begin(), run.end(), raw.header.run.begin());
  raw.header.sender = in.get<std::uint32_t>();
  raw.header.step = in.get<std::uint32_t>();
  raw.header.encoding = in.get<std::uint32_t>();
  raw.payload_bytes = in.get<std::uint32_t>();
  raw.header.digest = in.get<std::uint64_t>();
  raw.payload_crc = in.get<std::uint32_t>();
  require_frame(in.get<std::uint32_t>() == crc32(bytes.first(kCheckedBytes)), peer,
                "the header's checksum does not fit, bytes were altered on the way");
  require_frame(kind <= std::uint8_t(FrameKind::resync), peer, "unknown kind ", int{kind});
  raw.header.kind = FrameKind{kind};
  require_frame(raw.payload_bytes <= limits.max_payload, peer, "a payload of at most ",
                limits.max_payload, " bytes expected, ", raw.payload_bytes, " announced");
  require_frame(raw.vectors * kLengthBytes <= raw.payload_bytes || raw.vectors == 0, peer,
                raw.vectors, " vectors do not fit into ", raw.payload_bytes, " bytes");
  return raw;
}

}  // namespace

std::uint32_t encoding_id(std::string_view compressor_spec) {
  return crc32(std::as_bytes(std::span(compressor_spec)));
}

FrameLimits frame_limits(std::size_t dim, std::size_t vectors) {
  constexpr std::size_t kMax = std::numeric_limits<std::uint32_t>::max();
  require(vectors >= 1 && vectors <= 255 && dim <= (kMax / vectors - kLengthBytes - kSpare) / 8,
          ErrorKind::usage, "a frame cannot hold ", vectors, " vectors of ", dim,
          " entries: its length has 32 bits");
  return {vectors * (kLengthBytes + kSpare + 8 * dim)};
}

void encode_frame(const FrameHeader& header, std::span<const std::span<const std::byte>> vectors,
                  Payload& frame) {
  assert(vectors.size() <= 255);
  std::size_t payload_bytes = 0;
  for (const auto& vector : vectors) payload_bytes += kLengthBytes + vector.size();
  assert(payload_bytes <= std::numeric_limits<std::uint32_t>::max());

  frame.assign(kFrameHeaderBytes, std::byte{0});
  frame.reserve(kFrameHeaderBytes + payload_bytes);
  for (const auto& vector : vectors) {
    put(frame, static_cast<std::uint32_t>(vector.size()));
    frame.insert(frame.end(), vector.begin(), vector.end());
  }
  Payload head;
  head.reserve(kFrameHeaderBytes);
  put(head, kMagic);
  put(head, kProtocolVersion);
  put(head, static_cast<std::uint8_t>(header.kind));
  put(head, static_cast<std::uint8_t>(vectors.size()));
  head.insert(head.end(), header.run.begin(), header.run.end());
  put(head, header.sender);
  put(head, header.step);
  put(head, header.encoding);
  put(head, static_cast<std::uint32_t>(payload_bytes));
  put(head, header.digest);
  put(head, crc32(std::span(frame).subspan(kFrameHeaderBytes)));
  put(head, crc32(head));
  assert(head.size() == kFrameHeaderBytes);
  std::copy(head.begin(), head.end(), frame.begin());
}

std::size_t frame_bytes(std::span<const std::byte> bytes, const FrameLimits& limits,
                        std::string_view peer) {
  return kFrameHeaderBytes + read_header(bytes, limits, peer).payload_bytes;
}

FrameView decode_frame(std::span<const std::byte> bytes, const FrameLimits& limits,
                       std::string_view peer) {
  const auto raw = read_header(bytes, limits, peer);
  const auto payload = bytes.subspan(kFrameHeaderBytes);
  require_frame(payload.size() == raw.payload_bytes, peer, "a payload of ", raw.payload_bytes,
                " bytes announced, ", payload.size(), " found");
  require_frame(crc32(payload) == raw.payload_crc, peer,
                "the payload's checksum does not fit, bytes were altered on the way");
  FrameView frame{raw.header, {}};
  frame.vectors.reserve(raw.vectors);
  ByteReader in(payload);
  for (std::size_t v = 0; v < raw.vectors; ++v) {
    require_frame(in.left() >= kLengthBytes, peer, "the payload ends before vector ", v);
    const std::size_t length = in.get<std::uint32_t>();
    require_frame(length <= in.left(), peer, "vector ", v, " claims ", length, " bytes, ",
                  in.left(), " are left");
    frame.vectors.push_back(in.take(length));
  }
  require_frame(in.left() == 0, peer, in.left(), " bytes follow the last vector");
  return frame;
}

void require_expected(const FrameView& frame, const ExpectedFrame& expected,
                      std::string_view peer) {
  const auto& header = frame.header;
  require_frame(header.run == expected.run, peer, "it belongs to another run");
  require_frame(header.sender == expected.sender, peer, "it names agent ", header.sender,
                " as its sender, agent ", expected.sender, " expected");
  require_frame(header.step >= expected.step, peer, "step ", header.step, " came again, step ",
                expected.step, " expected: a replayed frame");
  require_frame(header.step <= expected.step, peer, "step ", header.step, " came before step ",
                expected.step, ": a frame was lost or overtaken");
  require_frame(header.kind == FrameKind::update, peer, "an update expected, kind ",
                int(header.kind), " found");
  require_frame(header.encoding == expected.encoding, peer, "encoding ", expected.encoding,
                " expected, ", header.encoding, " found: another compressor");
  require_frame(frame.vectors.size() == expected.vectors, peer, expected.vectors,
                " vectors expected, ", frame.vectors.size(), " found");
}

}  // namespace porter
