// SPDX-License-Identifier: Apache-2.0
// The hello on a link, from somebody with the certificate of a neighbour: only that of the
// neighbour which the certificate names, with the facts of this run, is let in, and what the others
// are told is one short line.
#include <cstdlib>

#include "comm/frame.hpp"
#include "comm/tls_wire.hpp"
#include "fuzz.hpp"

namespace {

using namespace porter;

NetworkOptions options_of(std::uint32_t process) {
  NetworkOptions options;
  options.process = process;
  options.peers = {{"agent-0", ""}, {"agent-1", ""}, {"agent-2", ""}};
  options.identity.name = options.peers[process].name;
  options.facts = {{"graph", "path"}, {"model", "mlp"}};
  return options;
}

std::string bytes_of(const NetworkOptions& options) {
  const auto bytes = encode_hello(hello_of(options));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  auto other_run = options_of(2);
  other_run.facts["model"] = "logistic";
  auto longer = options_of(2);
  longer.facts["extra"] = "";
  return {bytes_of(options_of(2)), bytes_of(options_of(0)), bytes_of(other_run), bytes_of(longer)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Hello hello;
  try {
    hello = decode_hello(std::as_bytes(std::span(data, size)), "agent-2");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::protocol) std::abort();
    if (std::string(error.what()).find("agent-2 sent") != 0) std::abort();
    return 0;
  }
  const auto why = refusal_of(hello, 2, options_of(1));
  const bool belongs = hello.process == 2 && hello.protocol == kProtocolVersion &&
                       hello.facts == options_of(1).facts;
  if (why.has_value() == belongs) std::abort();
  if (why && (why->empty() || why->size() > kMaxSaid)) std::abort();
  if (why && why->find_first_of("\n\r\x1b") != why->npos) std::abort();
  // What is decoded reads back as the same.
  const auto again = encode_hello(hello);
  if (decode_hello(again, "agent-2").facts != hello.facts) std::abort();
  return 0;
}
