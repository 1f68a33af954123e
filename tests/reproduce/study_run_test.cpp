// SPDX-License-Identifier: Apache-2.0
#include "grid/grid.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "grid/grid_journal.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "reproduce/report.hpp"
#include "study_cases.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

// All that a reader sees of a result, in full precision.
std::string page_of(const Study& study, const GridResult& result) {
  const auto report = study_report(study, result, "command");
  std::string out = report_page(report) + report.runs;
  for (const auto& figure : report.figures) out += points_csv(figure.plot);
  return out;
}

TEST(RunGrid, TrainsEverySettingWithEverySeedOnce) {
  const TempDir dir;
  const auto study = parsed(two_curves());
  const auto first = run_grid(study, dir.path(), {});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->trained, 4U);
  for (const auto& run : first->runs) {
    EXPECT_TRUE(run.finished()) << run.reason;
    EXPECT_EQ(run.rows.back().round, 8U);
    EXPECT_EQ(run.facts->agents, 4U);
  }
  const auto second = run_grid(study, dir.path(), {});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->trained, 0U);
  EXPECT_EQ(page_of(study, *second), page_of(study, *first)) << "to the last digit";
}

TEST(RunGrid, ModelledSecondsComeBackFromTheJournal) {
  const TempDir dir;
  auto text = two_curves();
  text.replace(text.find("graph = \"ring\""), 0, "compute = 0.5, ");
  const auto study = parsed(text);
  const auto first = run_grid(study, dir.path(), {});
  const auto second = run_grid(study, dir.path(), {});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(second->trained, 0U);
  for (std::size_t i = 0; i < first->runs.size(); ++i) {
    ASSERT_EQ(second->runs[i].rows.size(), first->runs[i].rows.size());
    EXPECT_EQ(second->runs[i].rows.back().seconds, 4) << "8 rounds of half a second";
    for (std::size_t row = 0; row < first->runs[i].rows.size(); ++row)
      EXPECT_EQ(metrics_line(second->runs[i].rows[row]), metrics_line(first->runs[i].rows[row]));
  }
  EXPECT_EQ(page_of(study, *second), page_of(study, *first));
}

TEST(RunGrid, DoesNotDependOnTheThreads) {
  const auto study = parsed(two_curves());
  std::vector<std::string> pages;
  for (const std::size_t threads : {1U, 3U, 8U}) {
    const TempDir dir;
    pages.push_back(page_of(study, *run_grid(study, dir.path(), {.jobs = threads})));
  }
  EXPECT_EQ(pages[1], pages[0]);
  EXPECT_EQ(pages[2], pages[0]);
}

TEST(RunGrid, GoesOnWhereItWasStopped) {
  const TempDir dir, other;
  const auto study = parsed(two_curves());
  std::atomic<int> rounds{0};
  const auto stopped =
      run_grid(study, dir.path(),
               {.jobs = 1,
                .stop_requested = [&] { return rounds > 20; },  // in the third run
                .after_round = [&](const GridCounters&, std::size_t) { ++rounds; }});
  EXPECT_FALSE(stopped);
  const auto rest = run_grid(study, dir.path(), {});
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->trained, 2U);
  EXPECT_EQ(page_of(study, *rest), page_of(study, *run_grid(study, other.path(), {})));
}

TEST(RunGrid, MoreSeedsAndAChangedSeriesTrainOnlyWhatIsNew) {
  const TempDir dir;
  run_grid(parsed(two_curves()), dir.path(), {});
  EXPECT_EQ(run_grid(parsed(two_curves(), {.seeds = 3}), dir.path(), {})->trained, 2U);
  auto changed = two_curves();
  changed.replace(changed.find("\"beer\""), 6, "\"choco-sgd\"");
  const auto result = run_grid(parsed(changed), dir.path(), {});
  EXPECT_EQ(result->trained, 2U);
  EXPECT_EQ(result->foreign, 4U) << "three of beer, and a third seed";
  EXPECT_EQ(run_grid(parsed(changed), dir.path(), {}, true)->trained, 4U);
}

