// SPDX-License-Identifier: Apache-2.0
#include "grid/grid_journal.hpp"

#include <gtest/gtest.h>

namespace porter {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

GridRun a_run() {
  GridRun run{.seed = 18446744073709551615U, .fold = 4294967295U, .status = RunEnd::finished};
  run.rows.resize(1);
  run.facts = GridFacts{.data = "d", .agents = 10, .samples = 20, .dim = 30};
  return run;
}

TEST(GridJournal, ALineComesBack) {
  const auto line = journal_line("key", a_run());
  const auto back = parse_journal_line(line);
  ASSERT_TRUE(back);
  EXPECT_EQ(journal_line(back->first, back->second), line);
}

TEST(GridJournal, CountsThatAreNoneAreRefused) {
  const auto line = journal_line("key", a_run());
  const std::pair<const char*, std::vector<const char*>> fields[] = {
      {"\"seed\":18446744073709551615", {"\"seed\":1e20", "\"seed\":-1", "\"seed\":0.5"}},
      {"\"fold\":4294967295", {"\"fold\":4294967296", "\"fold\":1e20", "\"fold\":null"}},
      {"\"agents\":10", {"\"agents\":1e20", "\"agents\":-1"}},
      {"\"samples\":20", {"\"samples\":1e300", "\"samples\":true"}},
      {"\"dim\":30", {"\"dim\":\"30\"", "\"dim\":30.0"}}};
  for (const auto& [good, bad] : fields)
    for (const auto* text : bad)
      EXPECT_FALSE(parse_journal_line(replaced(line, good, text))) << text;
}

}  // namespace
}  // namespace porter
