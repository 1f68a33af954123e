// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "../checks.hpp"
#include "../mailbox.hpp"
#include "doorkeeper.hpp"
#include "hello.hpp"
#include "link.grpc.pb.h"
#include "porter/comm/frame.hpp"
#include "porter/comm/grpc.hpp"

namespace porter {
namespace {

using namespace std::chrono_literals;
using link::v1::Down;
using link::v1::Link;
using link::v1::Up;

constexpr std::size_t kMostReasons = 4;
// To let a neighbour forget a few rounds is not worth a message of its own.
constexpr std::uint32_t kSettledAtOnce = 8;
constexpr int kEnvelope = 4096;  // room for what is not the frame
constexpr auto kFirstRetry = 50ms, kLastRetry = 2000ms;
constexpr std::chrono::milliseconds kShortPatience = 2s, kLongPatience = 10s;
constexpr auto kLastWords = 1000ms;  // for the news of an error to go out

int milliseconds(std::chrono::milliseconds time) { return static_cast<int>(time.count()); }

// How long a caller may take to show its certificate, and then to say hello.
std::chrono::milliseconds patience_of(const NetworkOptions& options) {
  return std::clamp(options.keepalive, kShortPatience, kLongPatience);
}

/// The end of the links that come in.
class Receiver final : public Link::Service {
 public:
  Receiver(const NetworkOptions& options, const Hosting& hosting, Mailbox& mailbox,
           Doorkeeper& door)
      : options_(options), hosting_(hosting), mailbox_(mailbox), door_(door) {}

  grpc::Status Open(grpc::ServerContext* context,
                    grpc::ServerReaderWriter<Down, Up>* stream) override {
    Up first;
    door_.began(*context);
    const bool speaks = stream->Read(&first);
    door_.heard(*context);
    if (!speaks) return grpc::Status::OK;
    if (auto status = examine_hello(first, caller_of(*context), options_, hosting_); !status.ok()) {
      door_.report(concat(describe(*context), " is refused: ", status.error_message()));
      return status;
    }
    const auto neighbour = first.hello().process();
    const CurrentStream current(*this, neighbour, *context);
    const auto connection = mailbox_.connected(neighbour);
    door_.report(concat(describe(*context), " is connected"));
    Down down;
    down.set_wanted_from(mailbox_.wanted_from(neighbour));
    down.set_settled(mailbox_.settled());
    grpc::Status status;
    try {
      if (stream->Write(down)) read_on(neighbour, connection, *stream);
    } catch (const Error& error) {
      mailbox_.give_up(error.kind(), error.what());
      status = {grpc::StatusCode::INVALID_ARGUMENT, error.what()};
    }
    mailbox_.lost(neighbour, connection, "its connection ended");
    if (!mailbox_.closed())
      door_.report(concat("the connection from ", options_.peers[neighbour].name, " ended"));
    return status;
  }

 private:
  /// The one stream of a neighbour; an older one is ended, so that nobody has more than a few.
  class CurrentStream {
   public:
    CurrentStream(Receiver& receiver, std::uint32_t neighbour, grpc::ServerContext& context)
        : receiver_(receiver), neighbour_(neighbour), context_(context) {
      const std::lock_guard lock(receiver_.mutex_);
      auto*& current = receiver_.streams_[neighbour_];
      if (current) current->TryCancel();
      current = &context_;
    }
    ~CurrentStream() {
      const std::lock_guard lock(receiver_.mutex_);
      auto*& current = receiver_.streams_[neighbour_];
      if (current == &context_) current = nullptr;
    }
    CurrentStream(const CurrentStream&) = delete;

   private:
    Receiver& receiver_;
    std::uint32_t neighbour_;
    grpc::ServerContext& context_;
  };

