// SPDX-License-Identifier: Apache-2.0
// What travels on a link between two processes, inside TLS; docs/wire_format.md has the bytes. The
// messages themselves hold frames (frame.hpp), which nobody here looks into.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "comm/tls.hpp"
#include "porter/core/bytes.hpp"

namespace porter {

enum class LinkKind : std::uint8_t {
  hello = 1,         // from the opener, first
  welcome = 2,       // the answer,
  refusal = 3,       // or this
  message = 4,       // from the opener
  settled = 5,       // to the opener
  gave_up = 6,       // either way
  heard_over = 7,    // the answer
  finished = 8,      // from the opener
  heard_finish = 9,  // the answer
  ping = 10,         // either way
};

inline constexpr std::size_t kLinkHeader = 5;  // kind (1), length of the body (4)
inline constexpr std::size_t kMaxSaid = 1000;  // bytes of a text
inline constexpr std::size_t kLongestHello = 1 << 18;
inline constexpr std::size_t kMessageHead = 8;  // step (4), agent (4)

struct LinkHeader {
  LinkKind kind;
  std::uint32_t length;
};

/// Who speaks: one end sends messages, the other takes them.
enum class LinkSide { opener, taker };

/// The header of what the other side says next. Error{protocol} names the peer unless that side may
/// say such a thing, at this length; nothing has been allocated for it.
LinkHeader decode_link_header(std::span<const std::byte> bytes, LinkSide from, bool greeted,
                              std::size_t max_message, const std::string& peer);

struct Hello {
  std::uint32_t protocol = 0, process = 0;
  std::map<std::string, std::string> facts;
};
struct Welcome {
  std::uint32_t wanted_from = 0, settled = 0, seen = 0;
  std::optional<KeyExchange::Key> key = {};
};
struct GaveUp {
  std::uint32_t origin = 0;  ///< a process
  std::string reason;
};
struct MessageHead {
  std::uint32_t step = 0, sender = 0;
};

void put_header(Payload& bytes, LinkKind kind, std::size_t length);
Payload encode_hello(const Hello& hello);
Payload encode_welcome(const Welcome& welcome);
Payload encode_gave_up(const GaveUp& news);

// All of these throw Error{protocol} that names the peer.
Hello decode_hello(std::span<const std::byte> body, const std::string& peer);
/// With a key, or without one.
Welcome decode_welcome(std::span<const std::byte> body, bool with_key, const std::string& peer);
GaveUp decode_gave_up(std::span<const std::byte> body, std::size_t processes,
                      const std::string& peer);
MessageHead decode_message_head(std::span<const std::byte> body, const std::string& peer);
std::uint32_t decode_settled(std::span<const std::byte> body, const std::string& peer);
/// Whether who pings waits for others.
bool decode_ping(std::span<const std::byte> body, const std::string& peer);

/// The hello of this process.
Hello hello_of(const NetworkOptions& options);
/// The keys whose values differ or that only one side has, for a refusal: "algorithm.step,
/// data.classes ([0, 1] here, "0..3" there)"; empty where there are none. Values are shown where
/// they are few and public and say what to mend: classes, features and the model's size.
std::string fact_differences(const std::map<std::string, std::string>& ours,
                             const std::map<std::string, std::string>& theirs);

/// Why a hello is refused that came with the certificate of `neighbour`, in words that it may be
/// told; nothing if it takes part in the same run.
std::optional<std::string> refusal_of(const Hello& hello, std::uint32_t neighbour,
                                      const NetworkOptions& options);

/// What a neighbour at another stage of the same run is told in place of a refusal, and the stage
/// in it; nothing in any other text.
std::string stage_text(std::uint32_t stage);
std::optional<std::uint32_t> stage_in(const std::string& text);

/// What another process says, as far as it may enter a log or an error.
std::string cited(std::span<const std::byte> said);
std::string cited(const std::string& said);

}  // namespace porter
