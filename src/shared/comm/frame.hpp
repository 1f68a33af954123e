// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "porter/core/bytes.hpp"

namespace porter {

/// What one agent sends to a neighbour: a fixed header and the vectors of a step. The layout,
/// byte by byte, is in docs/wire_format.md.

inline constexpr std::uint16_t kProtocolVersion = 2;
inline constexpr std::size_t kFrameHeaderBytes = 56;
inline constexpr std::size_t kLengthBytes = 4;  ///< before each vector

/// The same for all agents of a run and for no other run.
using RunId = std::array<std::byte, 16>;

/// The numbers travel: append, never renumber.
enum class FrameKind : std::uint8_t {
  update = 0,          ///< the compressed vectors of a step
  resync_request = 1,  ///< agents' numbers: "my copies of your Q are wrong, send all of it"
  resync = 2,          ///< every entry of Q, as doubles
};

struct FrameHeader {
  FrameKind kind = FrameKind::update;
  RunId run{};
  std::uint32_t sender = 0;
  std::uint32_t step = 0;
  std::uint32_t encoding = 0;  ///< encoding_id of the compressor
  std::uint64_t digest = 0;    ///< of the sender's Q once this frame is applied, or 0: not said
  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

/// A number for the compressor's spec, so that both ends see that they mean the same one.
std::uint32_t encoding_id(std::string_view compressor_spec);

/// The most that a receiver accepts; what a header claims is compared with it before anything else
/// is done.
struct FrameLimits {
  std::size_t max_payload;
  std::size_t max_frame() const { return kFrameHeaderBytes + max_payload; }
};

/// Room for `vectors` vectors of `dim` entries in the widest form, a resync of 8 bytes an entry.
/// Error{usage} if that does not fit the format's 32-bit length.
FrameLimits frame_limits(std::size_t dim, std::size_t vectors);

/// Replaces `frame` by the bytes to send. At most 255 vectors.
void encode_frame(const FrameHeader& header, std::span<const std::span<const std::byte>> vectors,
                  Payload& frame);

/// A frame whose vectors lie in somebody else's bytes.
struct FrameView {
  FrameHeader header;
  std::vector<std::span<const std::byte>> vectors;
};

/// How long the frame is that `bytes` begin with, from its header, which is checked.
/// Error{protocol} as below.
std::size_t frame_bytes(std::span<const std::byte> bytes, const FrameLimits& limits,
                        std::string_view peer);

/// Reads exactly one frame. The bytes may come from a stranger: Error{protocol} names `peer`, what
/// was expected and what was found. The view lies in `bytes`; nothing is copied.
FrameView decode_frame(std::span<const std::byte> bytes, const FrameLimits& limits,
                       std::string_view peer);

/// What the receiver of an update knows beforehand.
struct ExpectedFrame {
  RunId run;
  std::uint32_t sender, step, encoding;
  std::size_t vectors;
};

/// Error{protocol} naming the peer unless the frame is the awaited one; a replayed or reordered
/// frame shows by its step.
void require_expected(const FrameView& frame, const ExpectedFrame& expected, std::string_view peer);

}  // namespace porter
