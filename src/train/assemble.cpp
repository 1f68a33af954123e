// SPDX-License-Identifier: Apache-2.0
#include "porter/train/assemble.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>

#include "dense_positions.hpp"
#include "model_start.hpp"
#include "porter/core/error.hpp"
#include "run_size.hpp"
#include "shared_noise.hpp"
#include "start.hpp"
#include "train/auto_steps.hpp"
#include "train/evaluator.hpp"
#include "train/measure.hpp"
#include "train/run_data.hpp"

namespace porter {
namespace {

// Puts the config key before what a module says of its value.
template <class Build>
auto keyed(const char* key, Build build) {
  try {
    return build();
  } catch (const Error& error) {
    fail(error.kind(), key, ": ", error.what());
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::io, key, ": out of memory");
  }
}

// The shift step of SoteriaFL's published experiments: sqrt((1 + 2 w) / (2 (1 + w)^3)).
double default_shift(double omega) {
  const double w = 1 + omega;
  return std::sqrt((1 + 2 * omega) / (2 * (w * w * w)));
}

// The share of the entries of a few rows that differ from the row's first.
double share_off_background(const Dataset& data) {
  const std::size_t rows = std::min<std::size_t>(data.rows(), 256);
  std::size_t others = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto sample = data[i * data.rows() / rows];
    others += sample.sparse ? sample.values.size()
                            : sample.values.size() - static_cast<std::size_t>(std::ranges::count(
                                                         sample.values, sample.values[0]));
  }
  return static_cast<double>(others) / static_cast<double>(rows * data.features);
}

// As RunSize has it, measured. Only the first layer meets the data; an entry of its sparse product
// takes as long as five columns, each of which takes three times as long as in a dense product. An
// exponential takes as long as 50 products.
double parameters_per_row(const ModelOptions& model, const Dataset& data, std::size_t dim) {
  const auto& info = find_model(model.name);
  if (info.takes_images) {
    std::size_t products = 0;
    for (const auto& block : parameter_blocks(model, data.features, data.scores()))
      products += block.uses * block.size();
    return static_cast<double>(products);
  }
  if (info.single_score())
    return static_cast<double>(data.entries() * data.outputs) / static_cast<double>(data.rows());
  const auto hidden = info.layered ? model.hidden : std::vector<std::size_t>{};
  const auto width = static_cast<double>(hidden.empty() ? data.scores() : hidden[0]);
  const auto features = static_cast<double>(data.features);
  const double entries = features * share_off_background(data);
  const double saved = std::max(0.0, features * width - 3 * entries * (width + 5));
  const auto units = static_cast<double>(std::reduce(hidden.begin(), hidden.end()));
  return static_cast<double>(dim) - saved + 50 * units;
}

// A caller's data have not been through a schema.
void require_weights(const Dataset& data) {
  require(data.weights.empty() || data.weights.size() == data.rows(), ErrorKind::usage,
          "expected a weight for each of the ", data.rows(), " rows, found ", data.weights.size());
  for (const float weight : data.weights)
    require(weight >= 0 && weight <= 1, ErrorKind::usage,
            "expected weights from 0 to 1, divided by the largest that is allowed, found ", weight);
}

