// SPDX-License-Identifier: Apache-2.0
// The two ends of links between processes, as machines that are told when their connections are
// ready. They move what a Mailbox has to send and to get.
#pragma once

#include <functional>
#include <future>
#include <set>

#include "mailbox.hpp"
#include "tls_connection.hpp"

namespace porter {

/// What all links of a process share.
struct LinkHub {
  const NetworkOptions& options;
  const TlsContext& tls;
  Mailbox& mailbox;
  std::chrono::milliseconds patience;     ///< for each step until both ends have greeted
  std::chrono::milliseconds ping_period;  ///< something is said at least that often
  std::chrono::milliseconds silence;      ///< a connection that is silent for longer is dead
  std::function<void(const std::string& host)> found_host;  ///< peers come from there

  const std::string& here() const { return options.identity.name; }
  const std::string& name_of(std::uint32_t process) const { return options.peers[process].name; }
};

/// A link that somebody has opened whose certificate names this neighbour.
class IncomingLink {
 public:
  using Clock = std::chrono::steady_clock;
  IncomingLink(LinkHub& hub, std::uint32_t neighbour, std::unique_ptr<Connection> connection,
               std::string address);

  Connection& connection() { return *connection_; }
  std::unique_ptr<Connection> take_connection() { return std::move(connection_); }
  short events() const;
  /// "agent-1 (10.0.0.7:51034)"
  std::string description() const;
  const std::string& address() const { return address_; }

  /// Does what can be done now. Error if the link is over, and why.
  void work();
  bool greeted() const { return greeted_; }
  /// Why its hello is refused; empty: it is not.
  const std::string& refusal() const { return refusal_; }
  /// Whether there is more to read, of which poll knows nothing.
  bool has_more() const { return has_more_; }

 private:
  struct Stalled {
    MessageHead head;
    Payload bytes;
  };
  void read();
  bool take(LinkFrame& frame);
  void answer_once(bool& answered, LinkKind kind);
  void greet(const Hello& hello);
  bool deliver(Stalled& message);
  void acknowledge();

  LinkHub& hub_;
  const std::uint32_t neighbour_;
  std::unique_ptr<Connection> connection_;
  const std::string address_;
  const Clock::time_point since_ = Clock::now();
  bool greeted_ = false, has_more_ = false, said_over_ = false;
  bool said_heard_over_ = false, said_heard_finish_ = false;
  std::string refusal_;
  std::optional<Stalled> stalled_;  // a message for which there is no room yet
  std::uint32_t told_ = 0;          // the settled step that the neighbour knows
};

/// A link that this process opens: connects, sends, and connects again until all is over.
class OutgoingLink {
 public:
  using Clock = std::chrono::steady_clock;
  OutgoingLink(LinkHub& hub, std::uint32_t neighbour);

  /// Nothing while there is none.
  Connection* connection() { return connection_.get(); }
  void work();
  bool has_more() const { return has_more_; }
  /// Whether nothing of what was begun is left to be written.
  bool has_sent_all() const { return !connection_ || connection_->all_written(); }
  /// Whether only what the other end says is of interest, which is never much.
  bool only_listens() const { return state_ == State::open && has_sent_all(); }

 private:
  enum class State { idle, looking_up, shaking, greeting, open };

  void begin();
  void try_address();
  void advance();
  void read();
  void take(const LinkFrame& frame);
  void send_all();
  void fail_over(const std::string& why);
  void close(const std::string& why);
  void tell(const std::string& text);

  LinkHub& hub_;
  const std::uint32_t neighbour_;
  const Peer& peer_;
  State state_ = State::idle;
  std::future<AddressList> lookup_;
  AddressList addresses_;
  const addrinfo* address_ = nullptr;  // the one of the list that is tried
  std::unique_ptr<Connection> connection_;
  Clock::time_point since_{};  // of the state, where it has a deadline; when idle: of the next try
  std::chrono::milliseconds retry_;
  Mailbox::Cursor cursor_;
  bool has_more_ = false, said_heard_over_ = false;
  std::string refusal_;
  std::optional<std::uint32_t> other_stage_;  // that the neighbour is at, where it said so
  std::set<std::string> told_;                // since it was reached last
};

}  // namespace porter
