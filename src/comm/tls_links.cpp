// SPDX-License-Identifier: Apache-2.0
#include "tls_links.hpp"

#include <netdb.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "porter/core/error.hpp"

namespace porter {
namespace {

using namespace std::chrono_literals;

constexpr int kFramesAtOnce = 64;  // of one link, then the others have their turn
// To let a neighbour forget a few rounds is not worth a message of its own.
constexpr std::uint32_t kSettledAtOnce = 8;
constexpr auto kFirstRetry = 50ms, kLastRetry = 2000ms;
constexpr std::size_t kMaxReasons = 4;

std::array<std::byte, 4> bytes_of(std::uint32_t value) {
  return std::bit_cast<std::array<std::byte, 4>>(value);
}

// Says something from time to time, and hears whether the other end does.
void keep_alive(const LinkHub& hub, std::uint32_t neighbour, Connection& connection) {
  const auto now = Connection::Clock::now();
  require(now - connection.heard() < hub.silence, ErrorKind::network, "it is silent");
  if (now - connection.said() < hub.ping_period || !connection.all_written()) return;
  const std::byte waits{hub.mailbox.waits_for_others_than(neighbour)};
  connection.send(LinkKind::ping, {&waits, 1});
}

// A neighbour says that the run is over, for itself or for somebody else.
void hear_of_end(const LinkHub& hub, std::uint32_t neighbour, const Payload& body) {
  const auto& name = hub.name_of(neighbour);
  const auto news = decode_gave_up(body, hub.options.peers.size(), name);
  const bool own = news.origin == neighbour;
  hub.mailbox.give_up(ErrorKind::network,
                      concat(hub.name_of(news.origin), " gave up: ", news.reason,
                             own ? "" : concat(" (says ", name, ')')),
                      news.origin, news.reason);
}

}  // namespace

IncomingLink::IncomingLink(LinkHub& hub, std::uint32_t neighbour,
                           std::unique_ptr<Connection> connection, std::string address)
    : hub_(hub),
      neighbour_(neighbour),
      connection_(std::move(connection)),
      address_(std::move(address)) {
  connection_->ready = POLLIN;  // a hello may have come with the end of the handshake
}

std::string IncomingLink::description() const {
  return concat(hub_.name_of(neighbour_), " (", address_, ')');
}

short IncomingLink::events() const {
  const auto events = connection_->events();
  return static_cast<short>(stalled_ ? events & ~POLLIN : events);
}

void IncomingLink::work() {
  const auto ready = std::exchange(connection_->ready, short{0});
  bool go_on = ready != 0 || has_more_;
  if (stalled_) {
    require((ready & (POLLERR | POLLHUP)) == 0, ErrorKind::network, "it ended the connection");
    connection_->excuse();
    go_on = deliver(*stalled_);
    if (go_on) stalled_.reset();
  }
  if (go_on) read();
  if (!refusal_.empty()) return;
  if (!greeted_) {
    require(Clock::now() - since_ < hub_.patience, ErrorKind::protocol, "it has said no hello");
    return;
  }
  if (const auto over = said_over_ ? std::nullopt : hub_.mailbox.over()) {
    said_over_ = true;
    connection_->send(LinkKind::gave_up, encode_gave_up({over->sender, over->text}));
  }
  keep_alive(hub_, neighbour_, *connection_);
  connection_->flush();
}

void IncomingLink::read() {
  has_more_ = false;
  connection_->look_again();
  for (int i = 0; i < kFramesAtOnce; ++i) {
    auto frame = connection_->receive(LinkSide::opener, greeted_, hub_.options.max_message,
                                      hub_.name_of(neighbour_));
    if (!frame || !take(*frame)) return;
  }
  has_more_ = true;
}

// False if no more is to be read now.
bool IncomingLink::take(LinkFrame& frame) {
  const auto& name = hub_.name_of(neighbour_);
  switch (frame.kind) {
    case LinkKind::hello:
      greet(decode_hello(frame.body, name));
      return refusal_.empty();
    case LinkKind::message: {
      Stalled message{decode_message_head(frame.head, name), std::move(frame.body)};
      if (!deliver(message)) {
        stalled_ = std::move(message);
        return false;
      }
      acknowledge();
      return true;
    }
    case LinkKind::gave_up:
      hear_of_end(hub_, neighbour_, frame.body);
      said_over_ = true;  // it knows
      answer_once(said_heard_over_, LinkKind::heard_over);
      return true;
    case LinkKind::heard_over:
      hub_.mailbox.heard_over(neighbour_);
      return true;
    case LinkKind::finished:
      hub_.mailbox.finished(neighbour_);
      answer_once(said_heard_finish_, LinkKind::heard_finish);
      return true;
    case LinkKind::ping:
      hub_.mailbox.says_it_waits(neighbour_, decode_ping(frame.body, name));
      return true;
    default:
      return true;  // the header was refused already
  }
}

// However often it is said: what is to be written stays short if the other end does not read it.
void IncomingLink::answer_once(bool& answered, LinkKind kind) {
  if (!std::exchange(answered, true)) connection_->send(kind);
}

void IncomingLink::greet(const Hello& hello) {
  refusal_ = refusal_of(hello, neighbour_, hub_.options).value_or("");
  if (!refusal_.empty()) return;
  greeted_ = true;
  connection_->keep_buffers();
  hub_.mailbox.connected(neighbour_);
  told_ = hub_.mailbox.settled();
  Welcome welcome{hub_.mailbox.wanted_from(neighbour_), told_, hub_.options.seen};
  if (hub_.options.keys) welcome.key = hub_.options.keys->own(neighbour_);
  connection_->send(LinkKind::welcome, encode_welcome(welcome));
}

bool IncomingLink::deliver(Stalled& message) {
  try {
    return hub_.mailbox.deliver(neighbour_, message.head.step, message.head.sender, message.bytes);
  } catch (const Error& error) {
    hub_.mailbox.give_up(error);
    throw;
  }
}

void IncomingLink::acknowledge() {
  const auto settled = hub_.mailbox.settled();
  if (settled < told_ + kSettledAtOnce || !connection_->all_written()) return;
  told_ = settled;
  connection_->send(LinkKind::settled, bytes_of(settled));
}

OutgoingLink::OutgoingLink(LinkHub& hub, std::uint32_t neighbour)
    : hub_(hub), neighbour_(neighbour), peer_(hub.options.peers[neighbour]), retry_(kFirstRetry) {}

void OutgoingLink::work() {
  try {
    advance();
  } catch (const std::exception& error) {
    fail_over(error.what());
  }
}

void OutgoingLink::advance() {
  const auto late = [&] { return Clock::now() - since_ > hub_.patience; };
  const bool ready = connection_ && std::exchange(connection_->ready, short{0}) != 0;
  switch (state_) {
    case State::idle:
      if (Clock::now() >= since_) begin();
      return;
    case State::looking_up:
      if (lookup_.wait_for(0s) != std::future_status::ready) return;
      addresses_ = lookup_.get();
      address_ = addresses_.get();
      try_address();
      return;
    case State::shaking:
      require(!late(), ErrorKind::network, "no answer");
      if (!ready || !connection_->shake_hands()) return;
      connection_->send(LinkKind::hello, encode_hello(hello_of(hub_.options)));
      connection_->flush();
      state_ = State::greeting;
      since_ = Clock::now();
      return;
    case State::greeting:
      require(!late(), ErrorKind::network, "no answer to the hello");
      if (ready) read();
      break;
    case State::open:
      if (ready || has_more_) read();
      send_all();
      keep_alive(hub_, neighbour_, *connection_);
      break;
  }
  connection_->flush();
}

void OutgoingLink::begin() {
  refusal_.clear();
  other_stage_.reset();
  const auto address = parse_address(peer_.address);
  addresses_ = look_up(address, true);
  if (!addresses_) {  // a name: to ask for it may take long
    std::packaged_task<AddressList()> ask([address] { return look_up(address, false); });
    lookup_ = ask.get_future();
    std::thread(std::move(ask)).detach();  // nobody waits for a resolver at the end
    state_ = State::looking_up;
    return;
  }
  address_ = addresses_.get();
  try_address();
}

void OutgoingLink::try_address() {
  hub_.found_host(host_of(*address_));
  state_ = State::shaking;
  since_ = Clock::now();
  connection_ = hub_.tls.connect(connect_to(*address_), peer_.name);
  connection_->ready = POLLOUT;
}

void OutgoingLink::read() {
  has_more_ = false;
  connection_->look_again();
  for (int i = 0; i < kFramesAtOnce; ++i) {
    const auto frame = connection_->receive(LinkSide::taker, state_ == State::open,
                                            hub_.options.max_message, peer_.name);
    if (!frame) return;
    take(*frame);
  }
  has_more_ = true;
}

void OutgoingLink::take(const LinkFrame& frame) {
  auto& mailbox = hub_.mailbox;
  switch (frame.kind) {
    case LinkKind::welcome: {
      const auto welcome = decode_welcome(frame.body, hub_.options.keys != nullptr, peer_.name);
      if (welcome.key) hub_.options.keys->take(neighbour_, *welcome.key);
      // One that wants what it said was safe counts as away: there may be a newer folder of it.
      mailbox.begin_sending(neighbour_, welcome.wanted_from, cursor_, welcome.seen);
      state_ = State::open;
      connection_->keep_buffers();
      retry_ = kFirstRetry;
      said_heard_over_ = false;
      told_.clear();
      mailbox.acknowledged(neighbour_, welcome.settled);
      send_all();
      return;
    }
    case LinkKind::refusal:
      refusal_ = concat(peer_.name, " refuses ", hub_.here(), ": ", cited(frame.body));
      if (!hub_.options.family.empty()) other_stage_ = stage_in(cited(frame.body));
      fail(ErrorKind::network, "refused");
    case LinkKind::settled:
      return mailbox.acknowledged(neighbour_, decode_settled(frame.body, peer_.name));
    case LinkKind::gave_up:
      hear_of_end(hub_, neighbour_, frame.body);
      if (!std::exchange(said_heard_over_, true)) connection_->send(LinkKind::heard_over);
      return;
    case LinkKind::heard_over:
      return mailbox.heard_over(neighbour_);
    case LinkKind::heard_finish:
      return mailbox.heard_finish(neighbour_);
    case LinkKind::ping:
      return mailbox.says_it_waits(neighbour_, decode_ping(frame.body, peer_.name));
    default:
      return;  // the header was refused already
  }
}

// One message at a time is copied and encrypted; the others stay with the mailbox.
void OutgoingLink::send_all() {
  for (connection_->flush(); connection_->all_written(); connection_->flush()) {
    const auto parcel = hub_.mailbox.next(neighbour_, cursor_);
    if (!parcel) return;
    switch (parcel->kind) {
      case Mailbox::Parcel::Kind::message: {
        std::array<std::byte, kMessageHead> head;
        std::ranges::copy(bytes_of(parcel->step), head.begin());
        std::ranges::copy(bytes_of(parcel->sender), head.begin() + 4);
        connection_->send(LinkKind::message, head, *parcel->bytes);
        break;
      }
      case Mailbox::Parcel::Kind::gave_up:
        connection_->send(LinkKind::gave_up, encode_gave_up({parcel->sender, parcel->text}));
        break;
      case Mailbox::Parcel::Kind::finished:
        connection_->send(LinkKind::finished);
        break;
    }
  }
}

// What went wrong on the way; a name may have several addresses.
void OutgoingLink::fail_over(const std::string& why) {
  if (state_ == State::shaking && address_ && address_->ai_next) {
    address_ = address_->ai_next;
    try {
      return try_address();
    } catch (const std::exception& error) {
      return fail_over(error.what());
    }
  }
  close(why);
}

void OutgoingLink::close(const std::string& why) {
  const bool was_open = state_ == State::open;
  connection_.reset();
  address_ = nullptr;
  addresses_.reset();
  has_more_ = false;
  state_ = State::idle;
  since_ = Clock::now() + retry_;
  retry_ = std::min<std::chrono::milliseconds>(2 * retry_, kLastRetry);
  const auto text =
      concat(hub_.here(), " cannot reach ", peer_.name, " at ", cited(peer_.address), ": ", why);
  if (other_stage_ && *other_stage_ > hub_.options.stage) {
    hub_.mailbox.gone_on(neighbour_);
  } else if (other_stage_) {
    hub_.mailbox.unreached(neighbour_, refusal_);
  } else if (!refusal_.empty()) {
    hub_.mailbox.refused(neighbour_, refusal_);
    tell(refusal_);
  } else {
    hub_.mailbox.unreached(neighbour_, text);
    if (!was_open) tell(text);
  }
}

// Why the neighbour cannot be reached, once for each of the first reasons.
void OutgoingLink::tell(const std::string& text) {
  if (told_.size() < kMaxReasons && told_.insert(text).second) hub_.options.report(text);
}

}  // namespace porter