void use_data(RunParts& parts, bool own_model) {
  const auto& config = parts.config;
  const auto& data = parts.data;
  const auto& train = *data.train;
  auto& facts = parts.facts;
  const bool pooled = parts.algorithm().meeting == AlgorithmInfo::Meeting::pooled;
  const bool guarantee = claims_guarantee(config);
  const std::size_t agents = pooled ? 1 : config.network.agents;
  require(pooled || data.agents.value_or(agents) == agents, ErrorKind::usage,
          "network.agents: expected ", data.agents.value_or(0), " for the data of ",
          data.agents.value_or(0), " agents, found ", agents);
  require(!data.test ||
              (data.test->features == train.features && data.test->scores() == train.scores()),
          ErrorKind::usage, "the test set must be like the training set: expected ", train.features,
          " features and ", train.scores(), " classes or targets, found ",
          data.test ? data.test->features : 0, " and ", data.test ? data.test->scores() : 0);
  require_weights(train);
  if (data.test) require_weights(*data.test);
  const std::size_t m = data.holder ? train.rows() : train.rows() / agents;
  require(config.algorithm.batch <= m, ErrorKind::usage, "algorithm.batch: expected at most the ",
          m, " samples that an agent holds, found ", config.algorithm.batch);
  facts.data_source = data.source;
  facts.data_warning = data.warning;
  facts.agents = agents;
  facts.samples_per_agent = m;
  facts.dim = parts.model->dim();
  facts.batch = config.algorithm.batch == 0 ? m : config.algorithm.batch;
  if (!train.classes.empty() && (data.test || !guarantee))
    facts.majority_rate = majority_rate(data.test ? *data.test : train);
  // An agent's rows are its own; here all are dealt.
  if (guarantee && !pooled && !data.holder && config.split.by_labels())
    facts.notes.push_back("data.split: \"" + to_string(config.split) +
                          "\" deals the records by their labels, so one label decides about the "
                          "records of several agents, which no epsilon covers");
  const auto sizes = parts.own_sizes();
  for (std::size_t agent = 0; agent < sizes.size(); ++agent)
    require(config.algorithm.batch <= sizes[agent], ErrorKind::usage,
            "algorithm.batch: expected at most the ", sizes[agent], " samples that agent ", agent,
            " holds, found ", config.algorithm.batch);
  if (!sizes.empty())
    facts.notes.push_back(
        concat("data.weigh: every agent counts the same and draws from its own records, from ",
               *std::ranges::min_element(sizes), " to ", m, " of them, at a rate of its own"));
  else if (config.split.is_unequal() && !data.holder && !pooled)
    facts.notes.push_back(concat(
        "data.split: m = ", m, " is that of the agent with the most records. All draw at the rate ",
        "b/m, so that a record counts, and has an epsilon, that is the same at every agent"));
  if (data.holder) return;  // who has some of the data evaluates nothing
  const auto& info = find_model(config.model.name);
  // When a run with secret noise is evaluated does not depend on how many entries of its records
  // are zero.
  const auto values = guarantee ? train.rows() * train.features : train.entries();
  facts.evaluation_rounds = evaluation_rounds(
      config.run.evaluate, config.algorithm.rounds,
      {.agents = agents,
       .dim = facts.dim,
       .batch = facts.batch,
       .train_rows = train.rows(),
       .test_rows = data.test ? data.test->rows() : 0,
       .values = values + (data.test ? data.test->entries() : 0),
       .parameters_per_row = own_model || (guarantee && !info.takes_images)
                                 ? static_cast<double>(facts.dim)
                                 : parameters_per_row(config.model, train, facts.dim),
       .noised = config.privacy.has_value(),
       .agents_in_double = (is_regression(config.model) || !train.weights.empty()) &&
                           (info.has_biases() || train.outputs > 1)});
}

void make_change(RunParts& parts, Network& network) {
  const auto& keys = parts.config.network;
  const auto seed = parts.config.run.seed;
  require(!parts.own_method, ErrorKind::usage,
          "network.schedule, network.dropout: a method that is given has a network that stays");
  auto absences =
      keyed("network.dropout", [&] { return make_absences(keys.dropout, keys.agents, seed); });
  auto& notes = parts.facts.notes;
  if (absences.any())
    notes.push_back(
        "network.dropout: every round counts as a release of every agent, also where it was "
        "absent, so epsilon is an upper bound");
  notes.push_back(
      "network: alpha is that of network.graph with network.mixing, which single steps do not "
      "have");
  const auto meetings = parse_meetings(keys.schedule);
  const bool by_graph = meetings.kind == Meetings::Kind::fixed;
  network.changing = keyed(by_graph ? "network.mixing" : "network.schedule", [&] {
    return ChangingNetwork(network.graph, network.mixing.weights,
                           {.meetings = meetings,
                            .absences = std::move(absences),
                            .weighing = parts.algorithm().weighing,
                            .seed = seed,
                            .gossip = parts.config.algorithm.gossip});
  });
}

std::shared_ptr<const Network> build_network(RunParts& parts, Sources& sources) {
  if (!parts.algorithm().gossips()) return nullptr;
  const auto& network = parts.config.network;
  auto graph = keyed("network.graph", [&] {
    if (!sources.graph) return make_graph(network.graph, network.agents, parts.config.run.seed);
    require(sources.graph->nodes() == network.agents, ErrorKind::usage, "the graph that is given ",
            "has ", sources.graph->nodes(), " nodes, but network.agents is ", network.agents);
    return std::move(*sources.graph);
  });
  auto mixing = keyed("network.mixing", [&] {
    return sources.mixing ? std::move(*sources.mixing) : make_mixing(network.mixing, graph);
  });
  if (!mixing.note.empty()) parts.facts.notes.push_back("network.mixing: " + mixing.note);
  auto built = std::make_shared<Network>(Network{std::move(graph), std::move(mixing)});
  if (network_changes(parts.config)) make_change(parts, *built);
  if (has_clock(parts.config))
    built->pace = Pace{.latency = network.latency.value_or(0),
                       .bandwidth = network.bandwidth.value_or(0),
                       .compute = network.compute.value_or(0),
                       .straggling = network.straggling.value_or(0),
                       .overlaps = parts.algorithm().sends_first};
  return built;
}

