// SPDX-License-Identifier: Apache-2.0
#include "tls_connection.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/text.hpp"
#include "keys_openssl.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kPiece = 1 << 14;         // bytes of a TLS record
constexpr std::size_t kReadAtOnce = 1 << 16;    // from a neighbour
constexpr std::size_t kMaxDrained = 1 << 16;    // of somebody who is being turned away
constexpr long kLongestCertificates = 1 << 14;  // bytes, of all that the other end shows
// The keys of agents (ECDSA on P-256) are as strong as AES-128, which encrypts a fifth faster.
constexpr const char* kCiphers =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kEnded = "it ended the connection";

std::string text_of(int error) { return std::strerror(error); }

void set_option(int fd, int level, int name, int value) {
  ::setsockopt(fd, level, name, &value, sizeof value);
}

AddressList found_by(const Address& address, int flags, int& code) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  code = ::getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(),
                       std::to_string(address.port).c_str(), &hints, &found);
  return code == 0
             ? AddressList(
                   found, [](const addrinfo* list) { ::freeaddrinfo(const_cast<addrinfo*>(list)); })
             : nullptr;
}

// An IPv4 address reads the same on a socket that serves both kinds.
std::pair<std::string, std::uint16_t> read_address(const sockaddr& at) {
  char text[INET6_ADDRSTRLEN] = {};
  if (at.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(at);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return {text, ntohs(v4.sin_port)};
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(at);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
    ::inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text, sizeof text);
  else
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return {text, ntohs(v6.sin6_port)};
}

// What OpenSSL says about the operation that has just failed.
std::string reason_of(const SSL* tls) {
  const auto code = ERR_peek_last_error();
  ERR_clear_error();
  if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) return kEnded;
  const char* reason = ERR_reason_error_string(code);
  const auto verified = SSL_get_verify_result(tls);
  return concat("TLS: ", reason ? reason : "no reason given", verified == X509_V_OK ? "" : ": ",
                verified == X509_V_OK ? "" : X509_verify_cert_error_string(verified));
}

}  // namespace

Address parse_address(const std::string& text) {
  const auto colon = text.rfind(':');
  const auto digits = colon == text.npos ? std::string() : text.substr(colon + 1);
  const auto port = parse_number<std::uint16_t>(digits).value_or(0);
  require(port > 0, ErrorKind::usage, "expected ADDRESS:PORT with a port from 1 to 65535, found \"",
          without_controls(text), '"');
  auto host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  require(bracketed || host.find(':') == host.npos, ErrorKind::usage,
          "an IPv6 address is written [ADDRESS]:PORT, found \"", without_controls(text), '"');
  return {std::move(host), port};
}

FileDescriptor listen_on(const std::string& text) {
  int code = 0;
  const auto found = found_by(parse_address(text), AI_PASSIVE, code);
  require(found != nullptr, ErrorKind::network, "cannot listen on ", text, ": ",
          ::gai_strerror(code));
  int error = 0;
  for (const auto* at = found.get(); at != nullptr; at = at->ai_next) {
    FileDescriptor socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.get() >= 0) {
      set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
      if (at->ai_family == AF_INET6) set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
      if (::bind(socket.get(), at->ai_addr, at->ai_addrlen) == 0 &&
          ::listen(socket.get(), SOMAXCONN) == 0)
        return socket;
    }
    error = errno;
  }
  fail(ErrorKind::network, "cannot listen on ", text, ": ", text_of(error));
}

AddressList look_up(const Address& address, bool numbers_only) {
  int code = 0;
  auto found = found_by(address, numbers_only ? AI_NUMERICHOST : 0, code);
  require(found || numbers_only, ErrorKind::network, ::gai_strerror(code));
  return found;
}

FileDescriptor connect_to(const addrinfo& address) {
  FileDescriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  require(socket.get() >= 0, ErrorKind::network, text_of(errno));
  set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  require(::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0 || errno == EINPROGRESS,
          ErrorKind::network, text_of(errno));
  return socket;
}

std::string host_of(const addrinfo& address) { return read_address(*address.ai_addr).first; }

std::optional<Accepted> accept_from(const FileDescriptor& listener) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  FileDescriptor socket(::accept4(listener.get(), reinterpret_cast<sockaddr*>(&at), &size,
                                  SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.get() < 0) {
    const bool none_left =
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    require(!none_left, ErrorKind::io, text_of(errno));
    return std::nullopt;
  }
  set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  auto [host, port] = read_address(reinterpret_cast<const sockaddr&>(at));
  auto address = concat(host, ':', port);
  return Accepted{std::move(socket), std::move(host), std::move(address)};
}

TlsContext::TlsContext(const Identity& identity) : context_(SSL_CTX_new(TLS_method())) {
  require_openssl(context_ != nullptr, "cannot prepare TLS");
  const auto certificate = parse_certificate(identity.certificate_pem, identity.name + ".crt");
  const auto key = parse_key(identity.key_pem, identity.name + ".key");
  const auto authority = parse_certificate(identity.authority_pem, "ca.crt");
  const bool ready = SSL_CTX_set_min_proto_version(context_, TLS1_3_VERSION) == 1 &&
                     SSL_CTX_set_ciphersuites(context_, kCiphers) == 1 &&
                     SSL_CTX_use_certificate(context_, certificate.get()) == 1 &&
                     SSL_CTX_use_PrivateKey(context_, key.get()) == 1 &&
                     X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), authority.get()) == 1;
  require_openssl(ready, "cannot prepare TLS for " + identity.name);
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_verify_depth(context_, 0);  // the authority signs the agents' certificates itself
  SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context_, 0);
  SSL_CTX_set_max_cert_list(context_, kLongestCertificates);
  SSL_CTX_set_options(context_, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                 SSL_MODE_RELEASE_BUFFERS);
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

