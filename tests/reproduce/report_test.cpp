// SPDX-License-Identifier: Apache-2.0
#include "reproduce/report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "io/file.hpp"
#include "study_cases.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

// A result without any training: the loss of setting s with seed i at round t is (s + i) / (1 + t),
// |grad|^2 is 1 / (1 + t)^2 of the last round T.
GridResult made_up(const Study& study) {
  GridResult result{.runs = {}, .seeds = study.seeds.size()};
  for (std::size_t s = 0; s < study.settings.size(); ++s)
    for (const auto seed : study.seeds) {
      GridRun run{.setting = s, .seed = seed, .status = RunEnd::finished};
      const auto rounds = study.settings[s].config->algorithm.rounds;
      for (const std::uint32_t round : {0U, rounds}) {
        MetricsRow row;
        row.round = round;
        row.loss = double(s + seed) / (1 + round);
        row.grad_norm_sq = 1 / std::pow(double(std::max(1U, round)), 2);
        row.test_accuracy = 0.5;
        row.agent_accuracy_mean = 0.4;
        row.agent_accuracy_worst = 0.3;
        row.bits_per_agent = 100.0 * round;
        run.rows.push_back(row);
      }
      run.facts = GridFacts{.data = "made up", .agents = 4, .samples = 10, .dim = 5};
      run.facts->majority_rate = 0.45;
      result.runs.push_back(run);
    }
  return result;
}

TEST(StudyReport, CurvesHaveMeanAndBandOverSeeds) {
  const auto study = parsed(two_curves());
  const auto report = study_report(study, made_up(study), "porter reproduce small");
  std::vector<std::string> files;
  for (const auto& figure : report.figures) files.push_back(figure.file);
  EXPECT_EQ(files,
            (std::vector<std::string>{"loss-by-round", "loss-by-communication",
                                      "test-accuracy-by-round", "test-accuracy-by-communication",
                                      "test-accuracy-of-single-agents", "loss-of-single-agents"}));
  const auto& second = report.figures[1].plot.series[1];  // by bits, the second series
  EXPECT_EQ(second.x, (std::vector<double>{0, 800}));
  EXPECT_DOUBLE_EQ(second.y[0], 2.5);
  EXPECT_EQ(second.band_low[0], 2);
  EXPECT_EQ(second.band_high[0], 3);
  ASSERT_EQ(report.figures[2].plot.references.size(), 1U);
  EXPECT_EQ(report.figures[2].plot.references[0].y, 0.45);
  const auto& agents = report.figures[4].plot.series;
  EXPECT_EQ(agents[0].band_low[1], 0.3);
  EXPECT_EQ(agents[0].band_high[1], 0.4);
  EXPECT_TRUE(agents[1].companion);
}

// By rounds and bits alone where no clock is modelled, as those runs have no seconds.
TEST(StudyReport, CurvesBySecondsAreOfSeriesWithAClock) {
  auto text = two_curves();
  text.replace(text.find("\"beer\""), 6, "\"beer\", \"network.compute\" = 0.5");
  const auto study = parsed(text);
  auto result = made_up(study);
  for (auto& run : result.runs)
    if (run.setting == 1)
      for (auto& row : run.rows) row.seconds = 0.5 * row.round;
  const auto report = study_report(study, result, "");
  const auto& by_time = report.figures[2];
  EXPECT_EQ(by_time.file, "loss-by-time");
  ASSERT_EQ(by_time.plot.series.size(), 1U);
  EXPECT_EQ(by_time.plot.series[0].name, "BEER <b>");
  EXPECT_EQ(by_time.plot.series[0].x, (std::vector<double>{0, 4}));
  EXPECT_EQ(report.figures[0].plot.series.size(), 2U);
}

TEST(StudyReport, SlopeIsFittedOverAllSeeds) {
  const auto study = parsed(small_slope());
  const auto report = study_report(study, made_up(study), "");
  const auto& row = report.tables[0].table.rows[0];
  EXPECT_NEAR(*row[1].value, -1, 1e-12);
  EXPECT_EQ(row[4].value, -0.5);
  EXPECT_EQ(row[5].text, "steeper");
  EXPECT_EQ(row[6].text, "6");
}

TEST(StudyReport, TheSummarySaysWhatIsSentInAllAndForAGradient) {
  const auto study = parsed(two_curves());
  const auto report = study_report(study, made_up(study), "");
  const auto& table = report.tables[0].table;
  EXPECT_EQ(table.columns.back().key, "values_per_gradient");
  EXPECT_EQ(table.columns.rbegin()[1].key, "values_sent");
  // 100 bits a round are 100 / 32 floats, and d is 5; 8 rounds.
  EXPECT_DOUBLE_EQ(table.rows[0].back().value.value(), 100.0 / 32 / 5);
  EXPECT_DOUBLE_EQ(table.rows[0].rbegin()[1].value.value(), 8 * 100.0 / 32 / 5);
}

