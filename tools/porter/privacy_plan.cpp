// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "commands.hpp"
#include "core/text.hpp"
#include "porter/compress/compressor.hpp"
#include "porter/core/error.hpp"
#include "porter/graph/mixing.hpp"
#include "privacy_options.hpp"
#include "privacy_plan_text.hpp"
#include "progress.hpp"

namespace porter::cli {
namespace {

struct PlanArguments {
  PlanRequest request;
  std::optional<double> alpha, rho;
  std::string graph, mixing = "fdla", compressor, bytes;
  std::uint64_t seed = 1;
  AskedSampler sampler = AskedSampler::fixed;
  bool unlike = false, json = false;
};

// With batches of one record every round may use it, whatever the order.
[[noreturn]] void refuse_sampler(const PlanArguments& options) {
  const auto& request = options.request;
  PrivacyEvent event;
  event.sampler = Sampler::full;
  event.adjacency = request.adjacency;
  event.records = event.batch = 1;
  event.steps = request.rounds.value_or(1000);
  fail(ErrorKind::usage, "--sampler ", choice_text(options.sampler),
       ": no certified amplification. Without amplification: sigma = ",
       request.clip * calibrate_noise_multiplier(event, request.epsilon, request.delta),
       " for b = 1, T = ", event.steps, "; expected fixed, poisson or full");
}

PlanRequest request_of(const PlanArguments& options) {
  auto request = options.request;
  for (const auto& [option, value] : {std::pair("--m", request.records),
                                      {"--agents", request.agents},
                                      {"--dim", request.dim},
                                      {"--rounds", request.rounds.value_or(1)}})
    require(value >= 1, ErrorKind::usage, option, ": expected at least 1, found 0");
  const auto sampler = certified_sampler(options.sampler);
  if (!sampler) refuse_sampler(options);
  request.sampler = *sampler;
  require(request.sampler != Sampler::fixed || request.adjacency == Adjacency::replace,
          ErrorKind::usage,
          "--sampler fixed has no certified amplification for add-remove neighbours: expected "
          "--adjacency replace, or --sampler poisson");
  if (!options.bytes.empty()) return request;  // then k is chosen, and alpha may be left out
  require(options.alpha || !options.graph.empty(), ErrorKind::usage,
          "expected --graph SPEC or --alpha A");
  require(options.rho || !options.compressor.empty(), ErrorKind::usage,
          "expected --compressor SPEC, --rho R or --bytes SIZE");
  return request;
}

void set_network(const PlanArguments& options, PlanRequest& request, PlanSources& sources) {
  if (options.alpha || options.graph.empty()) {
    request.alpha = options.alpha.value_or(0);
    sources.network = options.alpha ? "given" : "not given: a complete graph";
    return;
  }
  const auto mixing =
      make_mixing(options.mixing, make_graph(options.graph, request.agents, options.seed));
  request.alpha = mixing.alpha;
  sources.network = fmt::format("{}, {}, seed {}", options.graph, mixing.method, options.seed);
}

// What travels, measured on a vector of noise.
double payload_bytes(const Compressor& compressor, std::size_t dim) {
  constexpr std::size_t kMaxEntries = 100'000'000;
  require(dim <= kMaxEntries, ErrorKind::usage, "--dim: expected at most ", kMaxEntries,
          " with --compressor, found ", dim, " (--rho has no limit)");
  const RngStream stream(1, Draw::test, 0, 0);
  auto normals = stream;
  std::vector<float> x(dim);
  for (auto& value : x) value = static_cast<float>(normals.normal());
  Payload payload;
  compressor.encode(x, stream, payload);
  return static_cast<double>(payload.size());
}

void set_compressor(const PlanArguments& options, PlanRequest& request, PlanSources& sources) {
  if (options.rho) {
    request.rho = *options.rho;
    sources.compressor = "given";
    return;
  }
  const auto compressor = make_compressor(options.compressor);
  const auto rho = compressor->rho(request.dim);
  require(rho.has_value(), ErrorKind::usage, "--compressor ", options.compressor,
          ": no contraction at d = ", request.dim,
          ", and the algorithm needs one; expected one with a rho, such as gsgd for qsgd");
  request.rho = *rho;
  request.bytes_per_vector = payload_bytes(*compressor, request.dim);
  sources.compressor = options.compressor;
}

// "4000000", "4MB", "500 kB".
double bytes_of(const std::string& text) {
  const auto unit = text.find_first_not_of("0123456789.eE+-");
  const auto number = parse_number<double>(std::string_view(text).substr(0, unit));
  auto name = unit == text.npos ? std::string_view("B") : std::string_view(text).substr(unit);
  if (name.starts_with(' ')) name.remove_prefix(1);
  double factor = 1;
  for (const std::string_view known : {"B", "kB", "MB", "GB", "TB"}) {
    if (number && name == known && *number > 0 && std::isfinite(*number)) return *number * factor;
    factor *= 1000;
  }
  fail(ErrorKind::usage, "--bytes: expected a size such as 4000000, 500kB or 4MB, found \"", text,
       "\"");
}

void show_plan(const PlanArguments& options) {
  auto request = request_of(options);
  PlanSources sources;
  set_network(options, request, sources);
  StatusLine line;
  const auto progress = [&](std::size_t done, std::size_t total) {
    if (line.terminal()) line.show(fmt::format("calibrating the noise: {} of {}", done, total));
    if (done == total) line.close(true);
  };
  if (!options.bytes.empty()) {
    const double bytes = bytes_of(options.bytes);
    const auto data = options.unlike ? AgentData::unlike : AgentData::alike;
    const auto plan = make_budget_plan(request, data, bytes, progress);
    fmt::print("{}",
               (options.json ? budget_json : budget_text)(request, sources, data, bytes, plan));
    return;
  }
  set_compressor(options, request, sources);
  const auto plan = make_plan(request, progress);
  fmt::print("{}", (options.json ? plan_json : plan_text)(request, sources, plan));
}

}  // namespace

void add_privacy_plan(App& privacy) {
  auto* command = privacy.add_subcommand(
      "plan", "which batch size and how many rounds: noise, traffic, what the theorems allow");
  const auto options = std::make_shared<PlanArguments>();
  auto& request = options->request;
  const auto add = [&](const char* name, auto& value, const char* help, const char* type) {
    return command->add_option(name, value, help, type);
  };
  add("--m", request.records, "Records of each agent", "M")->required();
  add("--agents", request.agents, "Agents", "N")->required();
  add("--dim", request.dim, "Parameters of the model", "D")->required();
  add("--epsilon", request.epsilon, "Epsilon to keep", "EPSILON")->required();
  add("--delta", request.delta, "Probability with which the promise may fail", "DELTA")->required();
  auto* alpha = add("--alpha", options->alpha, "Mixing rate of the network, in [0, 1)", "A");
  add("--graph", options->graph, "Topology instead of --alpha, as in porter graph", "SPEC")
      ->excludes(alpha);
  add("--mixing", options->mixing, "Rule for the weights of --graph", "NAME");
  add("--seed", options->seed, "Seed of a random --graph", "S");
  auto* rho = add("--rho", options->rho, "Contraction of the compressor, in (0, 1]", "R");
  auto* compressor = add("--compressor", options->compressor,
                         "Compressor instead of --rho; also gives the bytes", "SPEC")
                         ->excludes(rho);
  auto* bytes = add("--bytes", options->bytes,
                    "Most bytes that an agent may send, such as 4MB: also recommends gossip steps "
                    "and messages, for porter-sweep",
                    "SIZE")
                    ->excludes(rho)
                    ->excludes(compressor);
  command
      ->add_flag("--unlike", options->unlike,
                 "With --bytes: the agents' data are unlike, such as split by label")
      ->needs(bytes);
  add("--clip", request.clip, "Largest norm tau of a clipped gradient", "TAU");
  add("--rounds", request.rounds, "Recommend for this many rounds", "T");
  add("--batch", request.batch, "Recommend for this batch size", "B");
  add("--sampler", options->sampler, "How a round chooses its records: fixed, poisson or full",
      "NAME");
  add("--adjacency", request.adjacency, "Neighbouring data sets: replace or add-remove", "NAME");
  command->add_flag("--allow-large-delta", request.allow_large_delta,
                    "Accept delta >= 1/m, as the paper has it");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "\nEvery sigma is certified by the accountant. The recommendation is a heuristic; the rule\n"
      "is printed with it. A request without a hope is answered, too, and called that.\n"
      "Example: porter privacy plan --m 6000 --agents 10 --dim 50890 --graph erdos-renyi:0.8 \\\n"
      "           --compressor random_k:0.05 --epsilon 2 --delta 1e-5\n"
      "         or --bytes 4MB instead of --compressor: which b, T, gossip steps and messages");
  command->callback([options] { show_plan(*options); });
}

}  // namespace porter::cli
