// SPDX-License-Identifier: Apache-2.0
#include "train/measure.hpp"

#include <gtest/gtest.h>

#include "algo/flood.hpp"
#include "core/vector_math.hpp"
#include "measured_table.hpp"
#include "porter/core/error.hpp"
#include "porter/privacy/ledger.hpp"
#include "says.hpp"
#include "train/run_data.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

class MeasureTest : public testing::Test {
 protected:
  Config config(const std::string& more) {
    write_file(dir_ / "c.toml", measuring_run(more));
    return load_config(dir_ / "c.toml");
  }
  TempDir dir_;
};

// What `porter privacy ledger` computes.
double spent_in(const LedgerView& view) {
  std::vector<PrivacyEvent> events;
  for (const auto& phase : view.phases)
    events.push_back(
        BatchSampler(parse_choice<Sampler>(view.header.sampler), view.header.records, phase.batch)
            .secure_event(parse_choice<Adjacency>(view.header.adjacency), phase.noise_stddev,
                          view.header.clip, phase.charges));
  return privacy::epsilon(events, secure_delta(view.header.delta)).upper;
}

TEST_F(MeasureTest, WithoutNoiseItIsThePlainMeanAndDeviation) {
  const MeasuredTable table(dir_.path(), 2000);
  const auto given = config("name = \"porter-gc\"\n");
  const auto schema = with_complete_schema(given).data.schema;
  const auto& age = schema->columns[0];
  const auto& income = schema->columns[1];
  EXPECT_TRUE(schema->is_complete());
  EXPECT_NEAR(age.mean, MeasuredTable::mean(table.ages), 1e-3);
  EXPECT_NEAR(age.deviation, MeasuredTable::deviation(table.ages), 1e-3);
  const double least = *std::ranges::min_element(table.incomes);
  EXPECT_LE(*income.low, least);
  EXPECT_GE(*income.low, least - 1.001 * std::abs(least));
  EXPECT_EQ(*income.high, 8192);
  EXPECT_NEAR(income.mean, MeasuredTable::mean(table.incomes), 0.1);
  EXPECT_NEAR(income.deviation, MeasuredTable::deviation(table.incomes), 0.1);
  const auto parts = assemble(given);
  EXPECT_EQ(to_toml(*parts.config.data.schema), to_toml(*schema));
  const auto not_covered = parts.privacy->statement(0).not_covered;
  EXPECT_TRUE(std::ranges::any_of(
      not_covered, [](const auto& text) { return says(text, "measured without noise"); }));
}