TEST(StudyReport, NoVerdictWhereNoLineFits) {
  const auto study = parsed(small_slope());
  auto result = made_up(study);
  // Slope -1 from 2 to 4 rounds, 0 from 4 to 8.
  for (auto& run : result.runs)
    if (run.setting == 2) run.rows.back().grad_norm_sq = 1.0 / 16;
  const auto report = study_report(study, result, "");
  const auto& row = report.tables[0].table.rows[0];
  EXPECT_FALSE(row[1].value) << "a slope of what is no line";
  EXPECT_EQ(row[5].text, "no line: local slopes -1.00, 0.00");
  EXPECT_EQ(row[6].text, "6");
  EXPECT_EQ(row[7].text, "-1.00, 0.00");
  EXPECT_EQ(report.headline, "GC: no line: local slopes -1.00, 0.00 (theorem -0.500)");
  for (const auto& series : report.figures[0].plot.series) EXPECT_TRUE(series.points);
}

TEST(StudyReport, BarsStandBesideStoredFigures) {
  const auto study = parsed(
      small_study("bars",
                  "[[series]]\nlabel = \"a\"\nreference = [{ loss = 0.2 }, { loss = 0.1 }, {}]\n"
                  "[bars]\nvary = \"network.graph\"\nvalues = [\"ring\", \"star\", \"complete\"]\n"
                  "metrics = [\"loss\"]\n"));
  const auto report = study_report(study, made_up(study), "");
  const auto& stored = report.tables[0].table;
  ASSERT_EQ(stored.rows.size(), 2U);
  // Mean of 1/9 and 2/9 beside 0.2; of 2/9 and 3/9 beside 0.1.
  EXPECT_NEAR(*stored.rows[0][7].value, 1.5 / 9 - 0.2, 1e-12);
  EXPECT_NEAR(*stored.rows[1][8].value, 100 * (2.5 / 9 - 0.1) / 0.1, 1e-9);
  const auto& plot = report.figures[0].plot;
  EXPECT_EQ(plot.x.labels, (std::vector<std::string>{"ring", "star", "complete"}));
  EXPECT_NE(points_csv(plot).find("a,star,"), std::string::npos) << points_csv(plot);
}

TEST(StudyReport, SaysThatBuiltInDataStandsIn) {
  auto study = parsed(two_curves());
  study.settings[1].missing_data = "a9a";
  const auto page = report_page(study_report(study, made_up(study), ""));
  EXPECT_NE(page.find("Built-in data: a9a was not found"), page.npos);
}

TEST(StudyReport, ASeriesThatOnlyDivergedIsShownAsSuch) {
  const auto study = parsed(two_curves());
  auto result = made_up(study);
  for (auto& run : result.runs)
    if (run.setting == 1) run.status = RunEnd::diverged;
  const auto report = study_report(study, result, "");
  EXPECT_TRUE(report.figures[0].plot.series[1].diverged);
  EXPECT_EQ(report.tables[0].table.rows[1][1].text, "diverged");
  result.runs[2].status = RunEnd::finished;
  const auto partly = study_report(study, result, "");
  EXPECT_EQ(partly.figures[0].plot.series[1].name, "BEER <b> (1 of 2 seeds)");
  EXPECT_NE(partly.tables[0].table.rows[1][1].text.find("(1 of 2)"), std::string::npos);
}

TEST(WriteReport, LeavesAPageAndTheFilesBehindIt) {
  const TempDir dir;
  const auto study = parsed(two_curves());
  const auto report = study_report(study, made_up(study), "porter reproduce small");
  fs::create_directories(dir / "small/figures");
  write_file(dir / "small/figures/old.svg", "x");
  write_report(report, dir / "small");
  EXPECT_FALSE(fs::exists(dir / "small/figures/old.svg"));
  for (const char* file : {"index.html", "runs.csv", "summary.json", "figures/loss-by-round.svg",
                           "figures/loss-by-round.csv", "tables/summary.csv", "configs/gc.toml",
                           "configs/beer-b.toml"})
    EXPECT_TRUE(fs::exists(dir / "small" / file)) << file;
  const auto page = read_file(dir / "small/index.html");
  EXPECT_EQ(page.find("http"), page.find("http-equiv")) << "it loads nothing";
  EXPECT_EQ(page.find("<b>"), page.npos) << "labels are escaped";
  EXPECT_NE(page.find("search/gc.toml"), page.npos);
  const auto svg = read_file(dir / "small/figures/loss-by-round.svg");
  EXPECT_EQ(svg.find("var(--"), svg.npos) << "a file has no style sheet to ask";
  EXPECT_NO_THROW(load_config(dir / "small/configs/beer-b.toml"));
  const auto summary = nlohmann::json::parse(read_file(dir / "small/summary.json"));
  EXPECT_EQ(summary["tables"]["summary"].size(), 2U);
  const auto index = index_page(dir.path());
  EXPECT_NE(index.find("href=\"small/index.html\""), index.npos);
}

}  // namespace
}  // namespace porter
