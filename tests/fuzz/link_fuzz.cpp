// SPDX-License-Identifier: Apache-2.0
// What comes on a link after the handshake: headers are refused before anything is allocated unless
// the side may say such a thing at that length, and bodies are decoded or refused by the peer's
// name.
#include <cstdlib>

#include "comm/tls_wire.hpp"
#include "fuzz.hpp"

namespace {

using namespace porter;

constexpr std::size_t kMaxMessage = 1000;

std::string frame(LinkKind kind, const Payload& body) {
  Payload bytes;
  put_header(bytes, kind, body.size());
  bytes.insert(bytes.end(), body.begin(), body.end());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void read_body(LinkKind kind, std::span<const std::byte> body, bool with_key) {
  switch (kind) {
    case LinkKind::hello:
      decode_hello(body, "peer");
      break;
    case LinkKind::welcome:
      if (decode_welcome(body, with_key, "peer").key.has_value() != with_key) std::abort();
      break;
    case LinkKind::message:
      decode_message_head(body, "peer");
      break;
    case LinkKind::settled:
      decode_settled(body, "peer");
      break;
    case LinkKind::gave_up: {
      const auto news = decode_gave_up(body, 3, "peer");
      if (news.origin >= 3 || news.reason.size() > kMaxSaid) std::abort();
      if (news.reason.find_first_of("\n\r\x1b") != news.reason.npos) std::abort();
      break;
    }
    case LinkKind::ping:
      decode_ping(body, "peer");
      break;
    default:
      if (cited(body).size() > kMaxSaid) std::abort();
  }
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  std::vector<std::string> seeds;
  const KeyExchange::Key key{std::byte{9}};
  for (const char flags : {'\0', '\1', '\2', '\3', '\5'}) {
    const std::string side(1, flags);
    seeds.push_back(side + frame(LinkKind::hello, encode_hello({2, 1, {{"graph", "ring"}}})));
    seeds.push_back(side + frame(LinkKind::welcome, encode_welcome({7, 3})));
    seeds.push_back(side + frame(LinkKind::welcome, encode_welcome({7, 3, 2, key})));
    seeds.push_back(side + frame(LinkKind::message, Payload(50)));
    seeds.push_back(side + frame(LinkKind::gave_up, encode_gave_up({1, "the disk is full"})));
    seeds.push_back(side + frame(LinkKind::settled, Payload(4)));
    seeds.push_back(side + frame(LinkKind::ping, Payload(1)));
    seeds.push_back(side + frame(LinkKind::finished, {}));
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (bytes.size() < 1 + kLinkHeader) return 0;
  const auto from = (data[0] & 1) != 0 ? LinkSide::taker : LinkSide::opener;
  const bool greeted = (data[0] & 2) != 0, with_key = (data[0] & 4) != 0;
  try {
    const auto header = decode_link_header(bytes.subspan(1), from, greeted, kMaxMessage, "peer");
    if (header.length > kLongestHello) std::abort();
    if (greeted && header.length > kMessageHead + kMaxMessage) std::abort();
    const auto rest = bytes.subspan(1 + kLinkHeader);
    if (header.length <= rest.size()) read_body(header.kind, rest.first(header.length), with_key);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::protocol) std::abort();
    if (std::string(error.what()).find("peer ") != 0) std::abort();
  }
  return 0;
}
