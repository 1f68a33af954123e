// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "porter/comm/keys.hpp"
#include "porter/comm/transport.hpp"

namespace porter {

/// Where somebody listens.
struct Address {
  std::string host;  ///< a name or a number; may be empty: every device of this machine
  std::uint16_t port;
};

/// Reads "10.0.0.2:7400", "b.example.org:7400", "[2001:db8::7]:7400". Error{usage} unless it is
/// HOST:PORT with a port from 1 to 65535.
Address parse_address(const std::string& text);

/// Public keys that neighbours give each other when they greet, on the connection of just these two
/// in which both have shown their certificates: a process takes a key from nobody but its owner,
/// and passes none on. Called from the transport's thread.
class KeyExchange {
 public:
  using Key = std::array<std::byte, 32>;
  virtual ~KeyExchange() = default;
  /// The key of this process for that neighbour; the same whenever it is asked for.
  virtual Key own(std::uint32_t neighbour) const = 0;
  /// The neighbour's. An Error, and the neighbour counts as away, where the key is none or another
  /// one than before.
  virtual void take(std::uint32_t neighbour, const Key& key) = 0;
};

struct NetworkOptions {
  Identity identity;
  std::uint32_t process = 0;  ///< which of the peers this one is
  std::vector<Peer> peers;    ///< one per process of the hosting
  std::string listen;         ///< "0.0.0.0:7400"
  /// What both ends of a link must agree on, e.g. {"graph", hash}. A peer with other facts is
  /// refused, and told which keys differ.
  std::map<std::string, std::string> facts;
  /// Where what agents do together has several stages, each with a transport of its own: the name
  /// of the whole, which all stages share, and the number of this one. A neighbour that is at
  /// another stage is no stranger: one that calls early calls again, and one that calls late hears
  /// that its stage is over here. Empty: there is one stage.
  std::string family = {};
  std::uint32_t stage = 0;
  /// Where neighbours give each other keys; all have it or none. Outlives the transport.
  KeyExchange* keys = nullptr;
  std::size_t max_message = 0;
  /// How long a peer may be out of reach before collect gives up; zero: not at all.
  std::chrono::milliseconds peer_wait{60'000};
  /// The same for a peer that has not been there yet.
  std::chrono::milliseconds start_wait{60'000};
  /// How long a neighbour may be connected and not send what a step needs; twice that if it says
  /// that it waits for others itself.
  std::chrono::milliseconds round_wait{600'000};
  /// Something is said twice in that time on every connection; one that is silent for twice as long
  /// is given up.
  std::chrono::milliseconds keepalive{10'000};
  /// An agent that restarts from a checkpoint: the last step it has collected.
  std::uint32_t resume_after = 0;
  /// The same agent: the last step that it had collected before, as far as it knows, which its
  /// neighbours are told; and the last step of its own messages that it does not have any more.
  std::uint32_t seen = 0, forgotten = 0;
  /// Whether neighbours must be able to send again what this process collected since the last
  /// settle.
  bool may_restart = false;
  /// How many steps of messages are kept for a neighbour that does not say that they are safe. One
  /// more is Error{protocol} of post, which names it: its checkpoints are public.
  std::uint32_t most_unsettled = ~std::uint32_t{0};
  /// Told who comes, goes and is refused, one line each, from threads of the transport.
  std::function<void(const std::string&)> report = [](const std::string&) {};
  std::shared_ptr<LinkMeter> links = nullptr;   ///< counts what happens; nothing: nobody watches
  std::shared_ptr<RoundTrace> trace = nullptr;  ///< gets the messages' arrivals
};

/// A transport over TLS in which both ends prove who they are. A connection may break and come
/// back: what the other end has not got is sent again, byte for byte. The reason of abort() is told
/// to others as it is: no paths, nothing private.
class NetworkTransport : public Transport {
 public:
  /// Blocks until every neighbour has been reached once and has answered the hello. Returns the
  /// last step of this process's messages that any of them holds, 0 if none does. For a process
  /// that has still something to send, before it posts; neighbours may be in the middle of the run,
  /// or waiting here, too. Error{network} names who does not answer within the start wait.
  virtual std::uint32_t meet() = 0;
  /// All rounds up to this one are safe in a checkpoint; the neighbours may forget them. Only for
  /// processes that may restart; for others, what is collected is safe.
  virtual void settle(std::uint32_t step) = 0;
  /// Goes without a word, as a process that is killed: the neighbours wait for its return. For an
  /// agent that ends in order to be started again.
  virtual void abandon() = 0;
};

/// Listens at once, connects in the background. Error{network} if it cannot listen.
std::unique_ptr<NetworkTransport> make_network_transport(const Hosting& hosting,
                                                         NetworkOptions options);

}  // namespace porter
