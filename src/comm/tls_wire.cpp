// SPDX-License-Identifier: Apache-2.0
#include "tls_wire.hpp"

#include <algorithm>
#include <set>

#include "comm/frame.hpp"
#include "core/text.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

void append(Payload& bytes, std::string_view text) {
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
}

void put_text(Payload& bytes, const std::string& text) {
  put(bytes, static_cast<std::uint32_t>(text.size()));
  append(bytes, text);
}

std::string to_string(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string get_text(ByteReader& in) { return to_string(in.take(in.get<std::uint32_t>())); }

// Reads a whole body; what goes wrong names the peer.
template <class Read>
auto decode(std::span<const std::byte> body, const char* what, const std::string& peer,
            const Read& read) {
  try {
    ByteReader in(body);
    auto value = read(in);
    require(in.left() == 0, ErrorKind::protocol, in.left(), " bytes too many");
    return value;
  } catch (const Error& error) {
    fail(ErrorKind::protocol, peer, " sent a malformed ", what, ": ", error.what());
  }
}

// Values that are few and public, and those of a schema, column by column.
bool is_shown(std::string_view key) {
  return key == "data.classes" || key == "data.features" || key == "dim" || key == "shared noise" ||
         key.starts_with("schema: ");
}

using Facts = std::map<std::string, std::string>;

const std::string kFamily = "run.id", kStage = "stage";
constexpr std::string_view kAtStage = "it is at another stage of the run here, number ";

std::string value_of(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? "nothing" : found->second;
}

// A long text is cut to where it begins to differ from the other.
std::string excerpt(const std::string& text, const std::string& other) {
  constexpr std::size_t kMax = 60, kBefore = 12;
  if (text.size() <= kMax) return text;
  const auto differs =
      static_cast<std::size_t>(std::ranges::mismatch(text, other).in1 - text.begin());
  const auto begin = differs <= kMax - kBefore ? 0 : differs - kBefore;
  return concat(begin > 0 ? "..." : "", text.substr(begin, kMax),
                begin + kMax < text.size() ? "..." : "");
}

// Who says what, when, and how long it may be.
struct Rule {
  enum { opener = 1, taker = 2, both = 3 } from = both;
  bool after_greeting = true;
  std::size_t longest = 0;
};
const std::map<LinkKind, Rule> kRules = {
    {LinkKind::hello, {Rule::opener, false, kLongestHello}},
    {LinkKind::welcome, {Rule::taker, false, 12 + sizeof(KeyExchange::Key)}},
    {LinkKind::refusal, {Rule::taker, false, kMaxSaid}},
    {LinkKind::message, {Rule::opener, true, kMessageHead}},  // and what it may carry
    {LinkKind::settled, {Rule::taker, true, 4}},
    {LinkKind::gave_up, {Rule::both, true, 4 + kMaxSaid}},
    {LinkKind::heard_over, {Rule::both, true, 0}},
    {LinkKind::finished, {Rule::opener, true, 0}},
    {LinkKind::heard_finish, {Rule::taker, true, 0}},
    {LinkKind::ping, {Rule::both, true, 1}},
};

}  // namespace

LinkHeader decode_link_header(std::span<const std::byte> bytes, LinkSide from, bool greeted,
                              std::size_t max_message, const std::string& peer) {
  ByteReader in(bytes.first(kLinkHeader));
  const LinkHeader header{LinkKind{in.get<std::uint8_t>()}, in.get<std::uint32_t>()};
  const auto rule = kRules.find(header.kind);
  const auto side = from == LinkSide::opener ? Rule::opener : Rule::taker;
  require(rule != kRules.end() && (rule->second.from & side) != 0 &&
              rule->second.after_greeting == greeted,
          ErrorKind::protocol, peer, " sent something of kind ", int(header.kind),
          greeted ? ", which is not expected" : " in place of its greeting");
  const auto most = rule->second.longest + (header.kind == LinkKind::message ? max_message : 0);
  require(header.length <= most, ErrorKind::protocol, peer, " announces ", header.length,
          " bytes; the limit is ", most);
  return header;
}

void put_header(Payload& bytes, LinkKind kind, std::size_t length) {
  put(bytes, static_cast<std::uint8_t>(kind));
  put(bytes, static_cast<std::uint32_t>(length));
}

Payload encode_hello(const Hello& hello) {
  Payload bytes;
  put(bytes, hello.protocol);
  put(bytes, hello.process);
  for (const auto& [key, value] : hello.facts) {
    put_text(bytes, key);
    put_text(bytes, value);
  }
  return bytes;
}

Hello decode_hello(std::span<const std::byte> body, const std::string& peer) {
  return decode(body, "hello", peer, [](ByteReader& in) {
    Hello hello{in.get<std::uint32_t>(), in.get<std::uint32_t>(), {}};
    while (in.left() > 0) {
      auto key = get_text(in);
      auto value = get_text(in);
      require(hello.facts.try_emplace(std::move(key), std::move(value)).second, ErrorKind::protocol,
              "a key comes twice");
    }
    return hello;
  });
}

