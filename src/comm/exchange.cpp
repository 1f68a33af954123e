// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange.hpp"

#include <algorithm>
#include <chrono>

#include "porter/core/error.hpp"

namespace porter {
namespace {

std::size_t total(std::span<const std::span<const std::byte>> vectors) {
  std::size_t bytes = 0;
  for (const auto& vector : vectors) bytes += vector.size();
  return bytes;
}

// The first frame of `bytes`, which is cut off them.
FrameView take_frame(std::span<const std::byte>& bytes, const FrameLimits& limits,
                     const std::string& peer) {
  const auto length = frame_bytes(bytes, limits, peer);
  require(length <= bytes.size(), ErrorKind::protocol, "frame from ", peer, ": ", length,
          " bytes announced, ", bytes.size(), " found");
  const auto frame = bytes.first(length);
  bytes = bytes.subspan(length);
  return decode_frame(frame, limits, peer);
}

std::vector<std::uint32_t> read_wanted(const FrameView& frame, std::size_t agents,
                                       const std::string& peer) {
  const auto bytes = frame.vectors.size() == 1 ? frame.vectors[0].size() : 0;
  require(bytes % 4 == 0 && bytes > 0 && bytes / 4 <= agents, ErrorKind::protocol, "frame from ",
          peer, ": a resync request must name 1 to ", agents, " agents, found ", bytes, " bytes");
  std::vector<std::uint32_t> wanted;
  ByteReader in(frame.vectors[0]);
  while (in.left() > 0) wanted.push_back(in.get<std::uint32_t>());
  return wanted;
}

}  // namespace

std::size_t Exchange::max_message(std::size_t dim, std::size_t agents) {
  const std::size_t request = kFrameHeaderBytes + kLengthBytes + 4 * agents;
  return 2 * frame_limits(dim, kMaxVectors).max_frame() + request;
}

Exchange::Exchange(Transport& transport, const Hosting& hosting, std::uint32_t process,
                   const ExchangeOptions& options)
    : transport_(transport),
      hosting_(hosting),
      process_(process),
      options_(options),
      limits_(frame_limits(options.dim, kMaxVectors)) {
  for (std::size_t i = options_.names.size(); i < hosting.agents(); ++i)
    options_.names.push_back(concat("agent ", i));
}

FrameHeader Exchange::header(FrameKind kind, std::uint32_t step, std::uint32_t agent,
                             std::uint64_t digest) const {
  return {kind, options_.run, agent, step, options_.encoding, digest};
}

void Exchange::post(std::uint32_t step, std::uint32_t agent, const Outgoing& message) {
  const auto start = std::chrono::steady_clock::now();
  Payload bytes, frame;
  encode_frame(header(FrameKind::update, step, agent, message.digest), message.vectors, bytes);
  if (!message.wanted.empty()) {
    const auto list = std::as_bytes(std::span(message.wanted));
    encode_frame(header(FrameKind::resync_request, step, agent, message.digest), {&list, 1}, frame);
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  }
  if (!message.dense.empty()) {
    std::vector<std::span<const std::byte>> dense;
    for (const auto& q : message.dense) dense.push_back(std::as_bytes(q));
    encode_frame(header(FrameKind::resync, step, agent, message.digest), dense, frame);
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  }
  posted_ += bytes.size();
  posted_overhead_ += bytes.size() - total(message.vectors);
  if (recorder_) recorder_(step, agent, bytes);
  transport_.post(step, agent, bytes);
  if (options_.trace) options_.trace->posted(step, start, std::chrono::steady_clock::now());
}

void Exchange::collect(std::uint32_t step, std::size_t vectors,
                       const std::function<void(const Incoming&)>& take) {
  const auto start = std::chrono::steady_clock::now();
  const auto messages = transport_.collect(step);
  const auto end = std::chrono::steady_clock::now();
  waited_ns_ += std::chrono::nanoseconds(end - start).count();
  if (options_.trace) options_.trace->waited(step, start, end);
  for (const auto& received : messages) {
    const auto message = read(step, vectors, received);
    received_ += received.bytes.size();
    received_overhead_ += received.bytes.size() - total(message.vectors);
    naming(message.sender, [&] { take(message); });
  }
  if (options_.trace) options_.trace->taken(step, std::chrono::steady_clock::now());
}

void Exchange::naming(std::uint32_t sender, const std::function<void()>& check) const try {
  check();
} catch (const Error& error) {
  fail(error.kind(), "message from ", name(sender), ": ", error.what());
}

// An update, then perhaps a request, then perhaps all of Q.
Exchange::Incoming Exchange::read(std::uint32_t step, std::size_t vectors,
                                  const Received& received) const {
  const auto& peer = name(received.sender);
  auto rest = received.bytes;
  auto update = take_frame(rest, limits_, peer);
  require_expected(update,
                   {.run = options_.run,
                    .sender = received.sender,
                    .step = step,
                    .encoding = options_.encoding,
                    .vectors = vectors},
                   peer);
  Incoming message{received.sender, update.header.digest, std::move(update.vectors), {}, {}};
  auto last = FrameKind::update;
  while (!rest.empty()) {
    auto frame = take_frame(rest, limits_, peer);
    require(frame.header.kind > last, ErrorKind::protocol, "frame from ", peer, ": kind ",
            int(frame.header.kind), " after kind ", int(last));
    last = frame.header.kind;
    require(frame.header == header(last, step, received.sender, message.digest),
            ErrorKind::protocol, "frame from ", peer, ": its header does not fit the update's");
    if (last == FrameKind::resync_request) {
      message.wanted = read_wanted(frame, hosting_.agents(), peer);
      continue;
    }
    const bool fits = frame.vectors.size() == vectors &&
                      std::ranges::all_of(frame.vectors, [&](const auto& vector) {
                        return vector.size() == 8 * options_.dim;
                      });
    require(fits, ErrorKind::protocol, "frame from ", peer, ": a resync of ", vectors,
            " vectors of ", options_.dim, " doubles expected, another shape found");
    message.dense = std::move(frame.vectors);
  }
  return message;
}

MessageBytes Exchange::bytes() const {
  return {posted_, received_, posted_overhead_, received_overhead_};
}

}  // namespace porter