  static Caller caller_of(const grpc::ServerContext& context) {
    const auto& proof = *context.auth_context();
    Caller caller{.authenticated = proof.IsPeerAuthenticated(), .names = {}};
    for (const auto& name : proof.FindPropertyValues(GRPC_X509_SAN_PROPERTY_NAME))
      caller.names.emplace_back(name.data(), name.size());
    return caller;
  }
  // The name in the certificate, and the address.
  static std::string describe(const grpc::ServerContext& context) {
    const auto names = caller_of(context).names;
    return concat(names.empty() ? "nobody" : cited(names.back()), " (", context.peer(), ')');
  }

  void read_on(std::uint32_t neighbour, std::uint64_t connection,
               grpc::ServerReaderWriter<Down, Up>& stream) {
    Up up;
    std::uint32_t told = 0;  // the settled round that the neighbour knows
    while (stream.Read(&up) && mailbox_.is_current(neighbour, connection)) {
      Down down;
      if (up.has_message()) {
        const auto& message = up.message();
        const auto bytes = std::as_bytes(std::span(message.frame()));
        require(bytes.size() <= options_.max_message, ErrorKind::protocol,
                options_.peers[neighbour].name, " sent ", bytes.size(), " bytes; the limit is ",
                options_.max_message);
        mailbox_.deliver(neighbour, message.round(), message.sender(),
                         Payload(bytes.begin(), bytes.end()));
      } else if (up.body_case() == Up::kGaveUp) {
        mailbox_.give_up(ErrorKind::network, cited(up.gave_up()));
        down.set_heard_over(true);
      } else if (up.body_case() == Up::kFinished) {
        mailbox_.finished(neighbour);
        down.set_heard_finish(true);
      }
      const auto settled = mailbox_.settled();
      if (!down.heard_finish() && !down.heard_over() && settled < told + kSettledAtOnce) continue;
      told = settled;
      down.set_settled(settled);
      if (!stream.Write(down)) return;
    }
  }

  const NetworkOptions& options_;
  const Hosting& hosting_;
  Mailbox& mailbox_;
  Doorkeeper& door_;
  std::mutex mutex_;
  std::map<std::uint32_t, grpc::ServerContext*> streams_;  // by neighbour
};

/// A link that goes out: connects, sends, and connects again until all is over.
class Sender {
 public:
  Sender(const NetworkOptions& options, Mailbox& mailbox, std::uint32_t neighbour)
      : options_(options), mailbox_(mailbox), neighbour_(neighbour) {
    stub_ = Link::NewStub(grpc::CreateCustomChannel(peer().address, credentials(), arguments()));
    thread_ = std::thread([this] { run(); });
  }
  ~Sender() {
    {
      const std::lock_guard lock(mutex_);
      if (context_) context_->TryCancel();
    }
    thread_.join();
  }

 private:
  const Peer& peer() const { return options_.peers[neighbour_]; }