std::shared_ptr<const Compressor> build_compressor(RunParts& parts, Sources& sources) {
  const auto& algorithm = parts.config.algorithm;
  const auto& info = parts.algorithm();
  auto& facts = parts.facts.compression;
  const auto dim = parts.facts.dim;
  std::shared_ptr<const Compressor> compressor = keyed("algorithm.compressor", [&] {
    auto made = sources.compressor ? std::move(sources.compressor)
                                   : make_compressor(algorithm.compressor, algorithm.unbiased);
    facts.kept = made->kept(dim);
    facts.rho = made->rho(dim);
    facts.omega = made->omega(dim);
    return made;
  });
  require(!info.gossips() || info.needs_unbiased || facts.rho, ErrorKind::usage,
          "algorithm.compressor: ", algorithm.name, " needs a contraction, and \"",
          algorithm.compressor, "\"", algorithm.unbiased ? " with unbiased = true" : "",
          " is none for d = ", dim);
  const bool varies = info.compresses && facts.omega;  // else what is sent is all there is
  if (info.shifts)                                     // else 0: cdp-sgd and ldp-sgd
    facts.shift = algorithm.shift.value_or(varies ? default_shift(*facts.omega) : 1.0);
  return compressor;
}

std::vector<std::uint32_t> find_dense(const RunParts& parts) {
  const auto& names = parts.config.algorithm.dense;
  if (names.empty()) return {};
  require(!parts.own_model, ErrorKind::usage,
          "the parameters of a model that is given have no names; found \"", names, "\"");
  const auto& train = *parts.data.train;
  return dense_positions(
      names, parameter_blocks(parts.config.model, train.features,
                              train.classes.empty() ? train.outputs : train.classes.size()));
}

// The paper's x_out: a random agent after a random round.
void draw_output(const Config& config, RunFacts& facts) {
  RngStream rng(config.run.seed, Draw::output, 0, 0);
  facts.output_round = 1 + static_cast<std::uint32_t>(rng.below(config.algorithm.rounds));
  facts.output_agent = static_cast<std::uint32_t>(rng.below(facts.agents));
}

// Memory is handed out before it is there, so a run that cannot fit would be killed halfway.
void expect_room(const RunFacts& facts, Precision precision) {
  const double needed = 2.0 * static_cast<double>(facts.agents) * static_cast<double>(facts.dim) *
                        (precision == Precision::narrow ? sizeof(float) : sizeof(double));
  const double there =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  require(needed <= there, ErrorKind::io, "out of memory: ", facts.agents,
          " agents (network.agents) with a model of ", facts.dim,
          " parameters (model) take at least ", needed / 1e9, " GB, and this machine has ",
          there / 1e9, " GB");
}

void append(const Dataset& from, Dataset& to) {
  const auto add = [](const auto& values, auto& all) {
    all.insert(all.end(), values.begin(), values.end());
  };
  to.voids.resize(to.rows());
  add(from.voids, to.voids);
  add(from.weights, to.weights);
  if (from.sparse())  // its offsets continue those that are there
    for (std::size_t row = 0; row < from.rows(); ++row)
      to.row_starts.push_back(to.values.size() + from.row_starts[row + 1]);
  add(from.values, to.values);
  add(from.lent_rows, to.lent_rows);
  add(from.keepers, to.keepers);
  add(from.columns, to.columns);
  add(from.labels, to.labels);
}

Sampler sampler_kind(const Config& config) {
  return config.privacy && config.privacy->sampler == Sampler::poisson ? Sampler::poisson
                                                                       : Sampler::fixed;
}

// At what rate an agent draws, where all do not draw alike.
std::vector<BatchSampler> own_samplers(const RunParts& parts) {
  std::vector<BatchSampler> samplers;
  const auto batch = parts.config.algorithm.batch;
  for (const auto size : parts.own_sizes())
    samplers.emplace_back(sampler_kind(parts.config), size, batch == 0 ? size : batch);
  return samplers;
}

