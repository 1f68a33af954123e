// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "porter/core/error.hpp"
#include "porter/core/text.hpp"
#include "porter/run/agent.hpp"

namespace porter {

std::string to_json(const AgentStatus& status) {
  nlohmann::ordered_json json = {{"name", status.name},
                                 {"state", status.state},
                                 {"round", status.round},
                                 {"rounds", status.rounds},
                                 {"checkpoint", status.checkpoint},
                                 {"bytes_out", status.bytes.posted},
                                 {"bytes_in", status.bytes.received},
                                 {"wait_seconds", status.wait_seconds},
                                 {"noise", status.secret ? "secure" : "not secret"},
                                 {"epsilon", nullptr}};
  if (status.epsilon) json["epsilon"] = *status.epsilon;
  return json.dump() + "\n";
}

std::string to_prometheus(const AgentStatus& status) {
  std::string text;
  const auto add = [&](const char* name, const char* type, const char* help,
                       const auto&... values) {
    text += concat("# HELP porter_", name, ' ', help, "\n# TYPE porter_", name, ' ', type, '\n');
    const auto line = [&](const auto& value) {
      text += concat("porter_", name, "{agent=\"", status.name, '"', value.first, "} ",
                     value.second, '\n');
    };
    (line(values), ...);
  };
  const auto number = [](auto value) { return std::pair(std::string(), concat(value)); };
  const auto kind = [](const char* name, std::uint64_t value) {
    return std::pair(concat(",kind=\"", name, '"'), concat(value));
  };
  const auto& bytes = status.bytes;
  add("round", "gauge", "rounds done", number(status.round));
  add("rounds", "gauge", "rounds of the run", number(status.rounds));
  add("checkpoint_round", "gauge", "round of the last checkpoint", number(status.checkpoint));
  add("sent_bytes_total", "counter", "bytes of messages sent, each counted once",
      kind("payload", bytes.posted - bytes.posted_overhead), kind("header", bytes.posted_overhead));
  add("received_bytes_total", "counter", "bytes of messages received",
      kind("payload", bytes.received - bytes.received_overhead),
      kind("header", bytes.received_overhead));
  add("wait_seconds_total", "counter", "time spent waiting for neighbours",
      number(shortest(status.wait_seconds)));
  add("noise_secret", "gauge", "1 where the noise is secret, 0 in a test",
      number(status.secret ? 1 : 0));
  if (status.epsilon)
    add("epsilon", "gauge", "certified epsilon spent so far", number(shortest(*status.epsilon)));
  add("running", "gauge", "1 while the agent trains", number(status.state == "training" ? 1 : 0));
  return text;
}

}  // namespace porter
