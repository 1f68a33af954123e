// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <random>
#include <set>
#include <vector>

#include "tls_connection.hpp"

namespace porter {

/// Accepts connections and shakes hands, so that those who do not prove to belong to the run cost
/// little, are few at a time, and are reported by their addresses. It has no thread; whoever has
/// it waits for its connections, and calls work().
class Door {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    std::string listen;                  ///< "0.0.0.0:7400", "[::]:7400"
    std::chrono::milliseconds patience;  ///< for a certificate
    /// Connections without a certificate, of each kind: from the hosts of peers and from others,
    /// those that have said nothing and those that were answered. So who says nothing, which costs
    /// nothing, takes no place of a peer whose handshake has begun.
    std::size_t places;
    /// Why nobody with these names in the certificate may come in, in words that it may be told;
    /// empty: it may.
    std::function<std::string(const std::vector<std::string>&)> refusal;
    std::function<void(const std::string&)> report;
  };
  /// Listens at once. Error{network} if it cannot.
  Door(const TlsContext& tls, Options options);

  /// Peers come from here; there are places for them that nobody else gets.
  void expect(const std::string& host) { peer_hosts_.insert(host); }

  /// What to wait for.
  void watch(std::vector<pollfd>& polls) const;
  /// Looks at what came of it: the same list, from `first` on.
  void look(const std::vector<pollfd>& polls, std::size_t first);

  struct Guest {
    std::unique_ptr<Connection> connection;
    std::string address;
    std::vector<std::string> names;
  };
  /// Accepts, shakes hands, drops who takes too long. Those who may come in.
  std::vector<Guest> work();
  /// Says why and ends the connection in a way that lets the other end hear it.
  void turn_away(std::unique_ptr<Connection> connection, const std::string& address,
                 const std::string& who, const std::string& why);

  /// A line for the log; of many at a time most are only counted.
  void report(const std::string& text);
  /// Writes these lines, from time to time or at once.
  void tell(bool at_once);

 private:
  struct Kind {
    bool from_peer, answered;
    bool operator==(const Kind&) const = default;
  };
  struct Visitor {
    std::unique_ptr<Connection> connection;
    std::string address;
    Clock::time_point since = Clock::now();
    bool from_peer = false, answered = false, leaving = false;
    Kind kind() const { return {from_peer, answered}; }
  };

  void accept_all(std::vector<Guest>& guests);
  void let_in(Accepted accepted, std::vector<Guest>& guests);
  void make_room();
  void report_full(Kind kind);
  std::size_t count(Kind kind) const;
  /// False if there is none.
  bool drop_one(Kind kind);
  bool is_over(Visitor& visitor, std::vector<Guest>& guests);
  void say_goodbye(Visitor& visitor, const std::string& who, const std::string& why);
  void leave(Visitor& visitor);

  const TlsContext& tls_;
  const Options options_;
  const FileDescriptor listener_;
  bool knocked_ = false;
  Clock::time_point closed_until_{};  // when descriptors ran out
  std::set<std::string> peer_hosts_;
  std::vector<Visitor> visitors_;
  std::minstd_rand random_{std::random_device{}()};
  Clock::time_point quiet_until_[2][2]{};  // no other line about a full door before, by Kind
  std::vector<std::string> news_;
  std::size_t untold_ = 0;  // lines beyond those in news_
  Clock::time_point told_{};
};

}  // namespace porter
