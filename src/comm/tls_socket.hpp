// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "io/file.hpp"

struct bio_st;

namespace porter {

/// A socket that never blocks, as OpenSSL reads and writes it: with as few calls of the system as
/// a link needs that carries messages of several TLS records.
struct TlsSocket {
  FileDescriptor fd;
  /// What is written next is not all: it waits for the rest, and the other end wakes up for both.
  bool more_follows = false;
  /// There was less to read than asked for; nobody asks again before poll says that there is more.
  bool drained = false;

  explicit TlsSocket(FileDescriptor socket) : fd(std::move(socket)) {}
  TlsSocket(const TlsSocket&) = delete;
};

/// For SSL_set_bio; nothing if memory is out. The socket outlives it.
bio_st* make_bio(TlsSocket& socket);

}  // namespace porter
