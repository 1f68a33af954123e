// SPDX-License-Identifier: Apache-2.0
// A message of frames from a stranger, as an algorithm gets it: refused, or taken with all its
// spans inside the input.
#include "comm/exchange.hpp"

#include <cstdlib>
#include <cstring>

#include "fuzz.hpp"
#include "porter/core/error.hpp"

namespace {

using namespace porter;

constexpr std::size_t kDim = 3;
const Hosting kHosting({0, 1}, {{1}, {0}});
const ExchangeOptions kOptions{.run = {}, .encoding = 5, .dim = kDim};

/// Keeps what is posted, and gives back what it was given.
class Replay final : public Transport {
 public:
  void post(std::uint32_t, std::uint32_t, std::span<const std::byte> bytes) override {
    bytes_.assign(bytes.begin(), bytes.end());
  }
  std::span<const Received> collect(std::uint32_t) override {
    received_ = {1, bytes_};
    return {&received_, 1};
  }
  void finish() override {}
  void abort(const std::string&) noexcept override {}
  Payload bytes_;

 private:
  Received received_{};
};

// What agent 1 would send in step 2.
std::string message(bool asks, bool answers) {
  Replay transport;
  Exchange exchange(transport, kHosting, 1, kOptions);
  const Payload v(9), x(4);
  const std::span<const std::byte> vectors[] = {v, x};
  const std::vector<double> q(kDim, 0.5);
  const std::span<const double> dense[] = {q, q};
  Exchange::Outgoing out{.vectors = vectors, .digest = 7};
  if (asks) out.wanted = {0};
  if (answers) out.dense = dense;
  exchange.post(2, 1, out);
  return {reinterpret_cast<const char*>(transport.bytes_.data()), transport.bytes_.size()};
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  return {message(false, false), message(true, false), message(false, true), message(true, true)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Replay transport;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  transport.bytes_.assign(first, first + size);
  Exchange exchange(transport, kHosting, 0, kOptions);
  try {
    exchange.collect(2, 2, [&](const Exchange::Incoming& taken) {
      std::size_t inside = 0;
      for (const auto& vector : taken.vectors) inside += vector.size();
      for (const auto& vector : taken.dense) inside += vector.size();
      if (inside > size || taken.wanted.size() > 2) std::abort();
    });
  } catch (const Error&) {
  }
  return 0;
}