std::unique_ptr<Connection> TlsContext::accept(FileDescriptor socket) const {
  auto connection = std::make_unique<Connection>(std::move(socket), SSL_new(context_));
  SSL_set_accept_state(connection->tls());
  return connection;
}

std::unique_ptr<Connection> TlsContext::connect(FileDescriptor socket,
                                                const std::string& name) const {
  auto connection = std::make_unique<Connection>(std::move(socket), SSL_new(context_));
  SSL_set_connect_state(connection->tls());
  SSL_set_hostflags(connection->tls(),
                    X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  require_openssl(SSL_set1_host(connection->tls(), name.c_str()) == 1, "cannot prepare TLS");
  return connection;
}

Connection::Connection(FileDescriptor socket, ssl_st* tls) : socket_(std::move(socket)), tls_(tls) {
  auto* bio = make_bio(socket_);
  const bool usable = tls_ && bio;
  if (usable) {
    SSL_set_bio(tls_, bio, bio);  // which is its own from now on
  } else {
    BIO_free(bio);
    SSL_free(tls_);
  }
  require_openssl(usable, "cannot prepare TLS");
}

Connection::~Connection() { SSL_free(tls_); }

short Connection::events() const {
  if (!SSL_is_init_finished(tls_)) return shaking_ == Wait::read ? POLLIN : POLLOUT;
  return static_cast<short>(all_written() ? POLLIN : POLLIN | POLLOUT);
}

bool Connection::must_wait(int code) {
  const int system = errno;
  switch (SSL_get_error(tls_, code)) {
    case SSL_ERROR_WANT_READ:
      shaking_ = Wait::read;
      return true;
    case SSL_ERROR_WANT_WRITE:
      shaking_ = Wait::write;
      return true;
    case SSL_ERROR_ZERO_RETURN:
      fail(ErrorKind::network, kEnded);
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      fail(ErrorKind::network, system == 0 ? kEnded : text_of(system));
    default:
      fail(ErrorKind::network, reason_of(tls_));
  }
}

bool Connection::shake_hands() {
  ERR_clear_error();
  errno = 0;
  look_again();
  const int code = SSL_do_handshake(tls_);
  if (code != 1) return must_wait(code) && false;
  heard_ = said_ = Clock::now();
  return true;
}

bool Connection::has_answered() const { return BIO_number_written(SSL_get_wbio(tls_)) > 0; }

std::vector<std::string> Connection::names() const {
  const CertificatePtr certificate(SSL_get1_peer_certificate(tls_));
  return certificate ? agent_names(*certificate) : std::vector<std::string>();
}

void Connection::keep_buffers() {
  SSL_clear_mode(tls_, SSL_MODE_RELEASE_BUFFERS);
  SSL_set_default_read_buffer_len(tls_, kReadAtOnce);
  SSL_set_read_ahead(tls_, 1);
}

void Connection::send(LinkKind kind, std::span<const std::byte> body,
                      std::span<const std::byte> rest) {
  if (all_written()) {
    out_.clear();
    written_ = 0;
  }
  put_header(out_, kind, body.size() + rest.size());
  out_.insert(out_.end(), body.begin(), body.end());
  out_.insert(out_.end(), rest.begin(), rest.end());
}

void Connection::flush() {
  while (!all_written()) {
    socket_.more_follows = out_.size() - written_ > kPiece;
    ERR_clear_error();
    errno = 0;
    std::size_t count = 0;
    const int code = SSL_write_ex(tls_, out_.data() + written_, out_.size() - written_, &count);
    if (code != 1 && must_wait(code)) return;
    written_ += count;
    said_ = Clock::now();
  }
}

// Reads until a part of a frame has `wanted` bytes. Memory grows with what has come, not with what
// is announced: there is room for twice as much and two records.
bool Connection::read_into(Payload& part, std::size_t wanted) {
  while (part.size() < wanted) {
    const std::size_t size = part.size(), room = std::min(kPiece, wanted - size);
    if (part.capacity() < size + room) part.reserve(std::min(wanted, 2 * (size + room)));
    std::byte piece[kPiece];  // a vector would set to zero what is read over
    ERR_clear_error();
    errno = 0;
    std::size_t count = 0;
    const int code = SSL_read_ex(tls_, piece, room, &count);
    part.insert(part.end(), piece, piece + count);
    // A part of a record is a sign of life, too.
    if (const auto raw = BIO_number_read(SSL_get_rbio(tls_)); std::exchange(raw_, raw) != raw)
      heard_ = Clock::now();
    if (code != 1 && must_wait(code)) return false;
  }
  return true;
}

std::optional<LinkFrame> Connection::receive(LinkSide from, bool greeted, std::size_t max_message,
                                             const std::string& peer) {
  if (!header_) {
    if (!read_into(head_, kLinkHeader)) return std::nullopt;
    header_ = decode_link_header(head_, from, greeted, max_message, peer);
    head_.clear();
  }
  const std::size_t head =
      header_->kind == LinkKind::message ? std::min<std::size_t>(header_->length, kMessageHead) : 0;
  if (!read_into(head_, head) || !read_into(body_, header_->length - head)) return std::nullopt;
  return LinkFrame{std::exchange(header_, std::nullopt)->kind, std::exchange(head_, {}),
                   std::exchange(body_, {})};
}

void Connection::say_no_more() { ::shutdown(fd(), SHUT_WR); }

bool Connection::drain() {
  std::array<std::byte, kPiece> piece;
  for (std::size_t total = 0; total < kMaxDrained;) {
    const auto count = ::recv(fd(), piece.data(), piece.size(), 0);
    if (count == 0) return true;
    if (count < 0) return errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
    total += static_cast<std::size_t>(count);
  }
  return false;
}

}  // namespace porter
