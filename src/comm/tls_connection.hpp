// SPDX-License-Identifier: Apache-2.0
// One TLS connection that never blocks, and the sockets it lives on.
#pragma once

#include <poll.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "porter/comm/keys.hpp"
#include "tls_socket.hpp"
#include "tls_wire.hpp"

struct addrinfo;
struct ssl_ctx_st;
struct ssl_st;

namespace porter {

/// Error{network} if it cannot.
FileDescriptor listen_on(const std::string& address);

using AddressList = std::shared_ptr<const addrinfo>;
/// Where a peer may be found. Error{network} if nobody knows; may take long unless `numbers_only`,
/// which gives nothing for a name.
AddressList look_up(const Address& address, bool numbers_only);
/// Begins to connect. Error{network} if it fails at once.
FileDescriptor connect_to(const addrinfo& address);
/// "10.0.0.7", without the port.
std::string host_of(const addrinfo& address);

/// A connection that somebody else opened.
struct Accepted {
  FileDescriptor socket;
  std::string host, address;  ///< "10.0.0.7", "10.0.0.7:51034"
};
/// Nothing if nobody is there, Error{io} when descriptors run out.
std::optional<Accepted> accept_from(const FileDescriptor& listener);

/// A frame of a link. The head of a message is apart from what it carries, which is passed on.
struct LinkFrame {
  LinkKind kind;
  Payload head, body;
};

class Connection;

/// TLS 1.3, in which both ends must show a certificate of the authority.
class TlsContext {
 public:
  explicit TlsContext(const Identity& identity);
  ~TlsContext();

  std::unique_ptr<Connection> accept(FileDescriptor socket) const;
  /// The other end must have this name.
  std::unique_ptr<Connection> connect(FileDescriptor socket, const std::string& name) const;

 private:
  ssl_ctx_st* context_;
};

/// For one thread. What goes wrong is an Error: network for what happens to connections, protocol
/// for what the other end must not send.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  Connection(FileDescriptor socket, ssl_st* tls);
  ~Connection();
  Connection(const Connection&) = delete;

  /// What to wait for, and what came of it.
  int fd() const { return socket_.fd.get(); }
  ssl_st* tls() { return tls_; }
  short events() const;
  short ready = 0;

  /// True when it is done. What the other end is called is known then.
  bool shake_hands();
  /// Whether the other end's first words were such that something was said to them.
  bool has_answered() const;
  std::vector<std::string> names() const;

  /// For a link that is used in every round: buffers stay, and one read takes what is there.
  void keep_buffers();

  /// Puts a frame behind what is to be written. A message has a head and the rest of its body.
  void send(LinkKind kind, std::span<const std::byte> body = {},
            std::span<const std::byte> rest = {});
  /// Writes what can be written now.
  void flush();
  bool all_written() const { return written_ == out_.size(); }

  /// Something may have come since nothing was left to read.
  void look_again() { socket_.drained = false; }
  /// The next whole frame, if it is there. The limits are those of decode_link_header.
  std::optional<LinkFrame> receive(LinkSide from, bool greeted, std::size_t max_message,
                                   const std::string& peer);
  /// Nothing more will be said; what the other end says is dropped. True when it has ended, too.
  void say_no_more();
  bool drain();

  Clock::time_point heard() const { return heard_; }
  Clock::time_point said() const { return said_; }
  /// Silence that was not the other end's does not count.
  void excuse() { heard_ = Clock::now(); }

 private:
  enum class Wait { read, write };
  /// Whether the operation has to wait; throws if it has failed.
  bool must_wait(int code);
  bool read_into(Payload& part, std::size_t wanted);

  TlsSocket socket_;
  ssl_st* tls_;
  Wait shaking_ = Wait::read;
  Payload out_;
  std::size_t written_ = 0;
  Payload head_, body_;
  std::optional<LinkHeader> header_;
  std::uint64_t raw_ = 0;  // bytes that have come so far
  Clock::time_point heard_ = Clock::now(), said_ = heard_;
};

}  // namespace porter