TEST(RunGrid, AFailingSeriesIsARowWithItsReason) {
  const TempDir dir;
  const auto study = parsed(small_study(
      "curves",
      "[curves]\nmetrics = [\"loss\"]\n[[series]]\nlabel = \"good\"\n"
      "[[series]]\nlabel = \"wild\"\nset = { \"algorithm.name\" = \"beer\", \"algorithm.step\" = "
      "1e200 }\n"
      "[[series]]\nlabel = \"too large\"\nset = { \"algorithm.batch\" = 1000000 }\n"
      "[[series]]\nlabel = \"refused\"\nset = { \"algorithm.step\" = -1 }\n"));
  const auto result = run_grid(study, dir.path(), {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->refused, 2U);
  EXPECT_EQ(result->run(1, 0).status, RunEnd::diverged);
  EXPECT_EQ(result->run(2, 0).status, RunEnd::failed);
  EXPECT_EQ(result->run(3, 1).status, RunEnd::failed);
  for (std::size_t s = 1; s < 4; ++s) EXPECT_FALSE(result->run(s, 0).reason.empty()) << s;
  const auto page = report_page(study_report(study, *result, ""));
  for (const char* part : {"6 of 8 runs did not finish", "algorithm.batch: expected at most",
                           "no longer finite", "algorithm.step: expected a number", "1, 2"})
    EXPECT_NE(page.find(part), page.npos) << part;
  EXPECT_EQ(run_grid(study, dir.path(), {})->trained, 2U) << "failed runs are tried again";
}

TEST(GridJournal, DropsHalfALineAndRefusesForeignLines) {
  const TempDir dir;
  const auto study = parsed(two_curves());
  run_grid(study, dir.path(), {});
  const auto file = dir / "journal.jsonl";
  const auto whole = read_file(file);
  write_file(file, whole + "{\"key\":\"half");
  EXPECT_EQ(run_grid(study, dir.path(), {})->trained, 0U);
  EXPECT_EQ(read_file(file), whole);
  write_file(file, whole + "{\"key\":\"a\"}\n");
  try {
    run_grid(study, dir.path(), {});
    ADD_FAILURE() << "accepted a line that is none";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("line 6"), std::string::npos) << error.what();
  }
  write_file(file, "{\"journal\":\"of another version\"}\n");
  EXPECT_EQ(run_grid(study, dir.path(), {})->trained, 4U);
}

TEST(GridJournal, IsHeldByOneProcessAtATime) {
  const TempDir dir;
  const GridJournal journal(dir.path(), "test");
  EXPECT_THROW(GridJournal(dir.path(), "test"), Error);
}

TEST(GridJournal, ReadsBackWhatItWrites) {
  GridRun run{.seed = 7, .status = RunEnd::diverged, .reason = "a \"quoted\"\tone"};
  MetricsRow row;
  row.round = 3;
  row.loss = 0.1;
  row.grad_norm_sq = std::numeric_limits<double>::quiet_NaN();
  row.consensus_error = -std::numeric_limits<double>::infinity();
  row.test_accuracy = 1.0 / 3;
  run.rows.push_back(row);
  run.facts = GridFacts{.data = "d", .agents = 10, .samples = 5, .dim = 3, .rho = 0.05};
  const auto line = journal_line("key", run);
  const auto entry = parse_journal_line(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(entry);
  EXPECT_EQ(journal_line(entry->first, entry->second), line);
  EXPECT_EQ(entry->second.rows[0].test_accuracy, 1.0 / 3);
  EXPECT_TRUE(std::isnan(entry->second.rows[0].grad_norm_sq));
  EXPECT_EQ(entry->second.rows[0].consensus_error, row.consensus_error);
  EXPECT_FALSE(entry->second.rows[0].epsilon);
  EXPECT_EQ(entry->second.facts->rho, 0.05);
}

}  // namespace
}  // namespace porter
