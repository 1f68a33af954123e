// SPDX-License-Identifier: Apache-2.0
#include "config/config_keys.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "core/text.hpp"
#include "data/catalog.hpp"
#include "io/file.hpp"
#include "io/toml.hpp"
#include "porter/compress/compressor.hpp"
#include "porter/graph/absences.hpp"
#include "porter/graph/changing_network.hpp"
#include "porter/graph/graph.hpp"
#include "porter/graph/mixing.hpp"
#include "value_forms.hpp"

namespace porter {
namespace {

struct Range {
  const char* text;
  bool (*holds)(double);
};
constexpr Range kPositive = {"a number > 0", [](double x) { return x > 0; }};
constexpr Range kNotNegative = {"a number >= 0", [](double x) { return x >= 0; }};
constexpr Range kShare = {"a number in (0, 1]", [](double x) { return x > 0 && x <= 1; }};
constexpr Range kPartOrNone = {"a number from 0 to below 1",
                               [](double x) { return x >= 0 && x < 1; }};
constexpr Range kPairRatio = {"a number above 0, up to 1024",
                              [](double x) { return x > 0 && x <= kLargestPairRatio; }};
constexpr Range kProbability = {"a number strictly between 0 and 1",
                                [](double x) { return x > 0 && x < 1; }};

// The key's path and a function that gives its field in a Config, const or not. A field of Config
// has the name of its key.
// clang-format off
#define KEY(path) #path, [](auto& config) -> auto& { return config.path; }
#define PRIVACY(name) \
  "privacy." #name, [](auto& config) -> auto& { return config.privacy->name; }
// clang-format on

using Name = const std::string&;

// `read` takes the key's name and its field.
template <class Get, class Read>
ConfigKey row(std::string_view path, Get get, std::string type, const char* help, Read read) {
  const auto dot = path.find('.');
  const std::string name(path.substr(dot + 1));
  return {.section = std::string(path.substr(0, dot)),
          .name = name,
          .type = std::move(type),
          .help = help,
          .read = [=](TomlSection& from, Config& config) { read(from, name, get(config)); },
          .text = [get](const Config& config) { return text_of(get(config)); }};
}
// A value that is read as its type says.
template <class Get>
ConfigKey row(std::string_view path, Get get, std::string type, const char* help) {
  return row(path, get, std::move(type), help,
             [](TomlSection& from, Name name, auto& value) { from.read(name, value); });
}

template <class Parse>
auto parsed(Parse parse) {
  return
      [parse](TomlSection& from, Name name, auto& value) { from.read_parsed(name, value, parse); };
}

// A text that may be file:NAME, or another word in the place of file (with_file knows them).
template <class Get>
ConfigKey spec_row(std::string_view path, Get get, std::string type, const char* help) {
  auto key = row(path, get, std::move(type), help);
  key.scope = KeyScope::file;
  key.file = [get](Config& config) { return &get(config); };
  key.spec = true;
  return key;
}
// The name of a file; absent where it is empty.
template <class Get>
ConfigKey file_row(std::string_view path, Get get, const char* help) {
  auto key = spec_row(path, get, "file", help);
  key.spec = false;
  key.text = [get](const Config& config) {
    return get(config).empty() ? "" : in_quotes(get(config));
  };
  return key;
}

// A number, or one that may be absent.
template <class Get>
ConfigKey number_row(std::string_view path, Get get, Range range, const char* help) {
  return row(path, get, range.text, help, [range](TomlSection& from, Name name, auto& value) {
    from.read(name, value);
    const std::optional<double> found = value;
    from.check(!found || range.holds(*found), name, "expected ", range.text, ", found ",
               found.value_or(0));
  });
}

// A number above 0, or "auto", which is kept as 0 until the run is assembled.
template <class Get>
ConfigKey auto_row(std::string_view path, Get get, Range range, const char* help) {
  const auto type = concat(range.text, ", or \"auto\"");
  auto key = row(path, get, type, help, [=](TomlSection& from, Name name, double& value) {
    const auto* node = from.find(name);
    const bool is_auto =
        node != nullptr && node->is_string() && node->value<std::string>() == "auto";
    if (is_auto) value = 0;
    if (node == nullptr || is_auto) return;
    from.check(node->is_number(), name, "expected ", type, ", found ", toml_text(*node));
    from.read(name, value);
    from.check(range.holds(value), name, "expected ", type, ", found ", value);
  });
  key.text = [get, text = std::move(key.text)](const Config& config) {
    return get(config) == 0 ? in_quotes("auto") : text(config);
  };
  key.words = {"auto"};
  return key;
}

template <class Get>
ConfigKey count_row(std::string_view path, Get get, std::int64_t least, const char* help,
                    std::int64_t most = TomlSection::kMaxCount) {
  const auto type = most == TomlSection::kMaxCount
                        ? concat("a whole number >= ", least)
                        : concat("a whole number from ", least, " to ", most);
  return row(path, get, type, help, [least, most](TomlSection& from, Name name, auto& value) {
    from.read_count(name, value, least, most);
  });
}

template <class Get, class Enum = std::remove_cvref_t<std::invoke_result_t<Get, Config&>>>
ConfigKey choice_row(std::string_view path, Get get, const char* help,
                     std::vector<Enum> allowed = {}) {
  if (allowed.empty()) std::ranges::copy(all_choices<Enum>(), std::back_inserter(allowed));
  auto key = row(path, get, choice_list(std::span<const Enum>(allowed)), help,
                 parsed([allowed](const std::string& text) {
                   return parse_choice(text, std::span<const Enum>(allowed));
                 }));
  for (const auto value : allowed) key.words.emplace_back(choice_text(value));
  return key;
}

ConfigKey with_reader(void (*read)(TomlSection&, Config&), ConfigKey key) {
  key.read = read;
  return key;
}

ConfigKey with_text(std::string (*text)(const Config&), ConfigKey key) {
  key.text = text;
  return key;
}

ConfigKey only_where(bool (*applies)(const Config&), ConfigKey key) {
  key.text = [applies, text = std::move(key.text)](const Config& config) {
    return applies(config) ? text(config) : "";
  };
  return key;
}

bool is_pairwise(const Config& config) {
  return config.privacy && config.privacy->shape == NoiseShape::pairwise;
}

// A column of a table of names.
template <class Table, class Name>
ConfigKey with_words(const Table& table, Name name, ConfigKey key) {
  for (const auto& entry : table) key.words.emplace_back(entry.*name);
  return key;
}

ConfigKey with_words(std::vector<std::string> words, ConfigKey key) {
  key.words = std::move(words);
  return key;
}

ConfigKey conduct(ConfigKey key) {
  key.scope = KeyScope::conduct;
  return key;
}

// What is in the file is compared, column by column (see identity), not what it is called.
ConfigKey schema_row() {
  auto key = file_row(
      "data.schema", [](auto& config) -> auto& { return config.data.schema_file; },
      "what the columns of csv files mean; porter data schema writes one");
  key.scope = KeyScope::conduct;
  key.read = read_schema;
  return key;
}

bool is_layered(const Config& config) { return find_model(config.model.name).layered; }
bool takes_layers(const Config& config) { return find_model(config.model.name).takes_layers; }

// Not the loss that the model has anyway.
bool has_other_loss(const Config& config) {
  auto unless_stated = config.model;
  unless_stated.loss.reset();
  return regression_loss(config.model) != regression_loss(unless_stated);
}

bool is_swept(const Config& config) { return find_algorithm(config.algorithm.name).mask_is_sweep; }

bool has_local_steps(const Config& config) {
  return find_algorithm(config.algorithm.name).local_steps > 0;
}

std::vector<ConfigKey> make_keys() {
  return {
      only_where(
          [](const Config& c) { return c.data.train.empty() && c.data.train_images.empty(); },
          with_words(known_data(), &KnownData::name,
                     row(KEY(data.name), "a known data set",
                         "porter list data has them; given: a program has it in memory"))),
      file_row(KEY(data.train),
               "training rows instead of name: libsvm, csv or npz, also .gz, .zst"),
      file_row(KEY(data.test), "test rows"),
      schema_row(),
      file_row(KEY(data.train_images), "training rows as IDX"),
      file_row(KEY(data.train_labels), "their labels"),
      file_row(KEY(data.test_images), "test rows as IDX"),
      file_row(KEY(data.test_labels), "their labels"),
      only_where([](const Config& config) { return config.data.features > 0; },
                 count_row(KEY(data.features), 1,
                           "columns without the bias; needed for files with secret noise")),
      row(KEY(data.classes), "a list of labels, or a range \"0..9\"",
          "labels in the order of class numbers; needed for files with secret noise", read_classes),
      row(
          "data.split", [](auto& config) -> auto& { return config.split; },
          "shuffled, contiguous, by-label, dirichlet:A, sizes:S,S,..., quantity:A",
          "how training rows are given to agents", parsed(parse_split)),
      only_where(
          [](const Config& config) { return config.weigh != CountedAlike::records; },
          choice_row(
              "data.weigh", [](auto& config) -> auto& { return config.weigh; },
              "what counts the same where sizes differ: records, at one rate and epsilon, or "
              "agents, each with a rate and an epsilon of its own")),
      only_where([](const Config& config) { return config.data.without_test; },
                 row(KEY(data.without_test), "true or false",
                     "leave the test set of a known data set out, for holdout, fold or folds")),
      only_where([](const Config& config) { return config.data.holdout > 0; },
                 number_row(KEY(data.holdout), kPartOrNone,
                            "share of the rows that becomes the test set, where there is none")),
      only_where(
          [](const Config& config) { return bool(config.data.fold); },
          row(KEY(data.fold), "I/K", "the same: the I-th of K equal parts", parsed(parse_fold))),
      only_where([](const Config& config) { return config.data.transform != TransformKind::none; },
                 choice_row(KEY(data.transform),
                            "what images are mapped to, each by itself, before they are scaled")),
      only_where([](const Config& config) { return bool(config.data.image); },
                 row(KEY(data.image), "HEIGHTxWIDTH",
                     "shape of the images of data.transform, or of a model of images, where the "
                     "data does not tell",
                     parsed(parse_image_shape))),
      choice_row(KEY(data.scale), "how features are scaled, measured on the training rows"),
      row(KEY(data.moments), "a list [MEAN, DEVIATION]",
          "of scale = \"standard\": public constants, in the place of measured ones", read_moments),
      only_where([](const Config& config) { return config.data.plants_outliers(); },
                 row(KEY(data.outliers), "none, FRACTION:FACTOR",
                     "so many training rows, times the factor")),
      row(KEY(data.bias), "true or false",
          "append a column of ones (not for mlp, layers and cnn, which have their own)"),

      with_words(model_table(), &ModelInfo::name,
                 row(KEY(model.name), "a model", "what is trained; porter list models has them")),
      number_row(KEY(model.lambda), kNotNegative,
                 "weight of the nonconvex regulariser; 0 unless logistic"),
      only_where(is_layered, row(KEY(model.hidden), "a list of widths such as [64]",
                                 "hidden layers of an mlp", read_hidden)),
      only_where(is_layered,
                 with_words({"sigmoid", "tanh", "relu", "tempered:1.58:3:0.71"},
                            row(KEY(model.activation), "sigmoid, tanh, relu, tempered:S:T:O",
                                "of the hidden layers; S sigmoid(T t) - O is a tempered sigmoid",
                                parsed(parse_activation)))),
      only_where(takes_layers,
                 row(KEY(model.layers), "a list of layers such as [\"conv:16x4/2\", \"tanh\"]",
                     "what lies between an image and the scores of the model layers", read_layers)),
      only_where(has_other_loss,
                 with_words(Choices<LossKind>::table, &Choice<LossKind>::text,
                            row(KEY(model.loss), choice_list<LossKind>(all_choices<LossKind>()),
                                "of a regression: linear (cauchy unless given), or mlp, layers "
                                "and cnn, which then predict numbers",
                                parsed([](const std::string& text) {
                                  return std::optional(parse_choice<LossKind>(text));
                                })))),

      count_row(KEY(network.agents), 1, "how many agents, n"),
      with_words(graph_table(), &GraphInfo::example,
                 spec_row(KEY(network.graph), "a graph, or file:EDGES",
                          "who talks to whom; porter list graphs has them")),
      with_words(mixing_table(), &MixingInfo::example,
                 spec_row(KEY(network.mixing), "a rule, or file:W.npy",
                          "the weights W; porter list mixings has them")),
      only_where([](const Config& config) { return config.network.schedule != "static"; },
                 with_words(meetings_table(), &MeetingsInfo::example,
                            with_reader(read_schedule,
                                        spec_row(KEY(network.schedule),
                                                 "static, one-peer, matching, epidemic:K, "
                                                 "directed-ring, directed-exponential, arcs:FILE",
                                                 "who meets whom in a gossip step (simulation)")))),
      only_where([](const Config& config) { return !is_never_absent(config.network.dropout); },
                 with_reader(read_dropout,
                             spec_row(KEY(network.dropout), "a probability, or trace:FILE.csv",
                                      "agents that are absent in a round (simulation)"))),
      number_row(KEY(network.latency), kNotNegative,
                 "seconds of a message whatever its size; with it column seconds is modelled"),
      number_row(KEY(network.bandwidth), kPositive,
                 "bytes an agent can send in a second, for the same; any number unless given"),
      number_row(KEY(network.compute), kNotNegative, "seconds of a gradient, for the same"),
      number_row(KEY(network.straggling), kNotNegative,
                 "a gradient takes compute (1 + straggling E), E exponential with mean 1"),

      with_words(algorithm_table(), &AlgorithmInfo::name,
                 row(KEY(algorithm.name), "an algorithm", "porter list algorithms has them")),
      count_row(KEY(algorithm.rounds), 1, "T, gradients of each agent"),
      auto_row(KEY(algorithm.step), kPositive, "step size eta"),
      auto_row(KEY(algorithm.consensus), kShare,
               "consensus step size gamma; 1 with lt-admm unless given"),
      with_text(batch_text, row(KEY(algorithm.batch), "a whole number >= 1, or \"full\"",
                                "records in a gradient, b", read_batch)),
      row(KEY(algorithm.clip), "smooth:TAU, linear:TAU, none",
          "how gradients are clipped; none where the algorithm does not", parsed(parse_clip)),
      choice_row(KEY(algorithm.clip_target), "what is clipped; a guarantee needs each sample"),
      only_where([](const Config& config) { return bool(config.algorithm.augment); },
                 row(KEY(algorithm.augment), "none, shift:PIXELSxCOPIES, shift-flip:PIXELSxCOPIES",
                     "for layers and cnn: a sample's gradient is the mean at so many copies of its "
                     "image, moved at random, before it is clipped",
                     parsed(parse_augmentation))),
      with_words(compressor_table(), &CompressorInfo::example,
                 row(KEY(algorithm.compressor), "a compressor",
                     "of messages; porter list compressors has them", parsed(parse_compressor))),
      with_reader(
          read_unbiased,
          row(KEY(algorithm.unbiased), "true or false",
              "scale messages to be unbiased; true with a server where possible, and with lead")),
      spec_row(
          KEY(algorithm.start),
          "zeros, normal:STDDEV, fan-in:GAIN, numpy:STDDEV:SEED, file:X0.npy, model:MODEL.npz",
          "x0, the same at all agents; fan-in, for layers and cnn unless given: biases 0, "
          "weights with the deviation GAIN / sqrt(inputs); model: the x_mean of a trained one"),
      number_row(KEY(algorithm.shift), kNotNegative,
                 "SoteriaFL's gamma_s, from omega unless given; Clip21-SGD2M's second momentum"),
      number_row(
          KEY(algorithm.trigger), kNotNegative,
          "SPARQ-SGD: an agent sends where X is sqrt(trigger) eta away from Q; 1 unless given"),
      number_row(KEY(algorithm.snapshot), {"a probability in (0, 1]", kShare.holds},
                 "SoteriaFL-SVRG: of a new snapshot in a round; b/m unless given"),
      number_row(KEY(algorithm.momentum), kShare, "beta of M = (1-beta) M + beta G; 1: off"),
      count_row(KEY(algorithm.gossip), 1, "gossip steps per gradient"),
      only_where(has_local_steps, count_row(KEY(algorithm.local_steps), 1,
                                            "LT-ADMM: gradients per message; 5 unless given")),
      choice_row(KEY(algorithm.mask), "whose random coordinates travel (random_k)"),
      only_where(is_swept,
                 choice_row(KEY(algorithm.acceleration),
                            "gossip steps of a sweep: each on the next coordinates, or all "
                            "of a round on the same")),
      with_text(dense_text,
                row(KEY(algorithm.dense), "names of parameters such as W2,b2",
                    "what travels in every message of a sweep, beside the k that are swept")),

      only_where([](const Config& config) { return config.privacy->budgets.empty(); },
                 number_row(PRIVACY(epsilon), kPositive, "budget of each record")),
      with_text(budgets_text,
                with_reader(read_budgets,
                            row(PRIVACY(budgets), "a list of numbers > 0, one for each agent",
                                "budgets of the records of each agent, in the place of epsilon; "
                                "they are public",
                                [](TomlSection&, Name, auto&) {}))),
      number_row(PRIVACY(delta), kProbability, "probability with which the promise may fail"),
      with_reader(read_calibration,
                  choice_row(PRIVACY(calibration),
                             "least sigma for epsilon, the paper's formula, or sigma as given")),
      number_row(PRIVACY(sigma), kNotNegative,
                 "standard deviation of the noise, with calibration = \"sigma\""),
      choice_row(PRIVACY(sampler), "how batches are drawn", {Sampler::fixed, Sampler::poisson}),
      choice_row(PRIVACY(adjacency), "which data sets are neighbours; add-remove needs poisson"),
      choice_row(PRIVACY(noise), "simulated: from the seed, not private; secure: secret"),
      row(PRIVACY(allow_large_delta), "true or false", "accept delta >= 1/m"),
      only_where(measures_statistics,
                 number_row(PRIVACY(statistics), kProbability,
                            "share of epsilon for what the schema says is measured; 0.1 unless "
                            "given")),
      only_where(shares_noise,
                 choice_row(PRIVACY(shape),
                            "of the noises of different agents; independent unless given; else "
                            "neighbours share some, which holds against colluders only; optimal is "
                            "the best pair_ratio, one for all pairs, not CorN's best covariance")),
      only_where(shares_noise,
                 count_row(PRIVACY(colluders), 0,
                           "agents that may tell their secrets, with a shape; 1 unless given")),
      only_where(is_pairwise,
                 number_row(PRIVACY(pair_ratio), kPairRatio,
                            "deviation of shared noise over that of one's own; 1 unless given")),
      only_where(rounds_differ,
                 row(PRIVACY(phases), "ROUNDSxNOISE[xCLIP],... such as 100x1,100x0.7x0.5",
                     "noise multiplier and clipping threshold of the first rounds, of the next, "
                     "..., as factors; sigma follows both",
                     parsed(parse_phases))),

      count_row(KEY(run.seed), 0, "of everything random that is not secret",
                std::numeric_limits<std::int64_t>::max()),
      conduct(count_row(KEY(run.threads), 0, "0: all cores, or one for each rank and agent", 1024)),
      row(KEY(run.evaluate), "every:N, log:POINTS, log-all:POINTS, end",
          "when metrics are computed", parsed(parse_schedule)),
      choice_row(KEY(run.precision), "numbers of the algorithm's state"),
      number_row(
          KEY(run.ema), kProbability,
          "decay of a moving average of iterates, which is measured and kept beside the last"),
      conduct(row(KEY(run.engine), choice_list<EngineKind>(all_choices<EngineKind>()),
                  "one process, ranks of a job, networked agents, or one GPU",
                  parsed(parse_engine))),
      conduct(with_text(
          checkpoint_text,
          row(
              "run.checkpoint", [](auto& config) -> auto& { return config.run.checkpoint_every; },
              "off, every:N", "rounds between checkpoints", parsed(parse_checkpoint)))),
  };
}

#undef KEY
#undef PRIVACY

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const auto table = [] {
    auto keys = make_keys();
    for (auto& key : keys)
      if (key.section == "privacy")
        key = only_where([](const Config& config) { return config.privacy.has_value(); },
                         std::move(key));
    return keys;
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
  const bool names_file = spec.argument && (spec.name == "file" || spec.name == "model" ||
                                            spec.name == "trace" || spec.name == "arcs");
  return names_file ? concat(spec.name, ':', rename(std::string(*spec.argument))) : text;
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
  if (config.data.schema)
    for (auto& [name, text] : schema_facts(*config.data.schema))
      texts["schema: " + name] = std::move(text);
  return texts;
}

std::string run_id(const Config& config) {
  std::string all;
  for (const auto& [key, text] : identity(config)) all += concat(key, " = ", text, '\n');
  return sha256_hex(all).substr(0, 32);
}

}  // namespace porter
