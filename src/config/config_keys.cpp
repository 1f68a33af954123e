// SPDX-License-Identifier: Apache-2.0
#include "config/config_keys.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>

#include "core/text.hpp"
#include "data/catalog.hpp"
#include "io/file.hpp"
#include "porter/compress/compressor.hpp"
#include "porter/graph/mixing.hpp"

namespace porter {
namespace {

constexpr std::size_t kMaxLayers = 1000;

// --- texts of values

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

template <class Number>
requires std::is_arithmetic_v<Number> std::string text_of(Number value) {
  if constexpr (std::is_same_v<Number, bool>) return value ? "true" : "false";
  if constexpr (std::is_floating_point_v<Number>) return shortest(value);
  return std::to_string(value);
}
std::string text_of(const std::optional<double>& value) { return value ? shortest(*value) : ""; }

// -1 and not -1.0, as data files have it.
std::string label_text(double label) {
  const bool whole = label == std::floor(label) && std::abs(label) <= 1e9;
  return whole ? std::to_string(static_cast<std::int64_t>(label)) : shortest(label);
}

// As a range where it is one: neighbours compare the text, and show it where it differs.
std::string labels_text(const std::vector<double>& labels) {
  constexpr std::size_t kWorthARange = 4;
  if (labels.empty()) return "";
  bool range =
      labels.size() >= kWorthARange && label_text(labels[0]).find('.') == std::string::npos;
  std::string list;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    range = range && labels[i] == labels[0] + static_cast<double>(i);
    list += (i == 0 ? "" : ", ") + label_text(labels[i]);
  }
  if (range) return in_quotes(label_text(labels.front()) + ".." + label_text(labels.back()));
  return "[" + list + "]";
}

// --- readers of values that have more than one form

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

void read_classes(TomlSection& section, Config& config) {
  const auto* node = section.find("classes");
  if (node == nullptr) return;
  auto& classes = config.data.classes;
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

void read_batch(TomlSection& section, Config& config) {
  const auto* node = section.find("batch");
  if (node != nullptr && node->is_string()) {
    section.check(*node->value<std::string>() == "full", "batch",
                  "expected a whole number or \"full\", found \"", *node->value<std::string>(),
                  "\"");
    config.algorithm.batch = 0;
  } else {
    section.read_count("batch", config.algorithm.batch, 1);
  }
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

std::uint32_t parse_checkpoint(const std::string& text) {
  if (text == "off") return 0;
  const auto spec = split_spec(text);
  const auto period = spec.number<std::uint32_t>();
  require(spec.name == "every" && period && *period > 0, ErrorKind::usage,
          "expected off or every:N, found \"", text, "\"");
  return *period;
}

std::string checkpoint_text(std::uint32_t period) {
  return period == 0 ? "off" : "every:" + std::to_string(period);
}

// Version 0.1 called an engine by what it was made of.
EngineKind parse_engine(const std::string& text) {
  return text == "grpc" ? EngineKind::tls : parse_choice<EngineKind>(text);
}

void read_compressor(TomlSection& section, Config& config) {
  section.read("compressor", config.algorithm.compressor);
  section.located("compressor", [&] { make_compressor(config.algorithm.compressor); });
}

bool can_be_unbiased(const std::string& compressor) {
  try {
    make_compressor(compressor, true);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// A server averages what clients send, so there an unbiased compressor is preferred where one
// exists.
void read_unbiased(TomlSection& section, Config& config) {
  auto& algorithm = config.algorithm;
  if (find_algorithm(algorithm.name).meeting == AlgorithmInfo::Meeting::server)
    algorithm.unbiased = can_be_unbiased(algorithm.compressor);
  section.read("unbiased", algorithm.unbiased);
  section.located("unbiased", [&] { make_compressor(algorithm.compressor, algorithm.unbiased); });
}

// --- rows of the table

struct Range {
  const char* text;
  bool (*holds)(double);
};
constexpr Range kPositive = {"a number > 0", [](double x) { return x > 0; }};
constexpr Range kNotNegative = {"a number >= 0", [](double x) { return x >= 0; }};
constexpr Range kShare = {"a number in (0, 1]", [](double x) { return x > 0 && x <= 1; }};
constexpr Range kProbability = {"a number strictly between 0 and 1",
                                [](double x) { return x > 0 && x < 1; }};

// `get` gives a reference into a Config, const or not.
template <class Get>
ConfigKey text_key(std::string section, std::string name, std::string type, Get get,
                   std::string help) {
  return {.section = std::move(section),
          .name = name,
          .type = std::move(type),
          .help = std::move(help),
          .read = [name, get](TomlSection& from, Config& config) { from.read(name, get(config)); },
          .text = [get](const Config& config) { return in_quotes(get(config)); }};
}

// The name of a file; absent where it is empty.
template <class Get>
ConfigKey file_key(std::string section, std::string name, Get get, std::string help) {
  auto key = text_key(std::move(section), std::move(name), "file", get, std::move(help));
  key.scope = KeyScope::file;
  key.text = [get](const Config& config) {
    return get(config).empty() ? "" : in_quotes(get(config));
  };
  key.file = [get](Config& config) { return &get(config); };
  return key;
}

// A text that may be file:NAME.
template <class Get>
ConfigKey spec_key(std::string section, std::string name, std::string type, Get get,
                   std::string help) {
  auto key = text_key(std::move(section), std::move(name), std::move(type), get, std::move(help));
  key.scope = KeyScope::file;
  key.file = [get](Config& config) { return &get(config); };
  key.spec = true;
  return key;
}

template <class Get>
ConfigKey flag_key(std::string section, std::string name, Get get, std::string help) {
  return {.section = std::move(section),
          .name = name,
          .type = "true or false",
          .help = std::move(help),
          .read = [name, get](TomlSection& from, Config& config) { from.read(name, get(config)); },
          .text = [get](const Config& config) { return text_of(get(config)); }};
}

// A number, or one that may be absent.
template <class Get>
ConfigKey number_key(std::string section, std::string name, Range range, Get get,
                     std::string help) {
  const auto read = [name, range, get](TomlSection& from, Config& config) {
    auto& value = get(config);
    from.read(name, value);
    const std::optional<double> found = value;
    from.check(!found || range.holds(*found), name, "expected ", range.text, ", found ",
               found.value_or(0));
  };
  return {.section = std::move(section),
          .name = name,
          .type = range.text,
          .help = std::move(help),
          .read = read,
          .text = [get](const Config& config) { return text_of(get(config)); }};
}

template <class Get>
ConfigKey count_key(std::string section, std::string name, std::int64_t least, std::int64_t most,
                    Get get, std::string help) {
  return {.section = std::move(section),
          .name = name,
          .type = most == TomlSection::kMostCount
                      ? concat("a whole number >= ", least)
                      : concat("a whole number from ", least, " to ", most),
          .help = std::move(help),
          .read = [name, least, most, get](
                      TomlSection& from,
                      Config& config) { from.read_count(name, get(config), least, most); },
          .text = [get](const Config& config) { return text_of(get(config)); }};
}

template <class Enum>
std::vector<std::string> words_of(const std::vector<Enum>& values) {
  std::vector<std::string> words;
  for (const auto value : values) words.emplace_back(choice_text(value));
  return words;
}

template <class Enum, class Get>
ConfigKey choice_key(std::string section, std::string name, std::vector<Enum> allowed, Get get,
                     std::string help) {
  const auto read = [name, allowed, get](TomlSection& from, Config& config) {
    std::string text(choice_text(get(config)));
    from.read(name, text);
    get(config) =
        from.located(name, [&] { return parse_choice(text, std::span<const Enum>(allowed)); });
  };
  return {.section = std::move(section),
          .name = name,
          .type = choice_list(std::span<const Enum>(allowed)),
          .help = std::move(help),
          .read = read,
          .text = [get](const Config& config) { return in_quotes(choice_text(get(config))); },
          .words = words_of(allowed)};
}
template <class Enum, class Get>
ConfigKey choice_key(std::string section, std::string name, Get get, std::string help) {
  const auto all = all_choices<Enum>();
  return choice_key<Enum>(std::move(section), std::move(name), {all.begin(), all.end()}, get,
                          std::move(help));
}

// A value with a parser and a writer of its own.
template <class Get, class Parse, class Text>
ConfigKey parsed_key(std::string section, std::string name, std::string type, Get get, Parse parse,
                     Text text, std::string help) {
  const auto read = [name, get, parse, text](TomlSection& from, Config& config) {
    std::string value = text(get(config));
    from.read(name, value);
    get(config) = from.located(name, [&] { return parse(value); });
  };
  return {.section = std::move(section),
          .name = name,
          .type = std::move(type),
          .help = std::move(help),
          .read = read,
          .text = [get, text](const Config& config) { return in_quotes(text(get(config))); }};
}

ConfigKey only_where(bool (*applies)(const Config&), ConfigKey key) {
  key.text = [applies, text = std::move(key.text)](const Config& config) {
    return applies(config) ? text(config) : "";
  };
  return key;
}

// A column of a table of names.
template <class Table, class Name>
ConfigKey with_words(const Table& table, Name name, ConfigKey key) {
  for (const auto& row : table) key.words.push_back(row.*name);
  return key;
}

ConfigKey conduct(ConfigKey key) {
  key.scope = KeyScope::conduct;
  return key;
}

bool is_known_data(const Config& config) {
  return config.data.train.empty() && config.data.train_images.empty();
}

std::string hidden_text(const Config& config) {
  std::string list;
  for (const auto width : config.model.hidden) list += (list.empty() ? "" : ", ") + text_of(width);
  return "[" + list + "]";
}

void read_hidden(TomlSection& section, Config& config) {
  section.read("hidden", config.model.hidden);
  section.check(config.model.hidden.size() <= kMaxLayers, "hidden", "expected at most ", kMaxLayers,
                " layers, found ", config.model.hidden.size());
}

#define PORTER_FIELD(field) \
  [](auto& c) -> auto& { return c.field; }

std::vector<ConfigKey> data_keys() {
  return {
      only_where(is_known_data,
                 with_words(known_data(), &KnownData::name,
                            text_key("data", "name", "a known data set", PORTER_FIELD(data.name),
                                     "porter list data has them"))),
      file_key("data", "train", PORTER_FIELD(data.train),
               "training rows instead of name: libsvm, csv or npz, also .gz"),
      file_key("data", "test", PORTER_FIELD(data.test), "test rows"),
      file_key("data", "train_images", PORTER_FIELD(data.train_images), "training rows as IDX"),
      file_key("data", "train_labels", PORTER_FIELD(data.train_labels), "their labels"),
      file_key("data", "test_images", PORTER_FIELD(data.test_images), "test rows as IDX"),
      file_key("data", "test_labels", PORTER_FIELD(data.test_labels), "their labels"),
      only_where(
          [](const Config& config) { return config.data.features > 0; },
          count_key("data", "features", 1, TomlSection::kMostCount, PORTER_FIELD(data.features),
                    "columns without the bias; needed for files with secret noise")),
      {.section = "data",
       .name = "classes",
       .type = "a list of labels, or a range \"0..9\"",
       .help = "labels in the order of class numbers; needed for files with secret noise",
       .read = read_classes,
       .text = [](const Config& config) { return labels_text(config.data.classes); }},
      parsed_key(
          "data", "split", "shuffled, contiguous, by-label, dirichlet:A", PORTER_FIELD(split),
          parse_split, [](const Split& split) { return to_string(split); },
          "how training rows are given to agents"),
      choice_key<FeatureScale>("data", "scale", PORTER_FIELD(data.scale),
                               "how features are scaled, measured on the training rows"),
      only_where([](const Config& config) { return config.data.outliers != "none"; },
                 text_key("data", "outliers", "none, FRACTION:FACTOR", PORTER_FIELD(data.outliers),
                          "so many training rows, times the factor")),
      flag_key("data", "bias", PORTER_FIELD(data.bias),
               "append a column of ones (not for mlp, which has its own)"),
  };
}

std::vector<ConfigKey> model_keys() {
  const auto is_layered = [](const Config& config) {
    return find_model(config.model.name).layered;
  };
  return {
      with_words(model_table(), &ModelInfo::name,
                 text_key("model", "name", "a model", PORTER_FIELD(model.name),
                          "what is trained; porter list models has them")),
      number_key("model", "lambda", kNotNegative, PORTER_FIELD(model.lambda),
                 "weight of the nonconvex regulariser; 0 unless logistic"),
      only_where(is_layered, {.section = "model",
                              .name = "hidden",
                              .type = "a list of widths such as [64]",
                              .help = "hidden layers of an mlp",
                              .read = read_hidden,
                              .text = hidden_text}),
      only_where(is_layered,
                 choice_key<ActivationKind>("model", "activation", PORTER_FIELD(model.activation),
                                            "of the hidden layers")),
  };
}

std::vector<ConfigKey> network_keys() {
  return {
      count_key("network", "agents", 1, TomlSection::kMostCount, PORTER_FIELD(network.agents),
                "how many agents, n"),
      with_words(graph_table(), &GraphInfo::example,
                 spec_key("network", "graph", "a graph, or file:EDGES", PORTER_FIELD(network.graph),
                          "who talks to whom; porter list graphs has them")),
      with_words(
          mixing_table(), &MixingInfo::example,
          spec_key("network", "mixing", "a rule, or file:W.npy", PORTER_FIELD(network.mixing),
                   "the weights W; porter list mixings has them")),
  };
}

std::vector<ConfigKey> algorithm_keys() {
  std::vector<std::string> examples;
  for (const auto& info : compressor_table()) examples.push_back(info.example);
  return {
      with_words(algorithm_table(), &AlgorithmInfo::name,
                 text_key("algorithm", "name", "an algorithm", PORTER_FIELD(algorithm.name),
                          "porter list algorithms has them")),
      count_key("algorithm", "rounds", 1, TomlSection::kMostCount, PORTER_FIELD(algorithm.rounds),
                "T, gradients of each agent"),
      number_key("algorithm", "step", kPositive, PORTER_FIELD(algorithm.step), "step size eta"),
      number_key("algorithm", "consensus", kShare, PORTER_FIELD(algorithm.consensus),
                 "consensus step size gamma"),
      {.section = "algorithm",
       .name = "batch",
       .type = "a whole number >= 1, or \"full\"",
       .help = "records in a gradient, b",
       .read = read_batch,
       .text =
           [](const Config& config) {
             return config.algorithm.batch == 0 ? "\"full\"" : text_of(config.algorithm.batch);
           }},
      parsed_key(
          "algorithm", "clip", "smooth:TAU, linear:TAU, none", PORTER_FIELD(algorithm.clip),
          parse_clip, [](const Clip& clip) { return to_string(clip); },
          "how gradients are clipped; none where the algorithm does not"),
      choice_key<ClipTarget>("algorithm", "clip_target", PORTER_FIELD(algorithm.clip_target),
                             "what is clipped; a guarantee needs each sample"),
      {.section = "algorithm",
       .name = "compressor",
       .type = "a compressor",
       .help = "of messages; porter list compressors has them",
       .read = read_compressor,
       .text = [](const Config& config) { return in_quotes(config.algorithm.compressor); },
       .words = examples},
      {.section = "algorithm",
       .name = "unbiased",
       .type = "true or false",
       .help = "scale messages to be unbiased; true with a server where possible",
       .read = read_unbiased,
       .text = [](const Config& config) { return text_of(config.algorithm.unbiased); }},
      spec_key("algorithm", "start", "zeros, normal:STDDEV, numpy:STDDEV:SEED, file:X0.npy",
               PORTER_FIELD(algorithm.start), "x0, the same at all agents"),
      number_key("algorithm", "shift", kNotNegative, PORTER_FIELD(algorithm.shift),
                 "SoteriaFL's gamma_s; from omega unless given"),
      number_key("algorithm", "snapshot", {"a probability in (0, 1]", kShare.holds},
                 PORTER_FIELD(algorithm.snapshot),
                 "SoteriaFL-SVRG: of a new snapshot in a round; b/m unless given"),
      number_key("algorithm", "momentum", kShare, PORTER_FIELD(algorithm.momentum),
                 "beta of M = (1-beta) M + beta G; 1: off"),
      count_key("algorithm", "gossip", 1, TomlSection::kMostCount, PORTER_FIELD(algorithm.gossip),
                "gossip steps per gradient"),
      choice_key<Mask>("algorithm", "mask", PORTER_FIELD(algorithm.mask),
                       "whose random coordinates travel (random_k)"),
  };
}

// A guarantee of epsilon at a sigma that is given means a calibration of this kind.
void read_calibration(TomlSection& section, Config& config) {
  auto& privacy = *config.privacy;
  if (section.has("sigma")) privacy.calibration = Calibration::sigma;
  static const auto key =
      choice_key<Calibration>("privacy", "calibration", PORTER_FIELD(privacy->calibration), "");
  key.read(section, config);
}

std::vector<ConfigKey> privacy_keys() {
  auto calibration =
      choice_key<Calibration>("privacy", "calibration", PORTER_FIELD(privacy->calibration),
                              "least sigma for epsilon, the paper's formula, or sigma as given");
  calibration.read = read_calibration;
  std::vector<ConfigKey> keys = {
      number_key("privacy", "epsilon", kPositive, PORTER_FIELD(privacy->epsilon),
                 "budget of each record"),
      number_key("privacy", "delta", kProbability, PORTER_FIELD(privacy->delta),
                 "probability with which the promise may fail"),
      calibration,
      number_key("privacy", "sigma", kNotNegative, PORTER_FIELD(privacy->sigma),
                 "standard deviation of the noise, with calibration = \"sigma\""),
      choice_key<Sampler>("privacy", "sampler", {Sampler::fixed, Sampler::poisson},
                          PORTER_FIELD(privacy->sampler), "how batches are drawn"),
      choice_key<Adjacency>("privacy", "adjacency", PORTER_FIELD(privacy->adjacency),
                            "which data sets are neighbours; add-remove needs poisson"),
      choice_key<NoiseSource>("privacy", "noise", PORTER_FIELD(privacy->noise),
                              "simulated: from the seed, not private; secure: secret"),
      flag_key("privacy", "allow_large_delta", PORTER_FIELD(privacy->allow_large_delta),
               "accept delta >= 1/m"),
  };
  for (auto& key : keys)
    key =
        only_where([](const Config& config) { return config.privacy.has_value(); }, std::move(key));
  return keys;
}

std::vector<ConfigKey> run_keys() {
  return {
      count_key("run", "seed", 0, std::numeric_limits<std::int64_t>::max(), PORTER_FIELD(run.seed),
                "of everything random that is not secret"),
      conduct(count_key("run", "threads", 0, 1024, PORTER_FIELD(run.threads), "0: all cores")),
      parsed_key(
          "run", "evaluate", "every:N, log:POINTS, log-all:POINTS, end", PORTER_FIELD(run.evaluate),
          parse_schedule, [](const Schedule& schedule) { return to_string(schedule); },
          "when metrics are computed"),
      choice_key<Precision>("run", "precision", PORTER_FIELD(run.precision),
                            "numbers of the algorithm's state"),
      conduct(parsed_key(
          "run", "engine", choice_list<EngineKind>(all_choices<EngineKind>()),
          PORTER_FIELD(run.engine), parse_engine,
          [](EngineKind kind) { return std::string(choice_text(kind)); },
          "one process, ranks of a job, or networked agents")),
      conduct(parsed_key("run", "checkpoint", "off, every:N", PORTER_FIELD(run.checkpoint_every),
                         parse_checkpoint, checkpoint_text, "rounds between checkpoints")),
  };
}

#undef PORTER_FIELD

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const auto table = [] {
    std::vector<ConfigKey> all;
    for (auto keys :
         {data_keys(), model_keys(), network_keys(), algorithm_keys(), privacy_keys(), run_keys()})
      all.insert(all.end(), keys.begin(), keys.end());
    return all;
  }();
  return table;
}

const ConfigKey* find_key(std::string_view path) {
  for (const auto& key : config_keys())
    if (key.path() == path) return &key;
  return nullptr;
}

std::string with_file(const ConfigKey& key, const std::string& text,
                      const std::function<std::string(const std::string&)>& rename) {
  if (!key.file || text.empty()) return text;
  if (!key.spec) return rename(text);
  const auto spec = split_spec(text);
  const bool names_file = spec.name == "file" && spec.argument;
  return names_file ? "file:" + rename(std::string(*spec.argument)) : text;
}

std::map<std::string, std::string> identity(const Config& config) {
  auto shared = config;
  std::map<std::string, std::string> texts;
  for (const auto& key : config_keys()) {
    if (key.scope == KeyScope::conduct) continue;
    if (key.file) {
      auto& text = *key.file(shared);
      text = with_file(key, text, [](const std::string& file) {
        return std::filesystem::path(file).filename().string();
      });
    }
    if (auto text = key.text(shared); !text.empty()) texts[key.path()] = std::move(text);
  }
  return texts;
}

std::string run_id(const Config& config) {
  std::string all;
  for (const auto& [key, text] : identity(config)) all += concat(key, " = ", text, '\n');
  return sha256_hex(all).substr(0, 32);
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

std::string to_string(const Schedule& schedule) {
  for (const auto& [name, kind] : kSchedules)
    if (schedule.kind == kind) return std::string(name) + ":" + std::to_string(schedule.count);
  return "end";
}

}  // namespace porter
