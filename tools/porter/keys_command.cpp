// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "io/json.hpp"
#include "porter/comm/keys.hpp"

namespace porter::cli {
namespace {

struct KeysArguments {
  std::string folder, authority = "porter authority";
  std::vector<std::string> agents;
  int authority_days = 3650, agent_days = 365;
  bool force = false, json = false;
};

constexpr std::string_view kHint =
    "porter keys init makes an authority, --days sets the days, --force replaces what is there";

std::string date(std::int64_t seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

void init(const KeysArguments& options) {
  with_hint(ErrorKind::usage, kHint, [&] {
    init_authority(options.folder, options.authority,
                   {.days = options.authority_days, .force = options.force});
  });
  fmt::print(
      "made the authority \"{}\" in {}, valid for {} days\n"
      "Whoever has {}/ca.key can join any run: keep it offline and give it to nobody.\n"
      "Next: porter keys issue {} AGENT...\n",
      options.authority, options.folder, options.authority_days, options.folder, options.folder);
}

void issue(const KeysArguments& options) {
  for (const auto& agent : options.agents) {
    with_hint(ErrorKind::usage, kHint, [&] {
      issue_certificate(options.folder, agent,
                        {.days = options.agent_days, .force = options.force});
    });
    fmt::print("made {0}/{1}.crt and {0}/{1}.key, valid for {2} days\n", options.folder, agent,
               options.agent_days);
  }
  fmt::print("Each agent needs its own .crt and .key, and ca.crt; none needs ca.key.\n");
}

nlohmann::ordered_json to_json(const CertificateInfo& info) {
  return {{"file", info.file},
          {"name", info.name},
          {"authority", info.authority},
          {"not_before", date(info.not_before)},
          {"not_after", date(info.not_after)},
          {"fingerprint_sha256", info.fingerprint},
          {"has_key", info.has_key},
          {"problems", info.problems}};
}

int show(const KeysArguments& options) {
  const auto list = inspect_keys(options.folder);
  auto json = nlohmann::ordered_json::array();
  int exit_code = 0;
  for (const auto& info : list) {
    if (!info.problems.empty()) exit_code = 1;
    if (options.json) {
      json.push_back(to_json(info));
      continue;
    }
    fmt::print("{}{}\n", info.name, info.authority ? " (the authority)" : "");
    fmt::print("  {}, {}\n", info.file, info.has_key ? "with its key" : "its key is not here");
    fmt::print("  valid from {} to {}\n", date(info.not_before), date(info.not_after));
    fmt::print("  SHA-256 {}\n", info.fingerprint);
    for (const auto& problem : info.problems) fmt::print("  PROBLEM: {}\n", problem);
  }
  if (options.json) fmt::print("{}\n", json_text(json, 2));
  return exit_code;
}

}  // namespace

void add_keys_command(App& app) {
  auto* command =
      app.add_subcommand("keys", "certificates by which networked agents know each other");
  command->require_subcommand(1);
  auto options = std::make_shared<KeysArguments>();
  const auto add = [&](const char* name, const char* help) {
    auto* sub = command->add_subcommand(name, help);
    sub->add_option("folder", options->folder, "where the keys are")->required();
    return sub;
  };
  const auto add_making = [&](App* sub, int& days, const char* days_help) {
    sub->add_option("--days", days, days_help);
    sub->add_flag("--force", options->force, "replace what is there");
  };

  auto* init_command = add("init", "make an authority: ca.crt and ca.key");
  init_command->add_option("--name", options->authority, "of the authority");
  add_making(init_command, options->authority_days,
             "how long it and all that it signs may be used");
  init_command->callback([options] { init(*options); });

  auto* issue_command = add("issue", "make the key and the certificate of agents");
  issue_command->add_option("agents", options->agents, "names, e.g. hospital-a hospital-b")
      ->required();
  add_making(issue_command, options->agent_days, "validity; less than the authority has left");
  issue_command->callback([options] { issue(*options); });

  auto* show_command =
      add("show", "names, validity and fingerprints; exit code 1 if something is wrong");
  show_command->add_flag("--json", options->json, "print JSON");
  show_command->callback([options] { return show(*options); });
}

}  // namespace porter::cli
