// SPDX-License-Identifier: Apache-2.0
// From a file to a Config: defaults, values, and whether they fit together; and back.
#include "porter/config/config.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "config/config_keys.hpp"
#include "config/config_table.hpp"
#include "core/text.hpp"
#include "data/holdout.hpp"
#include "data/moments.hpp"
#include "porter/compress/compressor.hpp"
#include "porter/graph/changing_network.hpp"

namespace porter {
namespace {

using Clipping = AlgorithmInfo::Clipping;
using Noise = AlgorithmInfo::Noise;
using Meeting = AlgorithmInfo::Meeting;

constexpr const char* kSections[] = {"data", "model", "network", "algorithm", "privacy", "run"};

/// The sections of a file, which errors about their keys refer to.
struct Sections {
  std::map<std::string, TomlSection, std::less<>> all;

  Sections(const toml::table& root, const std::string& source) {
    for (const char* name : kSections) all.emplace(name, TomlSection(root, name, source));
  }
  TomlSection& operator[](std::string_view name) { return all.find(name)->second; }
};

// "a, b and c": the rows of a table with a property.
template <class Table, class Property>
std::string names_of(const Table& table, Property property) {
  std::string names, last;
  for (const auto& info : table) {
    if (!std::invoke(property, info)) continue;
    if (!last.empty()) (names += names.empty() ? "" : ", ") += last;
    last = info.name;
  }
  return names.empty() ? last : names + " and " + last;
}

// What the model's name and loss decide.
void set_model(Sections& sections, Config& config) {
  sections["model"].read_parsed("name", config.model.name,
                                [](const auto& name) { return find_model(name).name; });
  const auto& info = find_model(config.model.name);
  config.model.lambda = info.lambda;
  sections["model"].read_parsed("loss", config.model.loss, [](const std::string& text) {
    return std::optional(parse_choice<LossKind>(text));
  });
  config.data.regression = is_regression(config.model);
  config.data.images = info.takes_images;
  if (info.takes_images) config.algorithm.start = "fan-in:1";
}

// What the algorithm's name decides.
const AlgorithmInfo& set_algorithm(Sections& sections, Config& config) {
  auto& algorithm = config.algorithm;
  sections["algorithm"].read_parsed("name", algorithm.name,
                                    [](const auto& name) { return find_algorithm(name).name; });
  const auto& info = find_algorithm(algorithm.name);
  const bool clips = info.clipping == Clipping::sample || info.clipping == Clipping::batch ||
                     info.noise == Noise::always;
  algorithm.clip = parse_clip(clips ? "smooth:1.0" : "none");
  algorithm.clip_target = info.clipping == Clipping::batch ? ClipTarget::batch : ClipTarget::sample;
  algorithm.compressor = info.compresses ? "random_k:0.05" : "identity";
  algorithm.mask = info.mask_is_sweep ? Mask::sweep : Mask::own;
  algorithm.momentum = info.momentum;
  algorithm.consensus = info.consensus;
  algorithm.local_steps = std::max(info.local_steps, 1U);
  return info;
}

// The section is there, or the algorithm always adds noise.
void set_privacy(Sections& sections, const AlgorithmInfo& info, const std::string& source,
                 Config& config) {
  const bool present = sections["privacy"].present();
  require(!present || info.noise != Noise::never, ErrorKind::usage, source,
          ": [privacy]: ", info.name,
          " adds no noise; remove the section, or choose an algorithm that adds it (porter-dp)");
  if (present || info.noise == Noise::always) config.privacy = Config::Privacy{};
}

void read_keys(Sections& sections, Config& config) {
  for (const auto& key : config_keys())
    if (key.section != "privacy" || config.privacy) key.read(sections[key.section], config);
  for (const auto& [name, section] : sections.all) section.refuse_unknown_keys();
}

void check_model(Sections& sections, Config& config) {
  const auto& info = find_model(config.model.name);
  auto& section = sections["model"];
  section.check(info.layered || !section.has("hidden"), "hidden", info.name,
                " has no hidden layers; mlp has");
  section.check(info.layered || !section.has("activation"), "activation", info.name,
                " has no activation; mlp has");
  section.check(info.takes_layers || !section.has("layers"), "layers", info.name,
                info.takes_images ? " has layers of its own; the model layers has those"
                                  : " has no such layers; the model layers has");
  section.check(!info.takes_layers || section.has("layers"), "layers", "model.name = \"", info.name,
                "\" needs them, such as [\"conv:16x4/2\", \"tanh\"]");
  section.check(info.takes_loss || !config.model.loss, "loss", info.name,
                " predicts classes; a loss is for ",
                names_of(model_table(), &ModelInfo::takes_loss));
  sections["data"].check(!config.data.regression || config.data.classes.empty(), "classes",
                         "model.name = \"", info.name, config.model.loss ? "\" with a loss" : "\"",
                         " predicts a number and has no classes");
  if (info.has_biases()) config.data.bias = false;  // its layers have their own
}

void check_clipping(const TomlSection& section, const AlgorithmInfo& info, const Config& config) {
  const auto& algorithm = config.algorithm;
  const bool none = algorithm.clip.none();
  const bool each = info.clipping == Clipping::sample || info.clipping == Clipping::batch;
  section.check(info.clipping != Clipping::none || none, "clip", info.name,
                " does not clip; porter-gc does; found \"", to_string(algorithm.clip), "\"");
  section.check(!none || !each, "clip", info.name,
                " needs smooth:TAU or linear:TAU, found \"none\"");
  const auto own = info.clipping == Clipping::batch ? ClipTarget::batch : ClipTarget::sample;
  section.check(!each || algorithm.clip_target == own, "clip_target", info.name, " clips each ",
                choice_text(own), "; found \"", choice_text(algorithm.clip_target), "\"");
}

void check_copies(const TomlSection& section, const AlgorithmInfo& info, const Config& config) {
  if (!config.algorithm.augment) return;
  section.check(find_model(config.model.name).takes_images, "augment", "copies of images are for ",
                names_of(model_table(), &ModelInfo::takes_images), ", found model.name = \"",
                config.model.name, "\"");
  section.check(!info.several_points, "augment", info.name,
                " has gradients at two points in a sample's term, and copies are for one");
}

CompressorInfo compressor_info(const Config& config) {
  const auto table = compressor_table();
  const auto name = split_spec(config.algorithm.compressor).name;
  const auto found = std::ranges::find(table, name, &CompressorInfo::name);
  return found == table.end() ? CompressorInfo{} : *found;
}

void check_messages(const TomlSection& section, const AlgorithmInfo& info, const Config& config) {
  const auto& algorithm = config.algorithm;
  const auto compressors = compressor_table();
  const auto compressor = compressor_info(config);
  section.check(info.compresses || compressor.dense, "compressor", info.name,
                " sends dense messages, so only \"", names_of(compressors, &CompressorInfo::dense),
                "\" fits; found \"", algorithm.compressor, "\"");
  section.check(!info.needs_unbiased || algorithm.unbiased, "unbiased", info.name,
                " needs an unbiased compressor; found \"", algorithm.compressor, "\", biased");
  section.check(!info.needs_unbiased || algorithm.mask != Mask::sweep, "mask", info.name,
                " needs random masks, own or shared; found \"sweep\"");
  section.check(info.shifts || !algorithm.shift, "shift", "only ",
                names_of(algorithm_table(), &AlgorithmInfo::shifts), " have shifts");
  section.check(info.triggers || !algorithm.trigger, "trigger", "only ",
                names_of(algorithm_table(), &AlgorithmInfo::triggers), " has a trigger");
  section.check(algorithm.gossip == 1 || info.gossips(), "gossip", info.name,
                " does not gossip; found ", algorithm.gossip);
  section.check(algorithm.gossip == 1 || !info.gossips_once, "gossip", info.name,
                " has one gossip step per gradient; found ", algorithm.gossip);
  section.check(std::uint64_t{algorithm.gossip} * algorithm.rounds <= 0xFFFFFFFF, "gossip",
                "rounds times gossip must stay below 2^32; found ", algorithm.rounds, " times ",
                algorithm.gossip);
  section.check(algorithm.local_steps == 1 || info.local_steps > 0, "local_steps", "only ",
                names_of(algorithm_table(), &AlgorithmInfo::local_steps),
                " has several gradients per message; found ", info.name, " with ",
                algorithm.local_steps);
  section.check(!info.mask_is_sweep || algorithm.mask == Mask::sweep, "mask", info.name,
                " sweeps; found \"", choice_text(algorithm.mask), "\"");
  section.check(algorithm.mask == Mask::own || (compressor.has_mask && info.gossips()), "mask",
                "only ", names_of(compressors, &CompressorInfo::has_mask),
                " between neighbours has a mask to share; found ", info.name, " with \"",
                algorithm.compressor, "\"");
  section.check(algorithm.dense.empty() || info.mask_is_sweep, "dense", "only ",
                names_of(algorithm_table(), &AlgorithmInfo::mask_is_sweep),
                " have a part that travels in every message; found ", info.name);
  const bool accelerates = algorithm.acceleration != Acceleration::none;
  section.check(!accelerates || info.mask_is_sweep, "acceleration", "only ",
                names_of(algorithm_table(), &AlgorithmInfo::mask_is_sweep), " have one; found ",
                info.name);
  section.check(!accelerates || !network_changes(config), "acceleration", "\"",
                choice_text(algorithm.acceleration),
                "\" is for one W whose eigenvalues are known; found a network that changes");
  section.check(!algorithm.snapshot || info.two_gradients, "snapshot", "only ",
                names_of(algorithm_table(), &AlgorithmInfo::two_gradients), " has snapshots");
}

// What a network that changes asks of a method, and of the engine.
void check_network(const TomlSection& section, const AlgorithmInfo& info, const Config& config) {
  if (!network_changes(config)) return;
  const auto& network = config.network;
  const bool absences = !is_never_absent(network.dropout);
  const char* key = absences ? "dropout" : "schedule";
  const bool directed = parse_meetings(network.schedule).kind == Meetings::Kind::directed;
  const bool by_senders = info.weighing == Weighing::senders;
  section.check(info.changing || (by_senders && directed && !absences), key, info.name,
                " needs a network that stays", by_senders ? ", undirected or directed" : "",
                ", as agents keep copies of what others have sent or "
                "meet at a server; one that changes is for ",
                names_of(algorithm_table(),
                         [](const AlgorithmInfo& other) { return other.changing.has_value(); }));
  const auto balance = balance_of(parse_meetings(network.schedule), absences);
  section.check(by_senders || info.changing == Balance::one_sided || balance != Balance::one_sided,
                key, info.name,
                " needs weights whose rows and columns have the sum 1, which schedule "
                "= \"",
                network.schedule, "\"", absences ? " has not where agents are absent" : " has not");
  section.check(
      info.changing != Balance::subgraph || balance == Balance::subgraph, key, info.name,
      " learns corrections that belong to one graph, from which agents may be absent; found "
      "schedule = \"",
      network.schedule, "\"");
  section.check(
      !directed || by_senders, "schedule", info.name,
      " would converge to an average in which agents count by their place in the directed graph; ",
      names_of(algorithm_table(),
               [](const AlgorithmInfo& other) { return other.weighing == Weighing::senders; }),
      " do not; found schedule = \"", network.schedule, "\"");
  section.check(config.run.engine == EngineKind::simulate, key,
                "a network that changes is simulated only; found run.engine = \"",
                choice_text(config.run.engine), "\"");
}

void check_clock(const TomlSection& section, const AlgorithmInfo& info, const Config& config) {
  const auto& network = config.network;
  section.check(network.compute || !network.straggling, "straggling",
                "needs network.compute, the seconds of a gradient");
  if (!has_clock(config)) return;
  const char* key = network.latency ? "latency" : network.bandwidth ? "bandwidth" : "compute";
  section.check(info.gossips(), key,
                "seconds are modelled for agents that talk to neighbours, and those of ", info.name,
                " do not");
  section.check(config.run.engine == EngineKind::simulate, key,
                "seconds are modelled in a simulation only; found run.engine = \"",
                choice_text(config.run.engine), "\"");
}

// The coordinates of a gossip step are the same at all agents: dense messages, or a mask in common.
bool mixes_together(const AlgorithmInfo& info, const Config& config) {
  return info.gossips() && (config.algorithm.mask != Mask::own || compressor_info(config).dense);
}

// Noise that neighbours share cancels where they mix the coordinates that have it.
void check_shape(const TomlSection& section, const AlgorithmInfo& info, const Config& config) {
  const auto& privacy = *config.privacy;
  const bool shares = shares_noise(config);
  section.check(!shares || mixes_together(info, config), "shape", "\"", choice_text(privacy.shape),
                "\" is for neighbours that mix the same coordinates: dense messages "
                "(algorithm.compressor = \"identity\"), or a mask in common (algorithm.mask = "
                "\"shared\" or \"sweep\"); found ",
                info.name, " with \"", config.algorithm.compressor, "\" and mask = \"",
                choice_text(config.algorithm.mask), "\"");
  section.check(
      !shares || !network_changes(config), "shape", "\"", choice_text(privacy.shape),
      "\" is for agents that are all there and neighbours that stay: the share of one that "
      "is absent would not cancel; found network.dropout or network.schedule");
  section.check(!shares || !measures_statistics(config), "shape",
                "the schema (data.schema) has columns that are measured, with noise that agents do "
                "not share; found \"",
                choice_text(privacy.shape), "\"");
  section.check(shares || !section.has("colluders"), "colluders",
                "needs shape = \"pairwise\" or \"optimal\"; independent noise holds against all "
                "others together");
  section.check(!shares || privacy.colluders < config.network.agents, "colluders",
                "expected fewer than the ", config.network.agents, " agents, found ",
                privacy.colluders);
  section.check(privacy.shape == NoiseShape::pairwise || !section.has("pair_ratio"), "pair_ratio",
                "needs shape = \"pairwise\", found \"", choice_text(privacy.shape), "\"");
}

// Methods whose gradients are not those of one clipped mean per agent and round, or that have none
// of single agents.
bool has_plain_releases(const AlgorithmInfo& info) {
  return !info.two_gradients && info.meeting != Meeting::aggregator &&
         info.meeting != Meeting::pooled;
}

void check_agents_may_differ(const TomlSection& section, const char* key, const Config& config) {
  section.check(!measures_statistics(config), key,
                "the schema (data.schema) has columns that are measured, with one size of noise");
  section.check(!shares_noise(config), key,
                "noise that neighbours share (privacy.shape) is for agents that are alike");
}

void check_weigh(const TomlSection& section, const AlgorithmInfo& info, const Config& config) {
  if (config.weigh == CountedAlike::records) return;
  section.check(has_plain_releases(info), "weigh",
                "agents that count the same draw at rates of their own, which is for methods whose "
                "agents have one gradient each; found ",
                info.name);
  check_agents_may_differ(section, "weigh", config);
}

void check_budgets(const TomlSection& section, const AlgorithmInfo& info, const Config& config) {
  const auto& privacy = *config.privacy;
  if (privacy.budgets.empty()) return;
  section.check(privacy.calibration == Calibration::accountant, "budgets",
                "the noise of each agent is worked out from its budget, which needs calibration = "
                "\"accountant\", found \"",
                choice_text(privacy.calibration), "\"");
  section.check(has_plain_releases(info), "budgets",
                "noise of different sizes is for agents that add it to one gradient each; found ",
                info.name);
  check_agents_may_differ(section, "budgets", config);
}

void check_phases(const TomlSection& section, const AlgorithmInfo& info, const Config& config) {
  const auto& privacy = *config.privacy;
  if (privacy.phases.empty()) return;
  const auto found = to_string(privacy.phases);
  section.check(total_rounds(privacy.phases) == config.algorithm.rounds, "phases",
                "expected phases of algorithm.rounds = ", config.algorithm.rounds,
                " rounds together, found ", total_rounds(privacy.phases), " in \"", found, "\"");
  section.check(privacy.calibration != Calibration::paper, "phases",
                "the paper's formula is for rounds that are alike");
  section.check(has_plain_releases(info), "phases",
                "phases are for agents that add noise to one gradient each; found ", info.name);
  section.check(config.algorithm.clip_target == ClipTarget::sample && !config.algorithm.clip.none(),
                "phases", "phases are for the clipping of each sample");
  section.check(!measures_statistics(config), "phases",
                "the schema (data.schema) has columns that are measured before the first phase");
  section.check(!shares_noise(config), "phases",
                "noise that neighbours share (privacy.shape) is for rounds that are alike");
  section.check(!claims_guarantee(config) || never_cheaper(privacy.phases), "phases",
                "with secret noise no phase may have a larger noise multiplier than the one "
                "before: a round that is released again after a crash counts as one more of a "
                "later phase, which must not be cheaper; found \"",
                found, "\"");
}

void check_privacy(const TomlSection& section, const AlgorithmInfo& info, const Config& config) {
  if (!config.privacy) return;
  const auto& privacy = *config.privacy;
  const bool given = privacy.calibration == Calibration::sigma;
  section.check(!given || privacy.sigma, "sigma", "calibration = \"sigma\" needs it");
  section.check(given || !privacy.sigma, "sigma", "needs calibration = \"sigma\", found \"",
                choice_text(privacy.calibration), "\"");
  section.check(given || !config.algorithm.clip.none(), "calibration",
                "noise for an epsilon needs a clipping threshold, but algorithm.clip is \"none\"");
  section.check(privacy.calibration != Calibration::accountant ||
                    config.algorithm.clip_target == ClipTarget::sample,
                "calibration", "the accountant needs algorithm.clip_target = \"sample\"");
  section.check(
      privacy.adjacency == Adjacency::replace || privacy.sampler == Sampler::poisson, "adjacency",
      "add-remove needs sampler = \"poisson\": with a fixed batch size it is not defined");
  check_shape(section, info, config);
  check_budgets(section, info, config);
  check_phases(section, info, config);
}

void check_measured(Sections& sections, const AlgorithmInfo& info, const Config& config) {
  auto& privacy = sections["privacy"];
  const bool measures = measures_statistics(config);
  privacy.check(measures || !privacy.has("statistics"), "statistics",
                "the schema (data.schema) has no column that is measured");
  sections["data"].check(!measures || info.gossips(), "schema",
                         "what it says is measured, agents measure together with their neighbours, "
                         "and those of ",
                         info.name, " have none");
  sections["data"].check(!measures || config.run.engine != EngineKind::mpi, "schema",
                         "it has columns that are measured, which run.engine = \"mpi\" cannot; "
                         "simulate and tls can");
}

void check_data(const TomlSection& section, const Config& config) {
  auto data = config.data;
  section.check(!data.image || data.images || data.transform != TransformKind::none, "image",
                "the shape of images is for data.transform, which is \"none\", and for models of ",
                "images (", names_of(model_table(), &ModelInfo::takes_images), ")");
  section.check(!data.images || data.transform == TransformKind::none, "transform",
                config.model.name, " learns from images as they are; found \"",
                choice_text(data.transform), "\"");
  data.guarantee = claims_guarantee(config);
  section.located("moments", [&] { check_moments(data, ""); });
  section.located("without_test", [&] { check_without_test(data, ""); });
  section.located(data.fold ? "fold" : "holdout", [&] { check_holdout(data, ""); });
}

void check_run(const TomlSection& section, const AlgorithmInfo& info, const Config& config) {
  const bool wide = config.run.precision == Precision::wide;
  section.check(wide || info.may_be_narrow, "precision", info.name,
                " keeps its state in double; float is for ",
                names_of(algorithm_table(), &AlgorithmInfo::may_be_narrow));
  section.check(wide || config.algorithm.momentum == 1, "precision",
                "algorithm.momentum other than 1 needs \"double\"");
  section.check(!config.run.ema || config.run.engine != EngineKind::cuda, "ema",
                "run.engine = \"cuda\" keeps iterates on the device; an average of them is for the "
                "other engines");
  section.check(config.run.engine == EngineKind::simulate ||
                    config.run.engine == EngineKind::cuda || info.gossips(),
                "engine", "agents in several processes talk to neighbours, and those of ",
                info.name, " do not; it runs with \"simulate\" only");
}

void refuse_unknown_sections(const toml::table& root, const std::string& source) {
  std::set<std::string, std::less<>> known = {"sweep", "agent"};  // sweep.hpp, agent.hpp
  known.insert(std::begin(kSections), std::end(kSections));
  for (const auto& [key, node] : root)
    require(known.contains(key.str()), ErrorKind::usage, toml_place(node, source),
            ": unknown section or key \"", key.str(),
            "\"; expected [data], [model], [network], [algorithm], [privacy], [run], [sweep] or "
            "[agent]");
}

}  // namespace

bool network_changes(const Config& config) {
  return config.network.schedule != "static" || !is_never_absent(config.network.dropout);
}

bool has_clock(const Config& config) {
  const auto& network = config.network;
  return network.latency || network.bandwidth || network.compute;
}

Config read_config(const toml::table& root, const std::string& source) {
  refuse_unknown_sections(root, source);
  Sections sections(root, source);
  Config config;
  set_model(sections, config);
  const auto& info = set_algorithm(sections, config);
  set_privacy(sections, info, source, config);
  read_keys(sections, config);
  check_model(sections, config);
  check_clipping(sections["algorithm"], info, config);
  check_copies(sections["algorithm"], info, config);
  check_messages(sections["algorithm"], info, config);
  check_network(sections["network"], info, config);
  check_clock(sections["network"], info, config);
  check_privacy(sections["privacy"], info, config);
  check_measured(sections, info, config);
  check_data(sections["data"], config);
  check_weigh(sections["data"], info, config);
  check_run(sections["run"], info, config);
  return config;
}

Config parse_config(std::string_view text, const std::string& source,
                    const std::vector<std::string>& overrides) {
  auto root = parse_toml(text, source);
  for (const auto& override : overrides) apply_override(root, override);
  return read_config(root, source);
}

Config load_config(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  return read_config(load_toml(path, overrides), path.string());
}

std::vector<KeyValue> config_values(const Config& config) {
  std::vector<KeyValue> values;
  for (const auto& key : config_keys())
    if (auto text = key.text(config); !text.empty())
      values.push_back({key.section, key.name, std::move(text)});
  return values;
}

std::string to_toml(const Config& config) {
  std::string out, last;
  for (const auto& [section, name, text] : config_values(config)) {
    if (section != last) out += concat(last.empty() ? "" : "\n", "[", section, "]\n");
    out += concat(name, " = ", text, '\n');
    last = section;
  }
  return out;
}

std::vector<KeyHelp> config_help() {
  const auto standard = parse_config("", "the default config");
  std::vector<KeyHelp> keys;
  for (const auto& key : config_keys())
    keys.push_back({key.section, key.name, key.type, key.text(standard), key.help, key.words});
  return keys;
}

}  // namespace porter