TEST_F(MeasureTest, ASmallShareOfEpsilonIsEnoughForTenThousandRecordsEach) {
  const MeasuredTable table(dir_.path(), 40'000);
  const auto schema =
      with_complete_schema(config("[privacy]\nepsilon = 2\nstatistics = 0.1\n")).data.schema;
  EXPECT_NEAR(schema->columns[0].mean, MeasuredTable::mean(table.ages), 2);
  EXPECT_NEAR(schema->columns[0].deviation, MeasuredTable::deviation(table.ages), 4);
  EXPECT_NEAR(schema->columns[1].mean, MeasuredTable::mean(table.incomes), 100);
  EXPECT_NEAR(schema->columns[1].deviation, MeasuredTable::deviation(table.incomes), 300);
  EXPECT_EQ(*schema->columns[1].high, 8192);
}

// The whole path from a file to what agents send, without noise: one record moves an agent's mean
// by at most 2 tau / m, whatever stands in it.
TEST_F(MeasureTest, OneRecordMovesTheStatisticByNoMoreThanIsAccounted) {
  const std::size_t rows = 40;
  const MeasuredTable table(dir_.path(), rows);
  const auto given = config("name = \"porter-gc\"\n");
  const auto full = with_complete_schema(given).data.schema;
  auto lines = read_file(dir_ / "t.csv");
  const auto found = [&](Statistic statistic, const std::string& record) {
    auto changed = lines;
    const auto first = changed.find('\n') + 1;
    changed.replace(first, changed.find('\n', first) - first, record);
    write_file(dir_ / "t.csv", changed);
    // As it is read where a guarantee is claimed: broken records count for nothing.
    const Measurement measurement(given, full, statistic);
    auto options = measurement.reading().data;
    options.guarantee = true;
    auto data = std::make_shared<const Dataset>(load_data(options).train);
    Trainer trainer(
        assemble(measurement.config(),
                 measurement.sources(
                     {.train = std::move(data), .test = nullptr, .source = "", .agents = 4})));
    trainer.step();
    const auto x = trainer.algorithm().iterates().row(0);
    EXPECT_EQ(x.back(), static_cast<double>(rows));
    return std::vector<double>(x.begin(), x.end() - 1);
  };
  const std::vector<std::string> records = {
      "0,0,no",     "120,8192,yes", "1e38,-1e38,no", "nan,inf,yes", ",,no", "-1e-40,1e-40,no",
      "120,128,no", "junk",         "0,8192,maybe",  "60,NA,no",    ""};
  for (const auto statistic : {Statistic::ranges, Statistic::moments}) {
    double largest = 0;
    std::vector<std::vector<double>> sums;
    for (const auto& record : records) sums.push_back(found(statistic, record));
    for (const auto& a : sums)
      for (const auto& b : sums) largest = std::max(largest, std::sqrt(squared_distance(a, b)));
    // tau = 0.5, and the mean is over all 40 records.
    EXPECT_LE(largest, 2 * 0.5 / 40 * (1 + 1e-6)) << to_string(statistic);
    EXPECT_GT(largest, 0.5 / 40) << to_string(statistic);
  }
}

TEST_F(MeasureTest, TheEpsilonThatIsPrintedIsTheLedgersAndNothingIsReleasedTwice) {
  const MeasuredTable table(dir_.path(), 8000);
  for (const std::string privacy :
       {"epsilon = 4\nstatistics = 0.3\n",
        "epsilon = 6\nsampler = \"poisson\"\nadjacency = \"add-remove\"\n"}) {
    const auto given = config("[privacy]\nnoise = \"secure\"\n" + privacy);
    const auto out = dir_ / ("out" + std::to_string(privacy.size()));
    fs::create_directory(out);
    EXPECT_TRUE(says(what_fails([&] { assemble(given); }), "released once"));
    const auto complete = with_complete_schema(given, out);
    const auto again = with_complete_schema(given, out);
    EXPECT_EQ(to_toml(*again.data.schema), to_toml(*complete.data.schema));
    auto other = given;
    other.privacy->statistics = 0.2;
    EXPECT_TRUE(says(what_fails([&] { with_complete_schema(other, out); }),
                     "was made with another config (privacy.epsilon"));

    Trainer trainer(assemble(complete));
    EXPECT_EQ(train_in(out, trainer), TrainStatus::finished);
    const auto statement = *load_statement(out / "privacy.json");
    ASSERT_TRUE(statement.guaranteed && statement.parts);
    EXPECT_LE(statement.epsilon->upper, given.privacy->epsilon);
    EXPECT_GT(statement.epsilon->upper, 0.995 * given.privacy->epsilon);
    EXPECT_GT(statement.epsilon->upper, statement.parts->training_epsilon);
    EXPECT_EQ(statement.parts->statistics, 2U);
    EXPECT_LE(statement.parts->statistics_epsilon,
              given.privacy->statistics * given.privacy->epsilon);
    EXPECT_TRUE(says(statement.sentence, "5 rounds and 2 private statistics before them"))
        << statement.sentence;
    for (const char* name : {"agent-0.ledger", "agent-3.ledger"}) {
      const auto view = read_ledger(out / "ledger" / name);
      EXPECT_EQ(view.charges, 7U);
      EXPECT_EQ(spent_in(view), statement.epsilon->upper);
      for (const char* part : {"ranges.measured", "moments.measured"})
        EXPECT_EQ(read_ledger(out / part / "ledger" / name).charges, 1U);
    }
    EXPECT_EQ(read_file(out / "schema.toml"), to_toml(*complete.data.schema));
    // A model says where its numbers come from, and can be used.
    const auto card = trainer.card();
    EXPECT_TRUE(card->schema->is_complete() && card->schema->measures());
  }
}

TEST_F(MeasureTest, SimulatedNoiseGivesTheSameSchemaForAllAgentsAndOtherNoiseThanTheTraining) {
  const MeasuredTable table(dir_.path(), 400);
  const auto given = config("[privacy]\nepsilon = 20\nstatistics = 0.9\n");
  const auto full = with_complete_schema(given);
  EXPECT_EQ(to_toml(*full.data.schema), to_toml(*with_complete_schema(given).data.schema));
  const Measurement measurement(given, full.data.schema, Statistic::moments);
  EXPECT_NE(measurement.config().run.seed, given.run.seed);
  Trainer trainer(
      assemble(measurement.config(), measurement.sources(load_run_data(measurement.reading()))));
  trainer.step();
  const auto& X = trainer.algorithm().iterates();
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_TRUE(std::ranges::equal(X.row(i), X.row(0))) << i;  // bit for bit
}

TEST_F(MeasureTest, ARunThatWasMeasuredIsExtendedWithoutMeasuringAgain) {
  const MeasuredTable table(dir_.path(), 8000);
  const auto run = [&](const std::string& rounds) {
    write_file(dir_ / "c.toml", measuring_run("[privacy]\nnoise = \"secure\"\nepsilon = 8\n"
                                              "statistics = 0.3\nsigma = 0.02\n"));
    const auto given = load_config(dir_ / "c.toml", {"algorithm.rounds=" + rounds});
    Trainer trainer(assemble(with_complete_schema(given, dir_ / "out")));
    EXPECT_EQ(train_in(dir_ / "out", trainer), TrainStatus::finished);
    return trainer.privacy().interval(trainer.releases())->upper;
  };
  fs::create_directory(dir_ / "out");
  const double before = run("5");
  const auto schema = read_file(dir_ / "out" / "schema.toml");
  EXPECT_GT(run("8"), before);
  EXPECT_EQ(read_file(dir_ / "out" / "schema.toml"), schema);
  const auto view = read_ledger(dir_ / "out" / "ledger" / "agent-1.ledger");
  EXPECT_EQ(view.charges, 10U);
  EXPECT_EQ(spent_in(view), load_statement(dir_ / "out" / "privacy.json")->epsilon->upper);
  EXPECT_EQ(read_ledger(dir_ / "out" / "moments.measured" / "ledger" / "agent-1.ledger").charges,
            1U);
}

TEST_F(MeasureTest, WrongConfigsAreOneClearError) {
  const MeasuredTable table(dir_.path(), 400);
  const auto with = [&](const std::vector<std::string>& overrides) {
    write_file(dir_ / "c.toml", measuring_run("[privacy]\nepsilon = 2\n"));
    return what_fails([&] { load_config(dir_ / "c.toml", overrides); });
  };
  EXPECT_EQ(with({}), "none");
  EXPECT_TRUE(says(with({"privacy.statistics=1.5"}), "strictly between 0 and 1"));
  EXPECT_TRUE(says(with({"algorithm.name=dp-sgd", "algorithm.compressor=identity"}),
                   "agents measure together with their neighbours, and those of dp-sgd have none"))
      << with({"algorithm.name=dp-sgd", "algorithm.compressor=identity"});
  EXPECT_TRUE(says(with({"run.engine=mpi"}), "run.engine = \"mpi\" cannot"));
  // What a run has measured does not become public knowledge by being in a file.
  const auto without_noise = load_config(dir_ / "c.toml", {"privacy.sigma=0"});
  const auto full = with_complete_schema(without_noise).data.schema;
  write_file(dir_ / "schema.toml", to_toml(*full));
  EXPECT_TRUE(says(with({}), "\"age\" has numbers that a run has measured")) << with({});
  auto stated = *full;
  for (auto& column : stated.columns) column.measured_range = column.measured_moments = false;
  write_file(dir_ / "schema.toml", to_toml(stated));
  EXPECT_EQ(with({}), "none");
  EXPECT_TRUE(says(with({"privacy.statistics=0.2"}), "has no column that is measured"));
}

TEST(FloodPlan, EverybodyGetsEverything) {
  for (const char* spec : {"ring", "path", "star", "complete", "grid:3x4", "barbell"}) {
    const auto graph = make_graph(spec, 12, 1);
    const auto plan = flood_plan(graph);
    std::vector<std::vector<bool>> has(12, std::vector<bool>(12));
    for (std::size_t i = 0; i < 12; ++i) has[i][i] = true;
    for (const auto& whose : plan) {
      const auto before = has;
      for (std::size_t i = 0; i < 12; ++i) {
        EXPECT_TRUE(before[i][whose[i]]) << spec;  // nobody sends what it has not
        for (const auto j : graph.neighbours(i)) has[j][whose[i]] = true;
      }
    }
    for (const auto& row : has) EXPECT_EQ(std::ranges::count(row, true), 12) << spec;
    EXPECT_LE(plan.size(), 24U) << spec;
  }
  EXPECT_EQ(flood_plan(Graph(1, {})).size(), 1U);
}

}  // namespace
}  // namespace porter
