// SPDX-License-Identifier: Apache-2.0
#include "tls_socket.hpp"

#include <openssl/bio.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <utility>

namespace porter {
namespace {

TlsSocket& socket_of(BIO* bio) { return *static_cast<TlsSocket*>(BIO_get_data(bio)); }

bool is_temporary(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

int write_socket(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto& socket = socket_of(bio);
  const int flags = MSG_NOSIGNAL | (socket.more_follows ? MSG_MORE : 0);
  const auto count = ::send(socket.fd.get(), data, static_cast<std::size_t>(size), flags);
  if (count < 0 && is_temporary(errno)) BIO_set_retry_write(bio);
  return static_cast<int>(count);
}

int read_socket(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  auto& socket = socket_of(bio);
  if (socket.drained) {
    BIO_set_retry_read(bio);
    return -1;
  }
  const auto count = ::recv(socket.fd.get(), data, static_cast<std::size_t>(size), 0);
  socket.drained = count > 0 && count < size;
  if (count < 0 && is_temporary(errno)) BIO_set_retry_read(bio);
  if (count == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(count);
}

long control_socket(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
  return command == BIO_CTRL_FLUSH;  // nothing is held back here
}

// OpenSSL never changes it, so all connections share one.
const BIO_METHOD* socket_method() {
  static const std::unique_ptr<BIO_METHOD, void (*)(BIO_METHOD*)> method = [] {
    auto* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "porter socket");
    const bool ready = made && BIO_meth_set_write(made, write_socket) == 1 &&
                       BIO_meth_set_read(made, read_socket) == 1 &&
                       BIO_meth_set_ctrl(made, control_socket) == 1;
    if (!ready) BIO_meth_free(std::exchange(made, nullptr));
    return std::unique_ptr<BIO_METHOD, void (*)(BIO_METHOD*)>(made, BIO_meth_free);
  }();
  return method.get();
}

}  // namespace

bio_st* make_bio(TlsSocket& socket) {
  const auto* method = socket_method();
  BIO* bio = method ? BIO_new(method) : nullptr;
  if (!bio) return nullptr;
  BIO_set_data(bio, &socket);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace porter
