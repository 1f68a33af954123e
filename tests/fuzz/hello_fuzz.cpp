// SPDX-License-Identifier: Apache-2.0
// The first message on a link, from somebody with a certificate of the run: only the hello of the
// neighbour that the certificate names, with the facts of this run, is let in, and what the others
// are told is one short line.
#include "comm/grpc/hello.hpp"

#include <algorithm>
#include <cstdlib>

#include "comm/grpc/doorkeeper.hpp"
#include "fuzz.hpp"
#include "porter/comm/frame.hpp"

namespace {

using namespace porter;

// A path of three: 0 and 2 are neighbours of 1.
const Hosting kHosting({0, 1, 2}, {{1}, {0, 2}, {1}});

NetworkOptions options_of(std::uint32_t process) {
  NetworkOptions options;
  options.process = process;
  options.peers = {{"agent-0", ""}, {"agent-1", ""}, {"agent-2", ""}};
  options.identity.name = options.peers[process].name;
  options.facts = {{"graph", "path"}, {"model", "mlp"}};
  return options;
}

std::string bytes_of(const link::v1::Up& up) { return up.SerializeAsString(); }

bool has_the_facts(const link::v1::Hello& hello) {
  const auto facts = options_of(1).facts;
  return hello.facts().size() == facts.size() && std::ranges::all_of(facts, [&](const auto& fact) {
           const auto found = hello.facts().find(fact.first);
           return found != hello.facts().end() && found->second == fact.second;
         });
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  auto other_run = options_of(2);
  other_run.facts["model"] = "logistic";
  auto longer = options_of(2);
  longer.facts["extra"] = "";
  link::v1::Up message, gave_up;
  message.mutable_message()->set_frame("frame");
  gave_up.set_gave_up("a reason");
  return {bytes_of(make_hello(options_of(2))),
          bytes_of(make_hello(options_of(0))),
          bytes_of(make_hello(other_run)),
          bytes_of(make_hello(longer)),
          bytes_of(message),
          bytes_of(gave_up)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  [[maybe_unused]] static const bool quiet = (prepare_grpc(), true);
  link::v1::Up first;
  if (!first.ParseFromArray(data, static_cast<int>(size))) return 0;
  const Caller caller{.authenticated = true, .names = {"agent-2"}};
  const auto status = examine_hello(first, caller, options_of(1), kHosting);
  const auto& hello = first.hello();
  const bool belongs = first.has_hello() && hello.process() == 2 &&
                       hello.protocol() == kProtocolVersion && has_the_facts(hello);
  if (status.ok() != belongs) std::abort();
  const auto& told = status.error_message();
  if (told.size() > 1100 || told.find_first_of("\n\r\x1b") != told.npos) std::abort();
  return 0;
}
