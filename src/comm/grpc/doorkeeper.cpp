// SPDX-License-Identifier: Apache-2.0
#include "doorkeeper.hpp"

#include <absl/synchronization/mutex.h>
#include <arpa/inet.h>
#if __has_include(<google/protobuf/stubs/logging.h>)
#include <google/protobuf/stubs/logging.h>
#endif
#include <grpc/support/log.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "porter/core/error.hpp"

namespace porter {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostUnproven = 256;
constexpr std::ptrdiff_t kMostUnprovenOfOne = 64;  // from one host
constexpr auto kLook = 100ms;
constexpr auto kBetweenReports = 1s;
constexpr std::size_t kLinesPerReport = 20;

int listen_on(const std::string& address) {
  const auto colon = address.rfind(':');
  require(colon != address.npos, ErrorKind::usage, "expected ADDRESS:PORT, found \"", address, '"');
  auto host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  const int code = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                 address.substr(colon + 1).c_str(), &hints, &found);
  require(code == 0, ErrorKind::network, "cannot listen on ", address, ": ", ::gai_strerror(code));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1, no = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);  // its connections inherit it
  if (found->ai_family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (::bind(fd, found->ai_addr, found->ai_addrlen) == 0 && ::listen(fd, 128) == 0) return fd;
  const int error = errno;
  ::close(fd);
  fail(ErrorKind::network, "cannot listen on ", address, ": ", std::strerror(error));
}

// As gRPC writes the address of a caller, which is how both ends of a connection are matched.
std::string address_of(const sockaddr_storage& at) {
  char text[INET6_ADDRSTRLEN] = {};
  if (at.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(at);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return concat(text, ':', ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(at);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
    ::inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text, sizeof text);
  else
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return concat(text, ':', ntohs(v6.sin6_port));
}

// "ipv4:10.0.0.7:51034" or "ipv6:%5B2001:db8::7%5D:51034" without what is around the address.
std::string plain_address(std::string peer) {
  peer.erase(0, peer.find(':') + 1);
  for (const char* mark : {"%5B", "%5D", "[", "]"})
    if (const auto at = peer.find(mark); at != peer.npos) peer.erase(at, std::strlen(mark));
  return peer;
}

std::string host_of(const std::string& address) { return address.substr(0, address.rfind(':')); }

std::mutex tls_mutex;
std::string tls_failure;  // the last one of this program

std::string take_tls_failure() {
  const std::lock_guard lock(tls_mutex);
  return std::exchange(tls_failure, {});
}

// "Handshake failed with fatal error SSL_ERROR_SSL: error:0A000086:SSL routines::certificate verify
// failed": what comes after the last colon.
void keep_tls_failure(gpr_log_func_args* args) {
  const std::string_view text = args->message;
  if (text.find("Handshake failed with") == text.npos) return;
  const std::lock_guard lock(tls_mutex);
  tls_failure = text.substr(text.rfind(':') + 1);
}

}  // namespace

void prepare_grpc() {
  const char* strategy = std::getenv("GRPC_POLL_STRATEGY");
  require(!strategy || std::string_view(strategy).starts_with("epoll"), ErrorKind::usage,
          "the environment has GRPC_POLL_STRATEGY=", strategy,
          ", with which gRPC does not serve the connections that agents accept; unset it");
  gpr_set_log_function(keep_tls_failure);
#if __has_include(<google/protobuf/stubs/logging.h>)
  // It has a line for every string from outside that is not UTF-8, as many as are sent.
  [[maybe_unused]] static const bool quiet = (google::protobuf::SetLogHandler(nullptr), true);
#endif
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

Doorkeeper::Doorkeeper(Options options)
    : options_(std::move(options)), socket_(listen_on(options_.listen)) {}

Doorkeeper::~Doorkeeper() {
  close();
  ::close(socket_);
}

void Doorkeeper::open(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor) {
  acceptor_ = std::move(acceptor);
  thread_ = std::thread([this] { work(); });
}

void Doorkeeper::close() {
  closed_ = true;
  if (!thread_.joinable()) return;
  ::shutdown(socket_, SHUT_RD);  // wakes the thread
  thread_.join();
  told_ = {};
  tell();
}

void Doorkeeper::began(grpc::ServerContext& context) {
  const std::lock_guard lock(mutex_);
  unproven_.erase(plain_address(context.peer()));
  mute_[&context] = Clock::now();
}

void Doorkeeper::heard(const grpc::ServerContext& context) {
  const std::lock_guard lock(mutex_);
  mute_.erase(const_cast<grpc::ServerContext*>(&context));
}

void Doorkeeper::report(const std::string& text) {
  const std::lock_guard lock(mutex_);
  note(text);
}

void Doorkeeper::note(const std::string& text) {
  if (std::ranges::find(news_, text) != news_.end()) return;
  if (news_.size() < kLinesPerReport)
    news_.push_back(text);
  else
    ++untold_;
}

void Doorkeeper::work() {
  while (!closed_) {
    pollfd waiting{socket_, POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(kLook.count())) > 0) accept_one();
    drop_the_silent();
    tell();
  }
}

void Doorkeeper::accept_one() {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  const int fd =
      ::accept4(socket_, reinterpret_cast<sockaddr*>(&at), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE) std::this_thread::sleep_for(kLook);
    return;
  }
  if (!admits(address_of(at))) {
    ::close(fd);
    return;
  }
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.listener_fd = socket_;
  parameters.fd = fd;
  acceptor_->HandleNewConnection(&parameters);
}

bool Doorkeeper::admits(const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto of_one = std::ranges::count_if(
      unproven_, [&](const auto& entry) { return host_of(entry.first) == host_of(address); });
  if (unproven_.size() < kMostUnproven && of_one < kMostUnprovenOfOne) {
    unproven_[address] = Clock::now();
    return true;
  }
  note(concat(address, " is turned away: ", unproven_.size(),
              " connections have not shown a certificate yet"));
  return false;
}

void Doorkeeper::drop_the_silent() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  const auto is_late = [&](const auto& entry) { return now - entry.second > options_.patience; };
  std::erase_if(unproven_, [&](const auto& entry) {
    if (!is_late(entry)) return false;
    const auto why = take_tls_failure();
    note(concat(entry.first, " is refused: it has not shown a certificate of the authority",
                why.empty() ? "" : "; TLS said last: ", why));
    return true;
  });
  std::erase_if(mute_, [&](const auto& entry) {
    if (!is_late(entry)) return false;
    note(concat(plain_address(entry.first->peer()), " is refused: it has said no hello"));
    entry.first->TryCancel();
    return true;
  });
}

void Doorkeeper::tell() {
  std::vector<std::string> lines;
  {
    const std::lock_guard lock(mutex_);
    if (news_.empty() || Clock::now() - told_ < kBetweenReports) return;
    told_ = Clock::now();
    lines = std::exchange(news_, {});
    if (untold_ > 0) lines.push_back(concat("and ", std::exchange(untold_, 0), " more like that"));
  }
  for (const auto& line : lines) options_.report(line);
}

}  // namespace porter
