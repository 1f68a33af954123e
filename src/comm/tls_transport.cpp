// SPDX-License-Identifier: Apache-2.0
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "checks.hpp"
#include "comm/tls.hpp"
#include "mailbox.hpp"
#include "tls_door.hpp"
#include "tls_links.hpp"

namespace porter {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kShortPatience = 2s, kLongPatience = 10s;
constexpr auto kLook = 50ms;  // deadlines are looked at that often
// On links that this process writes to little is said; they are looked at that often.
constexpr auto kListen = 10ms;
// Links that nobody has let work for so long are the thread's.
constexpr auto kLeftAlone = 20ms;
constexpr auto kLastWords = 1000ms;  // for the news of an error to go out
constexpr std::size_t kLongestMessage = ~std::uint32_t{0} - kMessageHead;
constexpr std::size_t kMaxPlaces = 64, kFewestPlaces = 4;

// How long a caller may take to show its certificate, and then to say hello.
std::chrono::milliseconds patience_of(const NetworkOptions& options) {
  return std::clamp(options.keepalive, kShortPatience, kLongPatience);
}

// Strangers get a quarter of the descriptors at most; files and links need theirs.
std::size_t places_at_the_door() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return std::clamp(static_cast<std::size_t>(limit.rlim_cur / 16), kFewestPlaces, kMaxPlaces);
}

std::vector<std::string> names_of(const std::vector<Peer>& peers) {
  std::vector<std::string> names;
  for (const auto& peer : peers) names.push_back(peer.name);
  return names;
}

/// Lets other threads wake one that polls.
class Bell {
 public:
  Bell() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    require(event_.get() >= 0, ErrorKind::network, "cannot make an eventfd");
  }
  int fd() const { return event_.get(); }
  bool rung() const { return rung_; }
  void ring() {
    if (rung_.exchange(true)) return;
    [[maybe_unused]] const auto written = ::eventfd_write(event_.get(), 1);
  }
  void hush() {
    eventfd_t count = 0;
    [[maybe_unused]] const auto read = ::eventfd_read(event_.get(), &count);
    rung_ = false;
  }

 private:
  const FileDescriptor event_;
  std::atomic<bool> rung_{false};
};

/// All connections of a process work in one thread at a time: in that which has posted messages or
/// waits for them, or, while it computes for long, in one of their own. So nobody is woken up for
/// what the thread of the rounds does on its way.
class TlsTransport final : public NetworkTransport {
 public:
  TlsTransport(const Hosting& hosting, NetworkOptions options)
      : options_(std::move(options)),
        hosting_(hosting),
        neighbours_(hosting_.neighbours(options_.process)),
        tls_(options_.identity),
        mailbox_(hosting_, options_.process, names_of(options_.peers),
                 {.start_wait = options_.start_wait,
                  .peer_wait = options_.peer_wait,
                  .round_wait = options_.round_wait,
                  .resume_after = options_.resume_after,
                  .forgotten = options_.forgotten,
                  .may_restart = options_.may_restart,
                  .most_unsettled = options_.most_unsettled,
                  .links = options_.links,
                  .trace = options_.trace,
                  .wake = [this] { bell_.ring(); },
                  .drive = [this](auto until) { drive(until); },
                  .report = options_.report}),
        door_(tls_, {.listen = options_.listen,
                     .patience = patience_of(options_),
                     .places = places_at_the_door(),
                     .refusal = [this](const auto& names) { return refusal_of_name(names); },
                     .report = options_.report}),
        hub_{.options = options_,
             .tls = tls_,
             .mailbox = mailbox_,
             .patience = patience_of(options_),
             .ping_period = std::min(options_.keepalive / 2, options_.round_wait / 4),
             .silence = 2 * options_.keepalive,
             .found_host = [this](const std::string& host) { door_.expect(host); }} {
    for (const auto neighbour : neighbours_) outgoing_.emplace_back(hub_, neighbour);
    thread_ = std::thread([this] { run(); });
  }

  ~TlsTransport() override {
    if (!finished_ && !abandoned_) {
      TlsTransport::abort(kEndedEarly);
      mailbox_.wait_for_news_to_spread(kLastWords);
    }
    over_ = true;
    leave_alone();
    thread_.join();
  }

