// SPDX-License-Identifier: Apache-2.0
#include "hello.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "porter/comm/frame.hpp"
#include "porter/core/error.hpp"
#include "porter/core/text.hpp"

namespace porter {
namespace {

constexpr std::size_t kMostSaid = 1000;  // bytes

// The keys whose values differ or that only one side has.
std::set<std::string> differing_keys(
    const std::map<std::string, std::string>& ours,
    const google::protobuf::Map<std::string, std::string>& theirs) {
  std::set<std::string> keys;
  for (const auto& [key, value] : ours) {
    const auto found = theirs.find(key);
    if (found == theirs.end() || found->second != value) keys.insert(key);
  }
  for (const auto& [key, value] : theirs)
    if (!ours.contains(key)) keys.insert(key);
  return keys;
}

std::string listing(const std::set<std::string>& keys) {
  std::string text;
  for (const auto& key : keys) text += (text.empty() ? "" : ", ") + key;
  return cited(text);
}

}  // namespace

link::v1::Up make_hello(const NetworkOptions& options) {
  link::v1::Up first;
  auto& hello = *first.mutable_hello();
  hello.set_protocol(kProtocolVersion);
  hello.set_process(options.process);
  hello.mutable_facts()->insert(options.facts.begin(), options.facts.end());
  return first;
}

grpc::Status examine_hello(const link::v1::Up& first, const Caller& caller,
                           const NetworkOptions& options, const Hosting& hosting) {
  if (!first.has_hello()) return {grpc::StatusCode::INVALID_ARGUMENT, "a hello expected"};
  const auto& hello = first.hello();
  if (!std::ranges::binary_search(hosting.neighbours(options.process), hello.process()))
    return {grpc::StatusCode::PERMISSION_DENIED, "no neighbour of " + options.identity.name};
  const auto& name = options.peers[hello.process()].name;
  if (!caller.authenticated || caller.names != std::vector{name})
    return {grpc::StatusCode::PERMISSION_DENIED, "the certificate is not that of " + name};
  if (hello.protocol() != kProtocolVersion)
    return {
        grpc::StatusCode::FAILED_PRECONDITION,
        concat("protocol version ", kProtocolVersion, " expected, ", hello.protocol(), " found")};
  const auto keys = differing_keys(options.facts, hello.facts());
  if (!keys.empty())
    return {grpc::StatusCode::FAILED_PRECONDITION, "another run; these differ: " + listing(keys)};
  return grpc::Status::OK;
}

std::string cited(const std::string& said) { return without_controls(said.substr(0, kMostSaid)); }

}  // namespace porter