  std::shared_ptr<grpc::ChannelCredentials> credentials() const {
    return grpc::SslCredentials({.pem_root_certs = options_.identity.authority_pem,
                                 .pem_private_key = options_.identity.key_pem,
                                 .pem_cert_chain = options_.identity.certificate_pem});
  }
  grpc::ChannelArguments arguments() const {
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride(peer().name);
    arguments.SetMaxSendMessageSize(static_cast<int>(options_.max_message) + kEnvelope);
    arguments.SetMaxReceiveMessageSize(kEnvelope);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(options_.keepalive));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(options_.keepalive));
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, milliseconds(kFirstRetry));
    // How long an attempt may take, in spite of its name: handshakes cross slow links, too.
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, milliseconds(patience_of(options_)));
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, milliseconds(kLastRetry));
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    // Links of several transports in one program must not share a connection.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return arguments;
  }

  void run() {
    for (auto retry = kFirstRetry; !mailbox_.closed(); retry = std::min(2 * retry, kLastRetry)) {
      bool welcome = false;
      const auto status = connect(welcome);
      const auto why = cited(status.error_message());
      if (welcome) retry = kFirstRetry;
      if (mailbox_.closed()) return;
      mailbox_.note_failure(neighbour_, why);
      if (welcome) told_.clear();
      if (!welcome) tell(why);
      if (status.error_code() == grpc::StatusCode::FAILED_PRECONDITION ||
          status.error_code() == grpc::StatusCode::PERMISSION_DENIED)
        mailbox_.give_up(ErrorKind::protocol,
                         concat(peer().name, " refuses ", options_.identity.name, ": ", why));
      mailbox_.pause(retry);
    }
  }

  // Why the neighbour cannot be reached, once for each of the first reasons.
  void tell(const std::string& why) {
    if (told_.size() < kMostReasons && told_.insert(why).second)
      options_.report(concat(peer().name, " cannot be reached: ", why));
  }

  // One connection, from hello to its end.
  grpc::Status connect(bool& welcome) {
    grpc::ClientContext context;
    set_context(&context);
    const auto stream = stub_->Open(&context);
    Down answer;
    welcome = stream->Write(make_hello(options_)) && stream->Read(&answer);
    if (welcome) send_all(*stream, answer);
    const auto status = stream->Finish();
    set_context(nullptr);
    return status;
  }

  void send_all(grpc::ClientReaderWriter<Up, Down>& stream, const Down& answer) {
    Mailbox::Cursor cursor;
    try {
      mailbox_.begin_sending(neighbour_, answer.wanted_from(), cursor);
    } catch (const Error& error) {
      options_.report(error.what());  // it counts as away: whoever runs it may have a newer folder
      stream.WritesDone();
      return;
    }
    mailbox_.acknowledged(neighbour_, answer.settled(), false, false);
    std::thread reader([&] {
      Down down;
      while (stream.Read(&down))
        mailbox_.acknowledged(neighbour_, down.settled(), down.heard_finish(), down.heard_over());
      mailbox_.break_off(neighbour_, cursor);
    });
    while (const auto parcel = mailbox_.next(neighbour_, cursor))
      if (!stream.Write(to_wire(*parcel))) break;
    stream.WritesDone();  // the other end answers by closing, which ends the reader
    reader.join();
  }

  static Up to_wire(const Mailbox::Parcel& parcel) {
    Up up;
    switch (parcel.kind) {
      case Mailbox::Parcel::Kind::message: {
        auto& message = *up.mutable_message();
        message.set_round(parcel.round);
        message.set_sender(parcel.sender);
        message.set_frame(parcel.bytes->data(), parcel.bytes->size());
        break;
      }
      case Mailbox::Parcel::Kind::gave_up:
        up.set_gave_up(parcel.text);
        break;
      case Mailbox::Parcel::Kind::finished:
        up.set_finished(true);
        break;
    }
    return up;
  }

  // What the destructor may cancel.
  void set_context(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex_);
    context_ = context;
    if (context_ && mailbox_.closed()) context_->TryCancel();
  }

  const NetworkOptions& options_;
  Mailbox& mailbox_;
  const std::uint32_t neighbour_;
  std::unique_ptr<Link::Stub> stub_;
  std::mutex mutex_;
  grpc::ClientContext* context_ = nullptr;
  std::set<std::string> told_;  // since it was reached last
  std::thread thread_;
};

std::vector<std::string> names_of(const std::vector<Peer>& peers) {
  std::vector<std::string> names;
  for (const auto& peer : peers) names.push_back(peer.name);
  return names;
}

class GrpcTransport final : public NetworkTransport {
 public:
  GrpcTransport(const Hosting& hosting, NetworkOptions options)
      : options_(std::move(options)),
        hosting_(hosting),
        mailbox_(hosting_, options_.process, names_of(options_.peers),
                 {.start_wait = options_.start_wait,
                  .peer_wait = options_.peer_wait,
                  .resume_after = options_.resume_after,
                  .may_restart = options_.may_restart,
                  .links = options_.links,
                  .trace = options_.trace}),
        door_({.listen = options_.listen,
               .patience = patience_of(options_),
               .report = options_.report}),
        receiver_(options_, hosting_, mailbox_, door_) {
    listen();
    for (const auto neighbour : hosting_.neighbours(options_.process))
      senders_.push_back(std::make_unique<Sender>(options_, mailbox_, neighbour));
  }

