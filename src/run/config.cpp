// SPDX-License-Identifier: Apache-2.0
#include "porter/run/config.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "config_table.hpp"
#include "porter/algo/algorithm.hpp"
#include "porter/compress/compressor.hpp"
#include "porter/core/text.hpp"
#include "porter/io/file.hpp"
#include "porter/privacy/clip.hpp"
#include "toml_section.hpp"

namespace porter {
namespace {

constexpr std::size_t kMostLayers = 1000;

using Clipping = AlgorithmInfo::Clipping;
using Noise = AlgorithmInfo::Noise;
using Meeting = AlgorithmInfo::Meeting;

bool can_be_unbiased(const std::string& compressor) {
  try {
    make_compressor(compressor, true);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void read_choice(TomlSection& section, std::string_view key, std::string& value,
                 const std::vector<std::string>& choices) {
  section.read(key, value);
  std::string list;
  for (const auto& choice : choices) list += (list.empty() ? "" : ", ") + choice;
  section.check(std::find(choices.begin(), choices.end(), value) != choices.end(), key,
                "expected one of ", list, "; found \"", value, "\"");
}

// "0..9"
std::vector<double> parse_label_range(std::string_view text) {
  const auto dots = text.find("..");
  const auto end = dots == text.npos ? std::string_view() : text.substr(dots + 2);
  const auto first = parse_number<std::int32_t>(text.substr(0, dots));
  const auto last = parse_number<std::int32_t>(end);
  require(first && last && *first < *last, ErrorKind::usage,
          "expected a list of labels such as [-1, 1], or a range such as \"0..9\", found \"", text,
          "\"");
  require(std::int64_t{*last} - *first < std::int64_t{kMaxClasses}, ErrorKind::usage,
          "expected at most ", kMaxClasses, " labels, found \"", text, "\"");
  std::vector<double> labels;
  for (double label = *first; label <= *last; ++label) labels.push_back(label);
  return labels;
}

void read_classes(TomlSection& section, std::vector<double>& classes) {
  const auto* node = section.find("classes");
  if (node == nullptr) return;
  if (const auto text = node->value<std::string>()) {
    classes = section.located("classes", [&] { return parse_label_range(*text); });
    return;
  }
  section.check(node->is_array(), "classes",
                "expected a list of labels such as [-1, 1], or a range such as \"0..9\", found ",
                toml_text(*node));
  classes.clear();
  for (const auto& entry : *node->as_array()) {
    const auto label = entry.value<double>();
    section.check(entry.is_number() && std::isfinite(*label), "classes",
                  "a label is a number, as the data file writes it; found ", toml_text(entry));
    classes.push_back(*label);
  }
  section.check(classes.size() >= 2 && classes.size() <= kMaxClasses, "classes", "expected 2 to ",
                kMaxClasses, " labels, found ", classes.size());
  const std::set<double> distinct(classes.begin(), classes.end());
  section.check(distinct.size() == classes.size(), "classes", "a label is listed twice");
}

void read_data(const toml::table& root, const std::string& source, Config& config) {
  TomlSection section(root, "data", source);
  auto& data = config.data;
  section.read("name", data.name);
  section.read("train", data.train);
  section.read("test", data.test);
  section.read("train_images", data.train_images);
  section.read("train_labels", data.train_labels);
  section.read("test_images", data.test_images);
  section.read("test_labels", data.test_labels);
  section.read_count("features", data.features, 1);
  read_classes(section, data.classes);
  section.read("split", config.split);
  section.read("scale", data.scale);
  section.read("outliers", data.outliers);
  section.read("bias", data.bias);
  section.refuse_unknown_keys();
}

void read_model(const toml::table& root, const std::string& source, Config& config) {
  TomlSection section(root, "model", source);
  section.read("name", config.model.name);
  const std::set<std::string> names = {"logistic", "softmax", "mlp", "linear"};
  section.check(names.contains(config.model.name), "name",
                "expected logistic, softmax, mlp or linear, found \"", config.model.name, "\"");
  config.model.lambda = config.model.name == "logistic" ? 0.2 : 0.0;
  section.read("lambda", config.model.lambda);
  section.check(config.model.lambda >= 0, "lambda", "expected a number >= 0, found ",
                config.model.lambda);
  const bool mlp = config.model.name == "mlp";
  section.check(mlp || !section.has("hidden"), "hidden",
                "only model.name = \"mlp\" has hidden layers");
  section.check(mlp || !section.has("activation"), "activation",
                "only model.name = \"mlp\" has an activation");
  section.read("hidden", config.model.hidden);
  section.check(config.model.hidden.size() <= kMostLayers, "hidden", "expected at most ",
                kMostLayers, " layers, found ", config.model.hidden.size());
  section.read("activation", config.model.activation);
  section.refuse_unknown_keys();
  config.data.regression = config.model.name == "linear";
  TomlSection(root, "data", source)
      .check(!config.data.regression || config.data.classes.empty(), "classes",
             "model.name = \"linear\" predicts a number and has no classes");
  if (mlp) config.data.bias = false;  // its layers have their own
}

void read_network(const toml::table& root, const std::string& source, Config& config) {
  TomlSection section(root, "network", source);
  section.read_count("agents", config.network.agents, 1);
  section.read("graph", config.network.graph);
  section.read("mixing", config.network.mixing);
  section.refuse_unknown_keys();
}

void read_clipping(TomlSection& section, const AlgorithmInfo& info, Config& config) {
  auto& algorithm = config.algorithm;
  const bool clips = info.clipping == Clipping::sample || info.clipping == Clipping::batch ||
                     info.noise == Noise::always;
  algorithm.clip = clips ? "smooth:1.0" : "none";
  section.read("clip", algorithm.clip);
  const Clip clip = section.located("clip", [&] { return parse_clip(algorithm.clip); });
  algorithm.clip = to_string(clip);
  const bool none = clip.kind == Clip::Kind::none;
  section.check(info.clipping != Clipping::none || none, "clip", info.name,
                " does not clip (porter-gc is ", info.name, " with clipping); found \"",
                algorithm.clip, "\"");
  section.check(!none || !(info.clipping == Clipping::sample || info.clipping == Clipping::batch),
                "clip", info.name, " needs smooth:TAU or linear:TAU, found \"none\"");

  algorithm.clip_target = info.clipping == Clipping::batch ? "batch" : "sample";
  const std::string fixed = algorithm.clip_target;
  section.read("clip_target", algorithm.clip_target);
  section.check(algorithm.clip_target == "sample" || algorithm.clip_target == "batch",
                "clip_target", "expected sample or batch, found \"", algorithm.clip_target, "\"");
  section.check(info.clipping == Clipping::free || info.clipping == Clipping::none ||
                    algorithm.clip_target == fixed,
                "clip_target", info.name, " clips each ", fixed, "; found \"",
                algorithm.clip_target, "\"");
}

void read_compressor(TomlSection& section, const AlgorithmInfo& info, Config& config) {
  auto& algorithm = config.algorithm;
  algorithm.compressor = info.compresses ? "random_k:0.05" : "identity";
  section.read("compressor", algorithm.compressor);
  section.located("compressor", [&] { make_compressor(algorithm.compressor); });
  section.check(info.compresses || algorithm.compressor == "identity", "compressor", info.name,
                " sends dense messages, so only \"identity\" fits; found \"", algorithm.compressor,
                "\"");
  // A server averages what clients send, so there an unbiased compressor is preferred where one
  // exists.
  if (info.meeting == Meeting::server) algorithm.unbiased = can_be_unbiased(algorithm.compressor);
  section.read("unbiased", algorithm.unbiased);
  section.located("unbiased", [&] { make_compressor(algorithm.compressor, algorithm.unbiased); });
  section.read("shift", algorithm.shift);
  const bool shifts = info.name.starts_with("soteriafl");
  section.check(shifts || !algorithm.shift, "shift", "only soteriafl has shifts");
  section.check(!algorithm.shift || *algorithm.shift >= 0, "shift",
                "expected a number >= 0, found ", algorithm.shift.value_or(0));
}

void read_batch(TomlSection& section, std::size_t& batch) {
  const auto* node = section.find("batch");
  if (node != nullptr && node->is_string()) {
    section.check(*node->value<std::string>() == "full", "batch",
                  "expected a whole number or \"full\", found \"", *node->value<std::string>(),
                  "\"");
    batch = 0;
  } else {
    section.read_count("batch", batch, 1);
  }
}

void read_gossip(TomlSection& section, const AlgorithmInfo& info, Config& config) {
  auto& algorithm = config.algorithm;
  section.read("momentum", algorithm.momentum);
  section.check(algorithm.momentum > 0 && algorithm.momentum <= 1, "momentum",
                "expected a number in (0, 1], found ", algorithm.momentum);
  section.read_count("gossip", algorithm.gossip, 1);
  section.check(algorithm.gossip == 1 || info.meeting == Meeting::neighbours, "gossip", info.name,
                " does not gossip; found ", algorithm.gossip);
  section.check(algorithm.gossip == 1 || info.name != "deepsqueeze", "gossip",
                "deepsqueeze has one gossip step per gradient; found ", algorithm.gossip);
  section.check(std::uint64_t{algorithm.gossip} * algorithm.rounds <= 0xFFFFFFFF, "gossip",
                "rounds times gossip must stay below 2^32; found ", algorithm.rounds, " times ",
                algorithm.gossip);
  algorithm.mask = info.mask_is_sweep ? "sweep" : "own";
  read_choice(section, "mask", algorithm.mask, {"own", "shared", "sweep"});
  section.check(!info.mask_is_sweep || algorithm.mask == "sweep", "mask", info.name,
                " sweeps; found \"", algorithm.mask, "\"");
  const bool sparse = split_spec(algorithm.compressor).name == "random_k";
  section.check(algorithm.mask == "own" || (sparse && info.meeting == Meeting::neighbours), "mask",
                "only random_k between neighbours has a mask to share; found ", info.name,
                " with \"", algorithm.compressor, "\"");
  section.read("snapshot", algorithm.snapshot);
  section.check(!algorithm.snapshot || info.name == "soteriafl-svrg", "snapshot",
                "only soteriafl-svrg has snapshots");
  section.check(!algorithm.snapshot || (*algorithm.snapshot > 0 && *algorithm.snapshot <= 1),
                "snapshot", "expected a probability in (0, 1], found ",
                algorithm.snapshot.value_or(0));
}

void read_algorithm(const toml::table& root, const std::string& source, Config& config) {
  TomlSection section(root, "algorithm", source);
  auto& algorithm = config.algorithm;
  section.read("name", algorithm.name);
  const auto& info = section.located(
      "name", [&]() -> const AlgorithmInfo& { return find_algorithm(algorithm.name); });
  section.read_count("rounds", algorithm.rounds, 1);
  section.read("step", algorithm.step);
  section.check(algorithm.step > 0, "step", "expected a number > 0, found ", algorithm.step);
  section.read("consensus", algorithm.consensus);
  section.check(algorithm.consensus > 0 && algorithm.consensus <= 1, "consensus",
                "expected a number in (0, 1], found ", algorithm.consensus);
  read_batch(section, algorithm.batch);
  read_clipping(section, info, config);
  read_compressor(section, info, config);
  section.read("start", algorithm.start);
  read_gossip(section, info, config);
  section.refuse_unknown_keys();
}

void read_privacy(const toml::table& root, const std::string& source, Config& config) {
  TomlSection section(root, "privacy", source);
  const auto& info = find_algorithm(config.algorithm.name);
  require(!section.present() || info.noise != Noise::never, ErrorKind::usage, source,
          ": [privacy]: ", info.name,
          " adds no noise; remove the section, or choose an algorithm that adds it (porter-dp)");
  if (!section.present() && info.noise != Noise::always) return;

  auto& privacy = config.privacy.emplace();
  section.read("epsilon", privacy.epsilon);
  section.check(privacy.epsilon > 0, "epsilon", "expected a number > 0, found ", privacy.epsilon);
  section.read("delta", privacy.delta);
  section.check(privacy.delta > 0 && privacy.delta < 1, "delta",
                "expected a number strictly between 0 and 1, found ", privacy.delta);
  section.read("sigma", privacy.sigma);
  if (privacy.sigma) privacy.calibration = "sigma";
  read_choice(section, "calibration", privacy.calibration, {"accountant", "paper", "sigma"});
  section.check(privacy.calibration != "sigma" || privacy.sigma, "sigma",
                "calibration = \"sigma\" needs it");
  section.check(privacy.calibration == "sigma" || !privacy.sigma, "sigma",
                "needs calibration = \"sigma\", found \"", privacy.calibration, "\"");
  section.check(!privacy.sigma || *privacy.sigma >= 0, "sigma", "expected a number >= 0, found ",
                privacy.sigma.value_or(0));
  section.check(privacy.calibration == "sigma" || config.algorithm.clip != "none", "calibration",
                "noise for an epsilon needs a clipping threshold, but algorithm.clip is \"none\"");
  section.check(privacy.calibration != "accountant" || config.algorithm.clip_target == "sample",
                "calibration", "the accountant needs algorithm.clip_target = \"sample\"");
  read_choice(section, "sampler", privacy.sampler, {"fixed", "poisson"});
  read_choice(section, "adjacency", privacy.adjacency, {"replace", "add-remove"});
  section.check(
      privacy.adjacency == "replace" || privacy.sampler == "poisson", "adjacency",
      "add-remove needs sampler = \"poisson\": with a fixed batch size it is not defined");
  read_choice(section, "noise", privacy.noise, {"simulated", "secure"});
  section.read("allow_large_delta", privacy.allow_large_delta);
  section.refuse_unknown_keys();
}

constexpr std::pair<std::string_view, Schedule::Kind> kSchedules[] = {
    {"every", Schedule::Kind::every},
    {"log", Schedule::Kind::log},
    {"log-all", Schedule::Kind::log_all}};

Schedule parse_schedule(const std::string& text) {
  if (text == "end") return {Schedule::Kind::end, 0};
  const auto spec = split_spec(text);
  const auto count = spec.number<std::uint32_t>();
  for (const auto& [name, kind] : kSchedules)
    if (spec.name == name && count && *count > 0) return {kind, *count};
  fail(ErrorKind::usage, "expected every:N, log:POINTS, log-all:POINTS or end, found \"", text,
       "\"");
}

void read_run(const toml::table& root, const std::string& source, Config& config) {
  TomlSection section(root, "run", source);
  section.read_count("seed", config.run.seed, 0, std::numeric_limits<std::int64_t>::max());
  section.read_count("threads", config.run.threads, 0, 1024);
  std::string evaluate = to_string(config.run.evaluate);
  section.read("evaluate", evaluate);
  config.run.evaluate = section.located("evaluate", [&] { return parse_schedule(evaluate); });
  read_choice(section, "precision", config.run.precision, {"double", "float"});
  section.check(
      config.run.precision == "double" || find_algorithm(config.algorithm.name).may_be_narrow,
      "precision", config.algorithm.name,
      " keeps its state in double; float is for porter-dp, porter-gc and beer");
  section.check(config.run.precision == "double" || config.algorithm.momentum == 1, "precision",
                "algorithm.momentum other than 1 needs \"double\"");
  const auto* engine = section.find("engine");
  if (engine != nullptr && engine->value<std::string>() == "grpc")
    config.run.engine = "tls";  // which version 0.1 called by what it was made of
  else
    read_choice(section, "engine", config.run.engine, {"simulate", "mpi", "tls"});
  section.check(config.run.engine == "simulate" || find_algorithm(config.algorithm.name).gossips(),
                "engine", "agents in several processes talk to neighbours, and those of ",
                config.algorithm.name, " do not; it runs with \"simulate\" only");
  std::string checkpoint = "off";
  section.read("checkpoint", checkpoint);
  if (checkpoint != "off") {
    const auto spec = split_spec(checkpoint);
    const auto period = spec.number<std::uint32_t>();
    section.check(spec.name == "every" && period && *period > 0, "checkpoint",
                  "expected off or every:N, found \"", checkpoint, "\"");
    config.run.checkpoint_every = *period;
  }
  section.refuse_unknown_keys();
}

void refuse_unknown_sections(const toml::table& root, const std::string& source) {
  const std::set<std::string, std::less<>> known = {
      "data",    "model", "network", "algorithm",
      "privacy", "run",   "sweep",   "agent"};  // the last two: sweep.hpp, agent.hpp
  for (const auto& [key, node] : root)
    require(known.contains(key.str()), ErrorKind::usage, toml_place(node, source),
            ": unknown section or key \"", key.str(),
            "\"; expected [data], [model], [network], [algorithm], [privacy], [run], [sweep] or "
            "[agent]");
}

}  // namespace

Config read_config(const toml::table& root, const std::string& source) {
  refuse_unknown_sections(root, source);
  Config config;
  read_data(root, source, config);
  read_model(root, source, config);
  read_network(root, source, config);
  read_algorithm(root, source, config);
  read_privacy(root, source, config);
  read_run(root, source, config);
  return config;
}

Config parse_config(std::string_view text, const std::string& source,
                    const std::vector<std::string>& overrides) {
  auto root = parse_toml(text, source);
  for (const auto& override : overrides) apply_override(root, override);
  return read_config(root, source);
}

Config load_config(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  auto root = parse_toml(read_file(path, 1U << 20), path.string());
  for (const auto& override : overrides) apply_override(root, override);
  resolve_paths(root, std::filesystem::absolute(path).parent_path());
  return read_config(root, path.string());
}

std::string to_string(const Schedule& schedule) {
  for (const auto& [name, kind] : kSchedules)
    if (schedule.kind == kind) return std::string(name) + ":" + std::to_string(schedule.count);
  return "end";
}

}  // namespace porter
