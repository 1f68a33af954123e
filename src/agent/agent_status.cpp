// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "io/json.hpp"
#include "porter/agent/agent.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr double kLongWait = 5;  // seconds

std::string escaped(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? "\\n" : std::string(1, c);
  }
  return text;
}

}  // namespace

std::string to_json(const AgentStatus& status, const std::vector<LinkStatus>& links) {
  nlohmann::ordered_json json = {
      {"name", status.name},
      {"state", status.state},
      {"round", status.round},
      {"rounds", status.rounds},
      {"checkpoint", status.checkpoint},
      {"bytes_out", status.bytes.posted},
      {"bytes_in", status.bytes.received},
      {"wait_seconds", status.wait_seconds},
      {"noise", status.secret ? choice_text(NoiseSource::secret) : "not secret"},
      {"epsilon", nullptr}};
  if (status.epsilon) json["epsilon"] = *status.epsilon;
  json["waiting_for"] = nlohmann::ordered_json::array();
  for (const auto& link : links)
    if (link.waiting_seconds >= kLongWait) json["waiting_for"].push_back(link.neighbour);
  return json_text(json) + "\n";
}

std::string to_prometheus(const AgentStatus& status, const std::vector<LinkStatus>& links) {
  // Version 0.0.4: of each metric its help and type, then its samples, a label and a value each.
  std::string out;
  using Samples = std::vector<std::pair<std::string, std::string>>;
  const auto metric = [&](const char* name, const char* type, const char* help,
                          const Samples& samples) {
    out += concat("# HELP porter_", name, ' ', help, "\n# TYPE porter_", name, ' ', type, '\n');
    for (const auto& [label, value] : samples)
      out +=
          concat("porter_", name, "{agent=\"", escaped(status.name), '"', label, "} ", value, '\n');
  };
  const auto whole = [](std::uint64_t value) { return std::to_string(value); };
  const auto gauge = [&](const char* name, const char* help, const std::string& value) {
    metric(name, "gauge", help, {{"", value}});
  };
  const auto kinds = [&](std::uint64_t all, std::uint64_t header) {
    return Samples{{",kind=\"payload\"", whole(all - header)}, {",kind=\"header\"", whole(header)}};
  };
  const auto of_links = [&](const auto& value) {
    Samples samples;
    for (const auto& link : links)
      samples.push_back({concat(",neighbour=\"", escaped(link.neighbour), '"'), value(link)});
    return samples;
  };
  const auto& bytes = status.bytes;
  gauge("round", "Rounds done.", whole(status.round));
  gauge("rounds", "Rounds of the run.", whole(status.rounds));
  gauge("running", "1 while the agent trains.", whole(status.state == "training" ? 1 : 0));
  gauge("checkpoint_round", "Round of the last checkpoint.", whole(status.checkpoint));
  metric("sent_bytes_total", "counter", "Bytes of messages, each counted once.",
         kinds(bytes.posted, bytes.posted_overhead));
  metric("received_bytes_total", "counter", "Bytes of messages from neighbours.",
         kinds(bytes.received, bytes.received_overhead));
  metric("collect_seconds_total", "counter", "Time that rounds waited for messages.",
         {{"", shortest(status.wait_seconds)}});
  metric("wait_seconds_total", "counter", "Time that rounds waited for this neighbour.",
         of_links([](const LinkStatus& link) { return shortest(link.wait_seconds); }));
  metric("waiting_seconds", "gauge", "How long the present round waits for this neighbour.",
         of_links([](const LinkStatus& link) { return shortest(link.waiting_seconds); }));
  metric("reconnects_total", "counter", "Connections from this neighbour after the first.",
         of_links([&](const LinkStatus& link) { return whole(link.reconnects); }));
  metric("neighbour_connected", "gauge", "1 while this neighbour is connected.",
         of_links([&](const LinkStatus& link) { return whole(link.connected); }));
  gauge("noise_secret", "1 where the noise is secret, 0 in a test.", whole(status.secret));
  if (status.epsilon)
    gauge("epsilon", "Certified epsilon spent so far.", shortest(*status.epsilon));
  return out;
}

}  // namespace porter
