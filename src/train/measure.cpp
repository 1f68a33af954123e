// SPDX-License-Identifier: Apache-2.0
#include "train/measure.hpp"

#include <algorithm>
#include <cmath>

#include "algo/flood.hpp"
#include "config/difference.hpp"
#include "porter/core/error.hpp"
#include "train/run_data.hpp"
#include "train/run_folder.hpp"

namespace porter {
namespace {

// The gradient of a record is its statistic, scaled to a length of at most tau, wherever x is. The
// entry behind it is free.
class StatisticModel final : public Model {
 public:
  StatisticModel(std::size_t size, double scale) : size_(size), scale_(scale) {}

  std::size_t dim() const override { return size_ + 1; }
  double loss(std::span<const double> x, const Sample& sample,
              std::span<double> gradient) const override {
    std::ranges::fill(gradient, 0.0);
    double sum = 0;
    for (std::size_t i = 0; i < sample.values.size(); ++i) {
      const double value = scale_ * double{sample.values[i]};
      if (!gradient.empty()) gradient[sample.columns[i]] = value;
      sum += value * x[sample.columns[i]];
    }
    return sum;
  }
  double predict(std::span<const double>, const Sample&) const override { return 0; }

 private:
  std::size_t size_;
  double scale_;
};

// Simulated noise is a function of the seed, the agent and the round, and the training's must be
// another.
std::uint64_t other_seed(std::uint64_t seed, Statistic statistic) {
  return RngStream(seed, Draw::measure, 0, static_cast<std::uint32_t>(statistic)).next_u64() >> 1;
}

double clip_of(const Config& config) {
  return config.algorithm.clip.none() ? 1 : config.algorithm.clip.tau;
}

// It optimises nothing, so most keys have the value that says least.
Config measuring(const Config& config, const Schema& schema, Statistic statistic,
                 std::size_t steps) {
  Config out = config;
  auto& data = out.data;
  data.schema = std::make_shared<const Schema>(statistic_schema(schema, statistic));
  data.schema_file.clear();
  data.test.clear();
  data.scale = FeatureScale::none;
  data.moments.reset();
  data.outliers = "none";
  data.bias = false;
  out.network.mixing = "metropolis";
  out.algorithm = {};
  out.algorithm.name = "choco-sgd";  // all messages of a round hold its gradient
  out.algorithm.rounds = 1;
  out.algorithm.step = out.algorithm.consensus = 1;
  out.algorithm.batch = 0;
  out.algorithm.clip = {Clip::Kind::linear, clip_of(config)};
  out.algorithm.compressor = "identity";
  out.algorithm.start = "zeros";
  out.algorithm.gossip = static_cast<std::uint32_t>(steps);
  out.run.seed = other_seed(config.run.seed, statistic);
  out.run.evaluate = {Schedule::Kind::end, 0};
  out.run.precision = Precision::wide;
  if (out.privacy && out.privacy->sigma == 0.0) out.privacy.reset();
  if (!out.privacy) return out;
  out.privacy->epsilon = RunPrivacy::statistic_epsilon(config);
  out.privacy->calibration = Calibration::accountant;
  out.privacy->sigma.reset();
  return out;
}

}  // namespace

Measurement::Measurement(const Config& config, std::shared_ptr<const Schema> schema,
                         Statistic statistic, const std::optional<Graph>& graph)
    : schema_(std::move(schema)),
      statistic_(statistic),
      columns_(statistic_columns(*schema_, statistic)),
      agents_(config.network.agents),
      graph_(graph ? *graph
                   : make_graph(config.network.graph, config.network.agents, config.run.seed)),
      config_(measuring(config, *schema_, statistic, flood_plan(graph_).size())),
      reading_(config_) {
  reading_.run.seed = config.run.seed;
}

Sources Measurement::sources(RunData rows) const {
  const auto statistics = record_statistics(*rows.train, statistic_);
  const double scale = config_.algorithm.clip.tau / statistic_norm(statistic_, columns_);
  Sources sources;
  sources.model = std::make_shared<const StatisticModel>(statistics.features, scale);
  rows.train = std::make_shared<const Dataset>(std::move(statistics));
  rows.test = nullptr;
  sources.data = std::move(rows);
  sources.graph = graph_;
  sources.algorithm = make_flood;
  return sources;
}

// Every agent's sum has noise of the same size, whatever its records: sigma is that of its mean.
std::shared_ptr<const Schema> Measurement::completed(std::span<const double> x, double sigma,
                                                     std::size_t records) const {
  const double unit = config_.algorithm.clip.tau / statistic_norm(statistic_, columns_);
  const double all = x.back();
  std::vector<double> mean(x.begin(), x.end() - 1);
  for (double& value : mean) value /= unit;
  // In float, so that agents with different numbers of records find the same.
  const double of_a_sum = double{static_cast<float>(sigma * static_cast<double>(records))};
  const double noise = of_a_sum * std::sqrt(static_cast<double>(agents_)) / (unit * all);
  return std::make_shared<const Schema>(
      with_statistic(*schema_, statistic_, {.mean = mean, .records = all, .noise_stddev = noise}));
}

std::shared_ptr<const Schema> Measurement::completed(const Trainer& trainer) const {
  return completed(trainer.algorithm().iterates().row(trainer.hosted().front()),
                   trainer.parts().sigma(), trainer.facts().samples_per_agent);
}

std::filesystem::path Measurement::folder(const std::filesystem::path& run) const {
  return run / (to_string(statistic_) + kMeasuredExtension);
}

Config with_complete_schema(Config config, const std::filesystem::path& run) {
  if (!config.data.schema || config.data.schema->is_complete()) return config;
  const bool secret = claims_guarantee(config);
  require(!secret || !run.empty(), ErrorKind::privacy,
          "data.schema: with secret noise what it says is measured is released once, and kept in "
          "the folder of a run; this command has none");
  auto schema = config.data.schema;
  for (const auto statistic : statistics_of(*schema)) {
    const Measurement measurement(config, schema, statistic);
    Trainer trainer(
        assemble(measurement.config(), measurement.sources(load_run_data(measurement.reading()))));
    if (secret) {
      const auto status = train_in(measurement.folder(run), trainer);
      require(status == TrainStatus::finished, ErrorKind::privacy, measurement.folder(run).string(),
              " holds a measurement that was interrupted after it was charged; what its ledgers "
              "count stays spent. Take another folder");
    } else {
      trainer.step();
    }
    schema = measurement.completed(trainer);
  }
  config.data.schema = schema;
  return config;
}

std::shared_ptr<const Schema> measured_schema(const Config& config,
                                              const std::filesystem::path& run) {
  const auto file = run / kSchemaFile;
  if (!std::filesystem::exists(file)) return nullptr;
  auto found = std::make_shared<const Schema>(load_schema(file));
  const auto difference =
      differing_keys(schema_facts(before_measuring(*found)), file.string(),
                     schema_facts(before_measuring(*config.data.schema)), "data.schema");
  require(difference.empty() && found->is_complete(), ErrorKind::usage, file.string(),
          " is not the schema of this run: ", difference);
  return found;
}

}  // namespace porter
