// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "comm/tls.hpp"
#include "config/config_table.hpp"
#include "core/text.hpp"
#include "io/toml_section.hpp"
#include "porter/agent/agent.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kLongestWait{24 * 366};

std::chrono::milliseconds parse_duration(std::string_view text) {
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count = parse_number<std::uint32_t>(text.substr(0, digits));
  const auto unit = text.substr(digits);
  const std::map<std::string_view, std::int64_t> units = {
      {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};
  require(count && units.contains(unit), ErrorKind::usage,
          "expected a duration such as 500ms, 60s, 10m or 2h, found \"", text, "\"");
  const std::chrono::milliseconds duration(*count * units.at(unit));
  require(duration <= kLongestWait, ErrorKind::usage,
          "expected a duration of a year at most, found \"", text, "\"");
  return duration;
}

// wait:DURATION, or stop, which waits not at all.
std::chrono::milliseconds parse_peer_loss(const std::string& text) {
  if (text == "stop") return std::chrono::milliseconds(0);
  const auto spec = split_spec(text);
  require(spec.name == "wait" && spec.argument, ErrorKind::usage,
          "expected wait:DURATION or stop, found \"", text, "\"");
  return parse_duration(*spec.argument);
}

std::chrono::milliseconds parse_positive_duration(const std::string& text) {
  const auto duration = parse_duration(text);
  require(duration.count() > 0, ErrorKind::usage, "expected more than 0");
  return duration;
}

bool parse_log(const std::string& text) {
  require(text == "text" || text == "json", ErrorKind::usage, "expected text or json, found \"",
          text, "\"");
  return text == "json";
}

void read_peers(TomlSection& section, AgentOptions& options) {
  const auto* node = section.find("peers");
  section.check(node != nullptr && node->is_array_of_tables(), "peers",
                "expected a list such as [{name = \"hospital-a\", address = \"10.0.0.1:7400\"}], "
                "one entry per agent");
  for (const auto& entry : *node->as_array()) {
    const auto& table = *entry.as_table();
    const auto name = table["name"].value<std::string>();
    const auto address = table["address"].value<std::string>();
    section.check(name && address && table.size() == 2, "peers",
                  "every entry has a name and an address, and nothing else");
    const auto parsed = section.located("peers", [&] { return parse_address(*address); });
    section.check(!parsed.host.empty(), "peers", "the address of ", *name, " has no host: \"",
                  *address, "\"");
    options.peers.push_back({*name, *address});
  }
  const auto agents = options.config.network.agents;
  section.check(options.peers.size() == agents, "peers", "network.agents is ", agents, ", but ",
                options.peers.size(), " peers are listed");
  const auto at = std::ranges::find(options.peers, options.name, &Peer::name);
  section.check(at != options.peers.end(), "peers", "\"", options.name,
                "\" is not among them; agent.name must be");
  options.index = static_cast<std::uint32_t>(at - options.peers.begin());
}

fs::path read_path(TomlSection& section, const char* key, const fs::path& folder) {
  std::string text;
  section.read(key, text);
  section.check(!text.empty(), key, "the path of a file is needed (porter keys makes it)");
  return folder / text;
}

void read_agent(const toml::table& root, const std::string& source, const fs::path& folder,
                AgentOptions& options) {
  TomlSection section(root, "agent", source);
  require(section.present(), ErrorKind::usage, source,
          ": [agent] is missing: name, listen, ca, certificate, key and peers of this agent");
  section.read("name", options.name);
  section.read("listen", options.listen);
  section.check(!options.name.empty(), "name", "the name in this agent's certificate is needed");
  section.check(!options.listen.empty(), "listen", "expected ADDRESS:PORT, e.g. 0.0.0.0:7400");
  section.located("listen", [&] { return parse_address(options.listen); });
  options.authority = read_path(section, "ca", folder);
  options.certificate = read_path(section, "certificate", folder);
  options.key = read_path(section, "key", folder);
  read_peers(section, options);
  section.read("train", options.train);
  if (!options.train.empty()) options.train = (folder / options.train).lexically_normal().string();
  section.read_parsed("on_peer_loss", options.peer_wait, parse_peer_loss);
  section.read_parsed("start_wait", options.start_wait, parse_duration);
  section.read_parsed("round_wait", options.round_wait, parse_positive_duration);
  section.read_parsed("keepalive", options.keepalive, parse_positive_duration);
  section.read("require_noise", options.require_noise);
  section.read("max_epsilon", options.max_epsilon);
  section.check(!options.max_epsilon || *options.max_epsilon > 0, "max_epsilon",
                "expected a positive number, found ", options.max_epsilon.value_or(0));
  section.read("metrics", options.metrics);
  if (options.metrics == "off") options.metrics.clear();
  section.read_parsed("log", options.json_log, parse_log);
  section.refuse_unknown_keys();
}

// Secret noise is the default of an agent, and seeded noise an exception by name.
void choose_noise(const toml::table& root, bool insecure_test_noise, const std::string& source,
                  Config& config) {
  if (!config.privacy) return;
  auto& noise = config.privacy->noise;
  if (!root.at_path("privacy.noise"))
    noise = insecure_test_noise ? NoiseSource::simulated : NoiseSource::secret;
  require(noise == NoiseSource::secret || insecure_test_noise, ErrorKind::privacy, source,
          ": privacy.noise = \"", choice_text(noise),
          "\": an agent's noise must be secret, unless its data need no protection");
}

// The table of a file, and the config in it.
std::pair<toml::table, Config> load_table(const fs::path& path,
                                          const std::vector<std::string>& overrides,
                                          bool insecure_test_noise) {
  const auto source = path.string();
  auto root = load_toml(path, overrides);
  auto config = read_config(root, source);
  choose_noise(root, insecure_test_noise, source, config);
  config.run.engine = EngineKind::tls;
  require(find_algorithm(config.algorithm.name).gossips(), ErrorKind::usage, source,
          ": algorithm.name: the agents of ", config.algorithm.name,
          " do not talk to neighbours; it runs with porter run only");
  return {std::move(root), std::move(config)};
}

}  // namespace

Config load_agent_config(const fs::path& path, const std::vector<std::string>& overrides,
                         bool insecure_test_noise) {
  return load_table(path, overrides, insecure_test_noise).second;
}

AgentOptions load_agent_options(const fs::path& path, const std::vector<std::string>& overrides,
                                bool insecure_test_noise) {
  AgentOptions options;
  auto [root, config] = load_table(path, overrides, insecure_test_noise);
  options.config = std::move(config);
  read_agent(root, path.string(), fs::absolute(path).parent_path(), options);
  return options;
}

}  // namespace porter