Payload encode_welcome(const Welcome& welcome) {
  Payload bytes;
  put(bytes, welcome.wanted_from);
  put(bytes, welcome.settled);
  put(bytes, welcome.seen);
  if (welcome.key) bytes.insert(bytes.end(), welcome.key->begin(), welcome.key->end());
  return bytes;
}

Welcome decode_welcome(std::span<const std::byte> body, bool with_key, const std::string& peer) {
  return decode(body, "welcome", peer, [&](ByteReader& in) {
    Welcome welcome{in.get<std::uint32_t>(), in.get<std::uint32_t>(), in.get<std::uint32_t>()};
    if (!with_key) return welcome;
    require(in.left() == sizeof(KeyExchange::Key), ErrorKind::protocol, "expected a key of ",
            sizeof(KeyExchange::Key), " bytes, found ", in.left());
    std::ranges::copy(in.take(in.left()), welcome.key.emplace().begin());
    return welcome;
  });
}

Payload encode_gave_up(const GaveUp& news) {
  Payload bytes;
  put(bytes, news.origin);
  append(bytes, std::string_view(news.reason).substr(0, kMaxSaid));
  return bytes;
}

GaveUp decode_gave_up(std::span<const std::byte> body, std::size_t processes,
                      const std::string& peer) {
  return decode(body, "reason for giving up", peer, [&](ByteReader& in) {
    GaveUp news{in.get<std::uint32_t>(), {}};
    require(news.origin < processes, ErrorKind::protocol, "process ", news.origin, " of ",
            processes);
    news.reason = cited(in.take(in.left()));
    return news;
  });
}

MessageHead decode_message_head(std::span<const std::byte> body, const std::string& peer) {
  const auto head = body.first(std::min(body.size(), kMessageHead));
  return decode(head, "message", peer, [](ByteReader& in) {
    return MessageHead{in.get<std::uint32_t>(), in.get<std::uint32_t>()};
  });
}

std::uint32_t decode_settled(std::span<const std::byte> body, const std::string& peer) {
  return decode(body, "acknowledgement", peer,
                [](ByteReader& in) { return in.get<std::uint32_t>(); });
}

bool decode_ping(std::span<const std::byte> body, const std::string& peer) {
  return decode(body, "ping", peer, [](ByteReader& in) { return in.get<std::uint8_t>() != 0; });
}

Hello hello_of(const NetworkOptions& options) {
  auto facts = options.facts;
  if (!options.family.empty()) {
    facts[kFamily] = options.family;
    facts[kStage] = std::to_string(options.stage);
  }
  return {kProtocolVersion, options.process, std::move(facts)};
}

std::string stage_text(std::uint32_t stage) { return concat(kAtStage, stage); }

std::optional<std::uint32_t> stage_in(const std::string& text) {
  if (!text.starts_with(kAtStage)) return std::nullopt;
  return parse_number<std::uint32_t>(text.substr(kAtStage.size()));
}

std::string fact_differences(const Facts& ours, const Facts& theirs) {
  std::set<std::string> keys;
  for (const auto* facts : {&ours, &theirs})
    for (const auto& [key, value] : *facts) {
      const auto mine = ours.find(key), other = theirs.find(key);
      if (mine == ours.end() || other == theirs.end() || mine->second != other->second)
        keys.insert(key);
    }
  std::string text;
  for (const auto& key : keys) {
    text += (text.empty() ? "" : ", ") + (key.empty() ? "a key without a name" : key);
    if (!is_shown(key)) continue;
    const auto here = value_of(ours, key), there = value_of(theirs, key);
    text += concat(" (", excerpt(here, there), " here, ", excerpt(there, here), " there)");
  }
  return text;
}

std::optional<std::string> refusal_of(const Hello& hello, std::uint32_t neighbour,
                                      const NetworkOptions& options) {
  if (hello.process != neighbour)
    return hello.process < options.peers.size()
               ? "the certificate is not that of " + options.peers[hello.process].name
               : concat("there is no process ", hello.process);
  if (hello.protocol != kProtocolVersion)
    return concat("protocol version ", kProtocolVersion, " expected, ", hello.protocol, " found");
  const auto ours = hello_of(options).facts;
  if (!options.family.empty() && value_of(hello.facts, kFamily) == options.family &&
      value_of(hello.facts, kStage) != value_of(ours, kStage))
    return stage_text(options.stage);
  const auto differing = fact_differences(ours, hello.facts);
  if (!differing.empty()) return cited("another run; these differ: " + differing);
  return std::nullopt;
}

std::string cited(const std::string& said) { return without_controls(said.substr(0, kMaxSaid)); }
std::string cited(std::span<const std::byte> said) { return cited(to_string(said)); }

}  // namespace porter