std::shared_ptr<const RunPrivacy> build_privacy(const RunParts& parts,
                                                std::shared_ptr<AccountantCache> accounts) {
  auto config = parts.config;
  const auto dim = parts.facts.dim;
  const auto samplers = own_samplers(parts);
  const auto budgets = config.privacy ? config.privacy->budgets : std::vector<double>{};
  // Who has one agent's data makes that agent's promise.
  if (parts.data.holder && !budgets.empty()) config.privacy->epsilon = budgets[*parts.data.holder];
  if (!config.privacy || parts.data.holder || (samplers.empty() && budgets.empty()))
    return std::make_shared<const RunPrivacy>(config, parts.sampler(), dim, std::move(accounts),
                                              shared_noise(config, parts.network.get()));
  std::vector<AgentTerms> terms;
  for (std::size_t agent = 0; agent < parts.facts.agents; ++agent)
    terms.push_back({samplers.empty() ? parts.sampler() : samplers[agent],
                     budgets.empty() ? config.privacy->epsilon : budgets[agent]});
  return RunPrivacy::unlike(config, terms, dim, std::move(accounts));
}

// What differs between agents and rounds; null where nothing does.
std::shared_ptr<const ReleasePlan> release_plan(const RunParts& parts) {
  const auto& privacy = *parts.privacy;
  ReleasePlan plan{.samplers = own_samplers(parts)};
  const bool noised = privacy.agents_differ() || rounds_differ(parts.config);
  if (plan.samplers.empty() && !noised) return nullptr;
  if (rounds_differ(parts.config))
    for (const auto& phase : parts.config.privacy->phases) {
      plan.ends.push_back((plan.ends.empty() ? 0 : plan.ends.back()) + phase.rounds);
      plan.clips.push_back(parts.config.algorithm.clip);
      plan.clips.back().tau *= phase.clip;
    }
  for (std::size_t agent = 0; noised && agent < parts.facts.agents; ++agent)
    for (std::size_t phase = 0; phase < plan.phases(); ++phase) {
      const auto& own = privacy.of(agent);
      plan.noise.push_back(own.own_sigma(phase));
      if (own.secure()) plan.secure.push_back(own.secure(phase));
    }
  return std::make_shared<const ReleasePlan>(std::move(plan));
}

// With the largest clip and noise where they differ: what bounds rest on.
void follow_plan(std::shared_ptr<const ReleasePlan> plan, GradientOptions& options) {
  if (!plan) return;
  for (const auto& clip : plan->clips) options.clip.tau = std::max(options.clip.tau, clip.tau);
  for (const double stddev : plan->noise)
    options.noise_stddev = std::max(options.noise_stddev, stddev);
  options.plan = std::move(plan);
}

// As the data tells it, or the config where a caller's does not.
ImageShape shape_of_images(const RunParts& parts) {
  const auto& told = parts.data.scaling.transform.image;
  return told ? told : parts.config.data.image;
}

}  // namespace

BatchSampler RunParts::sampler() const {
  return {sampler_kind(config), facts.samples_per_agent, facts.batch};
}

Problem RunParts::problem() const {
  return {*model, *data.train, facts.agents, data.holder, own_sizes()};
}

std::span<const std::size_t> RunParts::own_sizes() const {
  if (config.weigh == CountedAlike::records || data.holder) return {};
  return data.sizes;
}

RunParts assemble(const Config& given, Sources sources) {
  RunParts parts;
  require(!sources.data || !given.data.schema || given.data.schema->is_complete(), ErrorKind::usage,
          "data.schema: it has columns that are to be measured, and data that are given are not");
  parts.config = with_complete_schema(given);
  parts.own_model = sources.model != nullptr;
  parts.own_method = bool(sources.algorithm);
  parts.own_compressor = sources.compressor != nullptr;
  parts.data =
      sources.data ? std::move(*sources.data) : load_run_data(parts.config, sources.reading);
  if (find_model(parts.config.model.name).takes_images)
    parts.config.model.image = shape_of_images(parts);
  const auto config = parts.config;
  const auto& train = *parts.data.train;
  parts.model = parts.own_model
                    ? std::move(sources.model)
                    : make_model(config.model, train.features, train.classes.size(), train.outputs);
  require(!parts.model->joins_agents() || !parts.algorithm().several_points, ErrorKind::usage,
          "algorithm.name: ", parts.algorithm().name,
          " takes gradients at several points, sample by sample, which a model that computes for "
          "all agents at once does not have");
  use_data(parts, parts.own_model);
  parts.network = build_network(parts, sources);
  parts.compressor = build_compressor(parts, sources);
  parts.dense = keyed("algorithm.dense", [&] { return find_dense(parts); });
  const auto dim = parts.facts.dim;
  if (config.run.engine == EngineKind::simulate || config.run.engine == EngineKind::cuda)
    expect_room(parts.facts, config.run.precision);
  parts.start = within_memory(parts.facts, [&] {
    if (!sources.start.empty()) return std::move(sources.start);
    return starts_from_model(config) ? model_start(parts) : starting_point(config, train, dim);
  });
  require(parts.start.size() == dim, ErrorKind::usage, "the start that is given has ",
          parts.start.size(), " entries, but the model has d = ", dim);
  parts.make = sources.algorithm ? std::move(sources.algorithm) : parts.algorithm().make;
  draw_output(config, parts.facts);
  parts.privacy = build_privacy(parts, std::move(sources.accounts));
  const auto& notes = parts.privacy->notes();
  parts.facts.notes.insert(parts.facts.notes.end(), notes.begin(), notes.end());
  auto& algorithm = parts.config.algorithm;
  algorithm.auto_consensus |= algorithm.consensus == 0;
  algorithm.auto_step |= algorithm.step == 0;
  if (algorithm.consensus == 0)
    algorithm.consensus = keyed("algorithm.consensus", [&] { return auto_consensus(parts); });
  if (algorithm.step == 0)
    algorithm.step = keyed("algorithm.step", [&] { return auto_step(parts, parts.own_model); });
  return parts;
}

