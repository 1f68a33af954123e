// SPDX-License-Identifier: Apache-2.0
// What a round costs: PORTER sends two vectors a round, C(V - Q_v) and C(X - Q_x). Prints the
// table of docs/compressors.md, counted from real payloads at the size of the paper's network.
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "porter/compress/compressor.hpp"

namespace {

constexpr std::size_t kDim = 50'890;  // 784-64-10 perceptron

std::size_t payload_bytes(const porter::Compressor& compressor, porter::Draw use) {
  porter::RngStream input(1, porter::Draw::test, 0, static_cast<std::uint32_t>(use));
  std::vector<float> x(kDim);
  for (float& value : x) value = static_cast<float>(input.normal());
  porter::Payload payload;
  compressor.encode(x, porter::RngStream(1, use, 0, 1), payload);
  return payload.size();
}

std::string text(const std::optional<double>& value) {
  if (!value) return "-";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.5g", *value);
  return buffer;
}

void print_row(const std::string& spec, bool unbiased) {
  const auto compressor = porter::make_compressor(spec, unbiased);
  const auto vector = payload_bytes(*compressor, porter::Draw::compress_v);
  const auto round = vector + payload_bytes(*compressor, porter::Draw::compress_x);
  std::printf("| %s%s | %s | %s | %zu | %zu | %zu | %zu | %.2f |\n", spec.c_str(),
              unbiased ? ", unbiased" : "", text(compressor->rho(kDim)).c_str(),
              text(compressor->omega(kDim)).c_str(), vector, 8 * vector, round, 8 * round,
              8 * static_cast<double>(vector) / kDim);
}

}  // namespace

int main() {
  std::puts(
      "| compressor | rho | omega | bytes a vector | bits a vector | bytes a round | bits a round |"
      " bits an entry |");
  std::puts("|---|---|---|---|---|---|---|---|");
  print_row("identity", false);
  for (const bool unbiased : {false, true}) print_row("random_k:0.05", unbiased);
  for (const bool unbiased : {false, true}) print_row("bernoulli:0.05", unbiased);
  for (const std::string spec : {"top_k:0.05", "qsgd:2", "qsgd:4", "qsgd:8", "qsgd:16", "gsgd:2",
                                 "gsgd:4", "gsgd:8", "gsgd:16", "sign", "natural"})
    print_row(spec, false);
}