  ~GrpcTransport() override {
    if (!finished_ && !abandoned_) {
      GrpcTransport::abort(kEndedEarly);
      mailbox_.wait_for_news_to_spread(kLastWords);
    }
    mailbox_.close();
    senders_.clear();
    door_.close();
    // The neighbours that finish close their links themselves. The clock is one that nobody sets.
    const auto patience = gpr_time_from_millis(finished_ ? kLastWords.count() : 0, GPR_TIMESPAN);
    server_->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), patience));
    server_->Wait();
  }

  std::uint32_t meet() override { return mailbox_.meet(); }
  void post(std::uint32_t round, std::uint32_t sender, std::span<const std::byte> bytes) override {
    require_postable(hosting_, options_.process, sender, bytes.size(), options_.max_message);
    mailbox_.post(round, sender, bytes);
  }
  std::span<const Received> collect(std::uint32_t round) override {
    return mailbox_.collect(round);
  }
  void settle(std::uint32_t round) override { mailbox_.settle(round); }
  void abandon() override { abandoned_ = true; }
  void finish() override {
    const auto away = mailbox_.finish();
    (away.empty() ? finished_ : abandoned_) = true;
    require(away.empty(), ErrorKind::network,
            "these have not said that they have finished: ", away);
  }
  void abort(const std::string& reason) noexcept override {
    mailbox_.give_up(ErrorKind::network, gave_up_text(hosting_, options_.process, reason));
  }

 private:
  void listen() {
    grpc::SslServerCredentialsOptions tls(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = options_.identity.authority_pem;
    tls.pem_key_cert_pairs = {{options_.identity.key_pem, options_.identity.certificate_pem}};
    grpc::ServerBuilder builder;
    using Door = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
    auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
        Door::FROM_FD, grpc::SslServerCredentials(tls));
    builder.RegisterService(&receiver_);
    builder.SetMaxReceiveMessageSize(static_cast<int>(options_.max_message) + kEnvelope);
    // A peer needs one stream; a second one is a peer that has come back.
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 2);
    const auto patience = milliseconds(patience_of(options_));
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, patience);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, patience);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(options_.keepalive));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(options_.keepalive));
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                               milliseconds(options_.keepalive) / 2);
    server_ = builder.BuildAndStart();
    require(server_ != nullptr, ErrorKind::network, "gRPC cannot serve on ", options_.listen);
    door_.open(std::move(acceptor));
  }

  const NetworkOptions options_;
  const Hosting hosting_;
  Mailbox mailbox_;
  Doorkeeper door_;
  Receiver receiver_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<Sender>> senders_;
  bool finished_ = false, abandoned_ = false;
};

}  // namespace

std::unique_ptr<NetworkTransport> make_network_transport(const Hosting& hosting,
                                                         NetworkOptions options) {
  require(options.peers.size() == hosting.processes() && options.process < hosting.processes(),
          ErrorKind::usage, "process ", options.process, " with ", options.peers.size(),
          " peers, but the agents are hosted by ", hosting.processes(), " processes");
  require(options.peers[options.process].name == options.identity.name, ErrorKind::usage,
          "this process is ", options.peers[options.process].name, ", but its certificate says ",
          options.identity.name);
  require(options.max_message <= (std::size_t{1} << 31) - 1 - kEnvelope, ErrorKind::usage,
          "gRPC moves messages of less than 2 GiB; ", options.max_message, " bytes are asked for");
  prepare_grpc();
  return std::make_unique<GrpcTransport>(hosting, std::move(options));
}

}  // namespace porter
