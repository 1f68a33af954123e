// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "io/json.hpp"
#include "porter/agent/agent.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr double kLongWait = 5;  // seconds

// The text format of Prometheus, version 0.0.4: of each metric its help and type, then its samples.
class PrometheusText {
 public:
  explicit PrometheusText(const std::string& agent) : agent_("agent=\"" + escaped(agent) + '"') {}

  void metric(const char* name, const char* type, const char* help) {
    name_ = name;
    text_ += concat("# HELP porter_", name, ' ', help, "\n# TYPE porter_", name, ' ', type, '\n');
  }
  void sample(const std::string& value) { line("", value); }
  void sample(const char* label, const std::string& of, const std::string& value) {
    line(concat(',', label, "=\"", escaped(of), '"'), value);
  }
  void single(const char* name, const char* type, const char* help, const std::string& value) {
    metric(name, type, help);
    sample(value);
  }
  const std::string& text() const { return text_; }

 private:
  static std::string escaped(const std::string& value) {
    std::string text;
    for (const char c : value) {
      if (c == '\\' || c == '"') text += '\\';
      text += c == '\n' ? "\\n" : std::string(1, c);
    }
    return text;
  }
  void line(const std::string& labels, const std::string& value) {
    text_ += concat("porter_", name_, '{', agent_, labels, "} ", value, '\n');
  }

  std::string agent_, name_, text_;
};

}  // namespace

std::string to_json(const AgentStatus& status, const std::vector<LinkStatus>& links) {
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
  json["waiting_for"] = nlohmann::ordered_json::array();
  for (const auto& link : links)
    if (link.waiting_seconds >= kLongWait) json["waiting_for"].push_back(link.neighbour);
  return json_text(json) + "\n";
}

std::string to_prometheus(const AgentStatus& status, const std::vector<LinkStatus>& links) {
  PrometheusText out(status.name);
  const auto whole = [](std::uint64_t value) { return std::to_string(value); };
  const auto& bytes = status.bytes;
  out.single("round", "gauge", "Rounds done.", whole(status.round));
  out.single("rounds", "gauge", "Rounds of the run.", whole(status.rounds));
  out.single("running", "gauge", "1 while the agent trains.",
             whole(status.state == "training" ? 1 : 0));
  out.single("checkpoint_round", "gauge", "Round of the last checkpoint.",
             whole(status.checkpoint));
  out.metric("sent_bytes_total", "counter", "Bytes of messages, each counted once.");
  out.sample("kind", "payload", whole(bytes.posted - bytes.posted_overhead));
  out.sample("kind", "header", whole(bytes.posted_overhead));
  out.metric("received_bytes_total", "counter", "Bytes of messages from neighbours.");
  out.sample("kind", "payload", whole(bytes.received - bytes.received_overhead));
  out.sample("kind", "header", whole(bytes.received_overhead));
  out.single("collect_seconds_total", "counter", "Time that rounds waited for messages.",
             shortest(status.wait_seconds));
  out.metric("wait_seconds_total", "counter", "Time that rounds waited for this neighbour.");
  for (const auto& link : links)
    out.sample("neighbour", link.neighbour, shortest(link.wait_seconds));
  out.metric("waiting_seconds", "gauge", "How long the present round waits for this neighbour.");
  for (const auto& link : links)
    out.sample("neighbour", link.neighbour, shortest(link.waiting_seconds));
  out.metric("reconnects_total", "counter", "Connections from this neighbour after the first.");
  for (const auto& link : links) out.sample("neighbour", link.neighbour, whole(link.reconnects));
  out.metric("neighbour_connected", "gauge", "1 while this neighbour is connected.");
  for (const auto& link : links) out.sample("neighbour", link.neighbour, whole(link.connected));
  out.single("noise_secret", "gauge", "1 where the noise is secret, 0 in a test.",
             whole(status.secret));
  if (status.epsilon)
    out.single("epsilon", "gauge", "Certified epsilon spent so far.", shortest(*status.epsilon));
  return out.text();
}

}  // namespace porter