AlgorithmSetup algorithm_setup(const RunParts& parts, ThreadPool& pool) {
  const auto& [config, facts] = std::tie(parts.config, parts.facts);
  const auto& algorithm = config.algorithm;
  AlgorithmSetup setup{.problem = parts.problem(),
                       .network = parts.network.get(),
                       .compressor = *parts.compressor,
                       .pool = pool,
                       .start = parts.start,
                       .eta = algorithm.step,
                       .gamma = algorithm.consensus,
                       .gossip = algorithm.gossip,
                       .local_steps = algorithm.local_steps,
                       .rounds = algorithm.rounds,
                       .gathers = parts.algorithm().gathers,
                       .trigger = algorithm.trigger.value_or(1),
                       .mask = algorithm.mask,
                       .acceleration = algorithm.acceleration,
                       .dense = parts.dense,
                       .precision = config.run.precision,
                       .gradients = {.sampler = parts.sampler(),
                                     .clip = algorithm.clip,
                                     .clip_target = algorithm.clip_target,
                                     .augment = algorithm.augment,
                                     .image = config.model.image,
                                     .noise_stddev = parts.privacy->own_sigma(),
                                     .pairs = parts.privacy->pairs(),
                                     .pair_stddev = parts.privacy->pair_sigma(),
                                     .momentum = algorithm.momentum,
                                     .seed = config.run.seed,
                                     .secure = parts.privacy->secure()},
                       .soteriafl = {.shift = facts.compression.shift,
                                     .snapshot = algorithm.snapshot.value_or(
                                         static_cast<double>(facts.batch) /
                                         static_cast<double>(facts.samples_per_agent))}};
  follow_plan(release_plan(parts), setup.gradients);
  return setup;
}

RunData join_agents(std::span<const Dataset> agents, std::shared_ptr<const Dataset> test) {
  require(!agents.empty(), ErrorKind::usage, "expected the data of at least one agent");
  const auto& first = agents.front();
  auto all = std::make_shared<Dataset>();
  all->features = first.features;
  all->classes = first.classes;
  all->outputs = first.outputs;
  if (first.sparse()) all->row_starts = {0};
  const bool lent =
      std::ranges::any_of(agents, [](const auto& own) { return !own.lent_rows.empty(); });
  for (std::size_t i = 0; i < agents.size(); ++i) {
    const auto& own = agents[i];
    require(own.rows() == first.rows() && own.features == first.features &&
                own.classes == first.classes && own.outputs == first.outputs &&
                own.sparse() == first.sparse() && own.weights.empty() == first.weights.empty(),
            ErrorKind::usage, "the agents' data must be alike: agent 0 has ", first.rows(),
            " rows of ", first.features, " features and ", first.classes.size(),
            " classes (targets: ", first.outputs, "), agent ", i, " has ", own.rows(), " of ",
            own.features, " and ", own.classes.size(), " (", own.outputs, ")",
            own.weights.empty() == first.weights.empty() ? "" : "; and all have weights, or none");
    if (lent)
      append(lend_rows(own), *all);
    else
      append(own, *all);
  }
  return {.train = std::move(all),
          .test = std::move(test),
          .source = "the caller's data",
          .agents = agents.size()};
}

}  // namespace porter
