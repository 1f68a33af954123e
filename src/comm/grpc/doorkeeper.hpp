// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace porter {

/// Accepts the connections of a gRPC server, so that those who do not prove to belong to the run
/// are known by their addresses, are few at a time, and are reported. The server itself drops a
/// connection that has not shown a certificate within the patience; a stream that then says no
/// hello is ended here.
class Doorkeeper {
 public:
  struct Options {
    std::string listen;                  ///< "0.0.0.0:7400", "[::]:7400"
    std::chrono::milliseconds patience;  ///< for a certificate, and then for a hello
    std::function<void(const std::string&)> report;
  };
  /// Listens at once. Error{network} if it cannot.
  explicit Doorkeeper(Options options);
  ~Doorkeeper();

  /// Hands connections over from now on.
  void open(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor);
  /// No more of them; the server may end.
  void close();

  /// A stream has begun: its caller has shown a certificate, and a hello is due.
  void began(grpc::ServerContext& context);
  /// The hello is here, or the stream is over. Whoever calls began calls this, too.
  void heard(const grpc::ServerContext& context);
  /// A line for the log; of many at a time most are only counted.
  void report(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;

  void work();
  void accept_one();
  bool admits(const std::string& address);
  void drop_the_silent();
  void tell();
  void note(const std::string& text);  // under the lock

  const Options options_;
  const int socket_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::mutex mutex_;
  std::map<std::string, Clock::time_point> unproven_;       // by address, since when
  std::map<grpc::ServerContext*, Clock::time_point> mute_;  // streams without a hello
  std::vector<std::string> news_;
  std::size_t untold_ = 0;  // lines beyond those in news_
  Clock::time_point told_{};
  std::atomic<bool> closed_{false};
  std::thread thread_;
};

/// gRPC and its messages print nothing from now on, in the whole program; what it says about
/// handshakes that fail is kept for the reports above. The check of lock orders that a debug build
/// of its mutexes does (Debian's) is off: it costs 3 % of an agent's time, and would end the
/// program. Error{usage} where the environment asks gRPC for a way of waiting that does not go with
/// a doorkeeper.
void prepare_grpc();

}  // namespace porter
