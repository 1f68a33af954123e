// SPDX-License-Identifier: Apache-2.0
// Short runs against reference.py, which is written from the documents and shares no code with us.
// After a wanted change of the numbers: PORTER_UPDATE_GOLDEN=1 build/dev/tests/test_golden, and
// review the diff in a commit of its own.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "every_simd_target.hpp"
#include "io/file.hpp"
#include "paths.hpp"
#include "porter/train/train.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(source_dir()) / "tests/golden";

// Where one agent stands after a round.
struct State {
  std::uint32_t round;
  std::size_t agent;
  std::vector<double> x;
};

// The rows of "round,agent,x_0,...", below the header.
std::vector<State> read_states(const fs::path& file) {
  std::istringstream lines(read_file(file));
  std::string line, field;
  std::getline(lines, line);
  std::vector<State> states;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::vector<double> values;
    while (std::getline(fields, field, ',')) values.push_back(std::strtod(field.c_str(), nullptr));
    states.push_back({static_cast<std::uint32_t>(values.at(0)),
                      static_cast<std::size_t>(values.at(1)),
                      {values.begin() + 2, values.end()}});
  }
  return states;
}

// |a - b| / |b|; infinite where it has no meaning, so that nothing passes by accident.
double relative_error(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size() || b.empty()) return INFINITY;
  double difference = 0, norm = 0;
  for (std::size_t j = 0; j < b.size(); ++j) {
    difference += (a[j] - b[j]) * (a[j] - b[j]);
    norm += b[j] * b[j];
  }
  const double error = std::sqrt(difference / norm);
  return std::isfinite(error) ? error : INFINITY;
}

// Everything but the sources.
std::set<std::string> file_names(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto kind = entry.path().extension();
    if (entry.is_regular_file() && kind != ".py" && kind != ".cpp")
      names.insert(entry.path().filename().string());
  }
  return names;
}

// The names of the configs, without ".toml".
std::vector<std::string> case_names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& name : file_names(folder))
    if (name.ends_with(".toml")) names.push_back(name.substr(0, name.size() - 5));
  return names;
}

bool succeeds(const std::string& command) { return std::system(command.c_str()) == 0; }

// A Python that has NumPy, or nothing. The system's is asked first, for it sees the packages of the
// distribution.
std::string find_python() {
  for (const std::string python : {"/usr/bin/python3", "python3"})
    if (succeeds(python + " -c 'import numpy' 2>/dev/null")) return python;
  return {};
}

void replace_files(const fs::path& from, const fs::path& to) {
  for (const auto& name : file_names(to)) fs::remove(to / name);
  for (const auto& name : file_names(from)) fs::copy_file(from / name, to / name);
}

void expect_same_states(const fs::path& fresh, const fs::path& committed) {
  const auto a = read_states(fresh), b = read_states(committed);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].round, b[i].round);
    EXPECT_EQ(a[i].agent, b[i].agent);
    // Another exp or log may turn one float of a message, 6e-8 of its value, the other way.
    EXPECT_LT(relative_error(a[i].x, b[i].x), 2e-7) << "round " << a[i].round;
  }
}

// First in this file, so that an update precedes the comparison below.
TEST(Golden, FilesAreWhatTheReferenceWrites) {
  const auto python = find_python();
  const bool update = std::getenv("PORTER_UPDATE_GOLDEN") != nullptr;
  ASSERT_FALSE(update && python.empty()) << "the update needs python3 with numpy";
  if (python.empty()) GTEST_SKIP() << "no python3 with numpy: the golden files are not verified";

  const TempDir fresh;
  ASSERT_TRUE(succeeds(python + " '" + (kFolder / "reference.py").string() + "' '" +
                       fresh.path().string() + "'"));
  if (update) replace_files(fresh.path(), kFolder);
  ASSERT_EQ(file_names(fresh.path()), file_names(kFolder));
  for (const auto& name : file_names(kFolder)) {
    SCOPED_TRACE(name);
    const bool states = fs::exists((kFolder / name).replace_extension(".toml"));
    if (states && name.ends_with(".csv"))
      expect_same_states(fresh / name, kFolder / name);
    else
      EXPECT_EQ(read_file(fresh / name), read_file(kFolder / name));
  }
}

// Runs a config to the end of `expected` and returns the worst error of each round in it.
std::map<std::uint32_t, double> worst_errors(const fs::path& config,
                                             const std::vector<State>& expected) {
  Trainer trainer(assemble(load_config(config)));
  std::map<std::uint32_t, double> worst;
  for (const auto& state : expected) {
    while (trainer.round() < state.round) trainer.step();
    const auto& X = trainer.algorithm().iterates();
    const double error =
        state.agent < X.agents() ? relative_error(X.row(state.agent), state.x) : INFINITY;
    worst[state.round] = std::max(worst[state.round], error);
  }
  return worst;
}

void expect_match(const std::string& name) {
  const auto expected = read_states(kFolder / (name + ".csv"));
  ASSERT_FALSE(expected.empty());
  for (const auto& [round, error] : worst_errors(kFolder / (name + ".toml"), expected)) {
    fmt::print("{:<28} round {:>3}  worst relative error {:.1e}\n", name, round, error);
    // Messages are floats, good to 6e-8, and the errors of a run stay near that. Planted faults,
    // down to a surrogate that is off by 1e-4, showed at 6e-6 and above.
    EXPECT_LT(error, 1e-6) << "round " << round;
  }
}

TEST(Golden, RunsMatchTheReferenceOnEveryInstructionSet) {
  const auto cases = case_names(kFolder);
  ASSERT_FALSE(cases.empty());
  for_every_simd_target([&](const std::string& target) {
    fmt::print("{}\n", target);
    for (const auto& name : cases) {
      SCOPED_TRACE(name);
      EXPECT_NO_THROW(expect_match(name));  // a run that fails must not hide the others
    }
  });
}

}  // namespace
}  // namespace porter
