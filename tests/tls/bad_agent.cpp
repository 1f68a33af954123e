// SPDX-License-Identifier: Apache-2.0
// bad_agent FAULT FOLDER CONFIG: an agent that takes part like any other until its tenth round, in
// which its message is corrupted, truncated, replayed, reordered or oversized, or is a good one of
// values that are huge, the largest floats (largest), infinite (endless) or no numbers (undefined),
// or from which on it is connected and sends nothing (silent); or one that is not whom it says
// (impostor) or shows a certificate that is out of date (expired: expired.crt beside its own).
// Called by faults.py and strangers.py.
#include <cstdio>
#include <limits>
#include <map>

#include "comm/frame.hpp"
#include "comm/tls.hpp"
#include "io/file.hpp"
#include "porter/agent/agent.hpp"
#include "porter/core/error.hpp"

namespace {

using namespace porter;

constexpr std::uint32_t kRound = 10;

const std::map<std::string, float> kLies = {{"huge", 1e30F},
                                            {"largest", std::numeric_limits<float>::max()},
                                            {"endless", std::numeric_limits<float>::infinity()},
                                            {"undefined", std::numeric_limits<float>::quiet_NaN()}};

/// A message of random_k with this as each of its floats: all checksums fit.
Payload with_floats(float value, std::span<const std::byte> message, std::size_t limit) {
  const auto frame = decode_frame(message, {.max_payload = limit}, "the bad agent");
  std::vector<Payload> payloads;
  for (const auto& vector : frame.vectors) {
    auto& payload = payloads.emplace_back();
    for (auto left = vector.size() / sizeof value - 1; left > 0; --left) put(payload, value);
    put(payload, crc32(payload));
  }
  const std::vector<std::span<const std::byte>> vectors(payloads.begin(), payloads.end());
  Payload lie;
  encode_frame(frame.header, vectors, lie);
  return lie;
}

/// A transport whose message of one round is not what it must be.
class BadTransport final : public NetworkTransport {
 public:
  BadTransport(std::unique_ptr<NetworkTransport> inner, std::string fault, std::size_t limit)
      : inner_(std::move(inner)), fault_(std::move(fault)), limit_(limit) {}

  std::uint32_t meet() override { return inner_->meet(); }
  void post(std::uint32_t round, std::uint32_t sender, std::span<const std::byte> bytes) override {
    if (fault_ == "silent" && round >= kRound) return;
    Payload message(bytes.begin(), bytes.end());
    if (round == kRound) {
      if (fault_ == "corrupted") message[message.size() / 2] ^= std::byte{1};
      if (fault_ == "truncated") message.resize(message.size() - 3);
      if (fault_ == "replayed") message = last_;
      if (fault_ == "oversized") message.resize(limit_ + 100'000);
      if (fault_ == "reordered") ++round;
      if (const auto lie = kLies.find(fault_); lie != kLies.end())
        message = with_floats(lie->second, message, limit_);
    }
    last_ = message;
    inner_->post(round, sender, message);
  }
  std::span<const Received> collect(std::uint32_t round) override { return inner_->collect(round); }
  void finish() override { inner_->finish(); }
  void abort(const std::string& reason) noexcept override { inner_->abort(reason); }
  void settle(std::uint32_t round) override { inner_->settle(round); }
  void abandon() override { inner_->abandon(); }

 private:
  std::unique_ptr<NetworkTransport> inner_;
  std::string fault_;
  std::size_t limit_;
  Payload last_;
};

std::unique_ptr<NetworkTransport> connect(const std::string& fault, const AgentOptions& agent,
                                          const Hosting& hosting, NetworkOptions options) {
  const auto limit = options.max_message;
  options.max_message = 2 * limit + 1'000'000;
  if (fault == "impostor") {
    // Its own good certificate, and the number of agent 1.
    std::swap(options.peers[1].name, options.peers[options.process].name);
    options.process = 1;
  }
  if (fault == "expired")
    options.identity.certificate_pem = read_file(agent.certificate.parent_path() / "expired.crt");
  return std::make_unique<BadTransport>(make_network_transport(hosting, options), fault, limit);
}

}  // namespace

int main(int, char** argv) {
  try {
    const std::string fault = argv[1];
    const auto options = load_agent_options(argv[3], {}, true);
    run_agent(options, argv[2], {.connect = [&](const Hosting& hosting, NetworkOptions network) {
                return connect(fault, options, hosting, std::move(network));
              }});
    return 0;
  } catch (const Error& error) {
    std::printf("error: %s\n", error.what());
    return 1;
  }
}