  std::uint32_t meet() override {
    leave_alone();
    return mailbox_.meet();
  }
  void post(std::uint32_t step, std::uint32_t sender, std::span<const std::byte> bytes) override {
    require_postable(hosting_, options_.process, sender, bytes.size(), options_.max_message);
    mailbox_.post(step, sender, bytes);
    send_all();
  }
  std::span<const Received> collect(std::uint32_t step) override { return mailbox_.collect(step); }
  void settle(std::uint32_t step) override { mailbox_.settle(step); }
  void abandon() override { abandoned_ = true; }
  void finish() override {
    leave_alone();
    const auto away = mailbox_.finish();
    (away.empty() ? finished_ : abandoned_) = true;
    require(away.empty(), ErrorKind::network,
            "these have not said that they have finished: ", away);
  }
  void abort(const std::string& reason) noexcept override {
    leave_alone();
    mailbox_.give_up(ErrorKind::network, options_.identity.name + " gave up: " + reason,
                     options_.process, reason);
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// At most two connections of a neighbour: the one that is used, and a newer one that has not
  /// said hello yet.
  struct Incoming {
    std::unique_ptr<IncomingLink> current, next;
  };

  std::optional<std::uint32_t> neighbour_of(const std::vector<std::string>& names) const {
    const auto at = std::ranges::find_if(
        neighbours_, [&](auto p) { return names == std::vector{options_.peers[p].name}; });
    return at == neighbours_.end() ? std::nullopt : std::optional(*at);
  }
  std::string refusal_of_name(const std::vector<std::string>& names) const {
    return neighbour_of(names) ? "" : "no neighbour of " + options_.identity.name;
  }

  void run() {
    while (!over_) {
      if (left_alone()) {
        const std::lock_guard lock(turns_);
        if (left_alone()) turn(kLook, true);
      } else {
        await_bell();
      }
    }
    door_.tell(true);
  }

  // Of the thread, while others let the links work.
  void await_bell() {
    pollfd poll{bell_.fd(), POLLIN, 0};
    ::poll(&poll, 1, static_cast<int>(kLeftAlone.count()));
    if (poll.revents == 0) return;
    const std::lock_guard lock(turns_);
    if (bell_.rung()) turn(0ms, true);
  }

  bool left_alone() const {
    return drivers_ == 0 && Clock::now().time_since_epoch().count() > left_alone_at_;
  }
  /// From now on; the thread is told.
  void leave_alone() noexcept {
    left_alone_at_ = 0;
    bell_.ring();
  }
  void stay() { left_alone_at_ = (Clock::now() + kLeftAlone).time_since_epoch().count(); }

  // Sends what was posted, as far as that is possible at once.
  void send_all() {
    const std::unique_lock lock(turns_, std::try_to_lock);
    if (!lock) return bell_.ring();
    stay();
    bool sent = true;
    for (auto& link : outgoing_) {
      link.work();
      sent &= link.has_sent_all();
    }
    if (!sent) leave_alone();
  }

  // Called by who waits for messages.
  void drive(Clock::time_point until) {
    ++drivers_;
    std::unique_lock lock(turns_, std::try_to_lock);
    if (!lock) {
      bell_.ring();  // the thread may be waiting
      lock.lock();
    }
    stay();
    --drivers_;
    const auto now = Clock::now();
    const bool everywhere = now - listened_ >= kListen;
    const std::chrono::milliseconds longest = everywhere ? kLook : kListen;
    turn(std::clamp(std::chrono::ceil<std::chrono::milliseconds>(until - now), 0ms, longest),
         everywhere);
    stay();
  }

  // Waits for something to do, no longer than that, and does it; everywhere, or not on links that
  // only listen.
  void turn(std::chrono::milliseconds longest, bool everywhere) {
    const bool all = wait(longest, everywhere);
    for (auto& guest : door_.work()) receive(std::move(guest));
    for (auto& [neighbour, links] : incoming_)
      if (all || has_work(links.current.get()) || has_work(links.next.get()))
        work(neighbour, links);
    for (auto& link : outgoing_)
      if (all || has_work(link)) link.work();
  }

  static bool has_work(IncomingLink* link) {
    return link && (link->has_more() || link->connection().ready != 0);
  }
  static bool has_work(OutgoingLink& link) {
    return link.has_more() || (link.connection() && link.connection()->ready != 0);
  }

  // Whether all links are to work, and not only those of which poll knows something: the mailbox
  // has news, or deadlines are to be looked at.
  bool wait(std::chrono::milliseconds longest, bool everywhere) {
    polls_.clear();
    watched_.clear();
    bool busy = false;
    if (everywhere) listened_ = Clock::now();
    polls_.push_back({bell_.fd(), POLLIN, 0});
    const auto watch = [&](Connection& connection, short events) {
      polls_.push_back({connection.fd(), events, 0});
      watched_.push_back(&connection);
    };
    for (auto& [neighbour, links] : incoming_)
      for (auto* link : {links.current.get(), links.next.get()})
        if (link) {
          watch(link->connection(), link->events());
          busy |= has_work(link);
        }
    for (auto& link : outgoing_)
      if (auto* connection = link.connection()) {
        busy |= has_work(link);
        if (everywhere || !link.only_listens()) watch(*connection, connection->events());
      }
    const auto first_of_door = polls_.size();
    door_.watch(polls_);
    if (::poll(polls_.data(), polls_.size(), busy ? 0 : static_cast<int>(longest.count())) < 0)
      for (auto& poll : polls_) poll.revents = 0;
    const bool rung = polls_[0].revents != 0;
    if (rung) bell_.hush();
    for (std::size_t i = 0; i < watched_.size(); ++i)
      watched_[i]->ready = static_cast<short>(watched_[i]->ready | polls_[1 + i].revents);
    door_.look(polls_, first_of_door);
    const auto now = Clock::now();
    if (!rung && now - looked_ < kLook) return false;
    looked_ = now;
    return true;
  }

  void receive(Door::Guest guest) {
    const auto neighbour = neighbour_of(guest.names);
    if (!neighbour) return;
    auto link = std::make_unique<IncomingLink>(hub_, *neighbour, std::move(guest.connection),
                                               guest.address);
    incoming_[*neighbour].next = std::move(link);
  }

  void work(std::uint32_t neighbour, Incoming& links) {
    const auto& name = options_.peers[neighbour].name;
    std::string why;
    if (auto& next = links.next) {
      why = end_of(*next);
      if (next->greeted()) {
        door_.report(next->description() + " is connected");
        links.current = std::move(next);
      } else if (!next->refusal().empty()) {
        door_.turn_away(next->take_connection(), next->address(), name, next->refusal());
        next.reset();
      } else if (!why.empty()) {
        door_.report(concat(next->description(), " is refused: ", why));
        next.reset();
        why.clear();
      }
    }
    if (links.current && why.empty()) why = end_of(*links.current);
    if (why.empty()) return;
    links.current.reset();
    mailbox_.lost(neighbour);
    door_.report(concat("the connection from ", name, " ended: ", why));
  }

  // Lets the link work; why that was the end of it, if it was.
  static std::string end_of(IncomingLink& link) {
    try {
      link.work();
      return {};
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  const NetworkOptions options_;
  const Hosting hosting_;
  const std::vector<std::uint32_t> neighbours_;
  Bell bell_;
  const TlsContext tls_;
  Mailbox mailbox_;
  Door door_;
  LinkHub hub_;
  std::map<std::uint32_t, Incoming> incoming_;
  std::deque<OutgoingLink> outgoing_;
  std::vector<pollfd> polls_;
  std::vector<Connection*> watched_;
  Clock::time_point looked_{};    // when all links worked last
  Clock::time_point listened_{};  // when all were polled last
  bool finished_ = false, abandoned_ = false;
  std::atomic<bool> over_{false};
  std::mutex turns_;             // who lets links work: guards all of them, the door and the polls
  std::atomic<int> drivers_{0};  // who are waiting for their turn
  std::atomic<Clock::rep> left_alone_at_{0};  // unless somebody comes before
  std::thread thread_;
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
  require(options.max_message <= kLongestMessage, ErrorKind::usage,
          "messages have less than 4 GiB; ", options.max_message, " bytes are asked for");
  require(encode_hello(hello_of(options)).size() <= kLongestHello, ErrorKind::usage,
          "what neighbours must agree on has more than ", kLongestHello, " bytes");
  return std::make_unique<TlsTransport>(hosting, std::move(options));
}

}  // namespace porter
