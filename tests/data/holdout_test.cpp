// SPDX-License-Identifier: Apache-2.0
#include "data/holdout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "temp_dir.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

using RowList = std::vector<std::uint32_t>;

DataOptions share_of(double holdout) {
  DataOptions options;
  options.holdout = holdout;
  return options;
}
DataOptions part_of(std::uint32_t number, std::uint32_t of) {
  DataOptions options;
  options.fold = {number, of};
  return options;
}

std::map<float, double> rows_by_class(const Dataset& data, const RowList& rows) {
  std::map<float, double> counts;
  for (const auto row : rows) ++counts[data.labels[row]];
  return counts;
}

RowList all_rows(const Dataset& data) {
  RowList rows(data.rows());
  for (std::uint32_t row = 0; row < rows.size(); ++row) rows[row] = row;
  return rows;
}

// As docs/randomness.md says it, class by class.
RowList reference_rows(const Dataset& data, double share) {
  auto order = all_rows(data);
  RngStream rng(0x686F6C646F7574, Draw::holdout, 0, 0);
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[rng.below(i + 1)]);
  RowList sorted, out;
  for (std::size_t c = 0; c < std::max<std::size_t>(data.classes.size(), 1); ++c)
    for (const auto row : order)
      if (data.classes.empty() || data.labels[row] == static_cast<float>(c)) sorted.push_back(row);
  double taken = 0;
  for (std::size_t p = 0; p < sorted.size(); ++p) {
    const double due = std::floor(share * static_cast<double>(p + 1) + 0.5);
    if (due > taken) out.push_back(sorted[p]);
    taken = due;
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Holdout, TakesTheRowsThatTheDocumentDefines) {
  for (const std::size_t classes : {0U, 2U, 5U})
    for (const double share : {0.01, 0.2, 1.0 / 3, 0.9})
      EXPECT_EQ(held_out_rows(toy_data(501, 3, classes, false), share_of(share)),
                reference_rows(toy_data(501, 3, classes, false), share))
          << classes << " classes, " << share;
}

TEST(Holdout, KeepsEveryClassInProportion) {
  for (const std::size_t rows : {10U, 97U, 1000U})
    for (const std::size_t classes : {2U, 3U, 7U})
      for (const double share : {0.1, 0.2, 0.5, 0.77}) {
        SCOPED_TRACE(concat(rows, " rows, ", classes, " classes, ", share));
        const auto data = toy_data(rows, 4, classes, false);
        const auto out = held_out_rows(data, share_of(share));
        EXPECT_EQ(static_cast<double>(out.size()), std::floor(share * double(rows) + 0.5));
        auto counts = rows_by_class(data, out);
        for (const auto& [label, count] : rows_by_class(data, all_rows(data)))
          EXPECT_LE(std::abs(counts[label] - share * count), 1.0) << "class " << label;
      }
}

TEST(Holdout, FoldsAreAPartitionIntoEqualPartsWithTheirClasses) {
  for (const std::size_t classes : {0U, 2U, 4U})
    for (const std::uint32_t of : {2U, 5U, 10U, 53U}) {
      SCOPED_TRACE(concat(classes, " classes, ", of, " folds"));
      const auto data = toy_data(53, 4, classes, false);
      RowList together;
      std::set<std::size_t> sizes;
      std::map<float, std::set<double>> counts;
      for (std::uint32_t number = 1; number <= of; ++number) {
        const auto part = held_out_rows(data, part_of(number, of));
        together.insert(together.end(), part.begin(), part.end());
        sizes.insert(part.size());
        auto by_class = rows_by_class(data, part);
        for (const auto& [label, all] : rows_by_class(data, all_rows(data)))
          if (classes > 0) counts[label].insert(by_class[label]);
      }
      std::sort(together.begin(), together.end());
      EXPECT_EQ(together, all_rows(data));
      EXPECT_LE(*sizes.rbegin() - *sizes.begin(), 1U);
      for (const auto& [label, seen] : counts)
        EXPECT_LE(*seen.rbegin() - *seen.begin(), 1.0) << "class " << label;
    }
}

TEST(Holdout, OfARegressionDoesNotLookAtTheTargets) {
  auto data = toy_data(100, 4, 0, false);
  const auto out = held_out_rows(data, share_of(0.3));
  for (float& target : data.labels) target = -target;
  EXPECT_EQ(held_out_rows(data, share_of(0.3)), out);
}

TEST(Holdout, FoldTextsReadBackOrSayWhatIsExpected) {
  EXPECT_EQ(to_string(parse_fold("2/5")), "2/5");
  for (const char* text : {"", "2", "0/5", "6/5", "1/1", "2/1001", "a/b", "-1/5", "1/5/2", "1.0/5"})
    try {
      parse_fold(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("such as 2/5"), std::string::npos) << error.what();
    }
}

class HeldOutFile : public testing::Test {
 protected:
  HeldOutFile() {
    const auto data = toy_data(40, 3, 2, false);
    for (std::size_t r = 0; r < data.rows(); ++r) lines_.push_back(csv_row(data, r));
    write("all.csv", all_rows(data));
    const auto all = all_rows(data);
    out_ = held_out_rows(data, share_of(0.25));
    std::set_difference(all.begin(), all.end(), out_.begin(), out_.end(),
                        std::back_inserter(kept_));
  }
  void write(const char* name, const RowList& rows) {
    std::string text;
    for (const auto row : rows) text += lines_[row];
    write_file(dir_ / name, text);
  }
  DataOptions options(const char* train) {
    DataOptions options;
    options.train = (dir_ / train).string();
    options.scale = FeatureScale::standard;
    options.cache = false;
    return options;
  }

  TempDir dir_;
  std::vector<std::string> lines_;
  RowList out_, kept_;
};

// As if the held-out rows had come in a file of their own: no scale has seen them.
TEST_F(HeldOutFile, IsATestSetThatNothingWasMeasuredOn) {
  write("train.csv", kept_);
  write("test.csv", out_);
  auto held = options("all.csv"), given = options("train.csv");
  held.holdout = 0.25;
  given.test = (dir_ / "test.csv").string();
  const auto a = load_data(held), b = load_data(given);
  EXPECT_EQ(a.train.values, b.train.values);
  EXPECT_EQ(a.train.labels, b.train.labels);
  EXPECT_EQ(a.test->values, b.test->values);
  EXPECT_EQ(a.test->labels, b.test->labels);
  EXPECT_NE(a.source.find("10 of its 40 rows held out as the test set (data.holdout = 0.25, "),
            std::string::npos)
      << a.source;
  // A file in their place meets the same scale.
  held.test = given.test;
  held.test_instead = true;
  const auto instead = load_data(held);
  EXPECT_EQ(instead.train.values, a.train.values);
  EXPECT_EQ(instead.test->values, a.test->values);
}

// What is chosen on rows held out of a known set's training rows has not seen its test set.
TEST(HeldOut, AKnownSetIsWithoutItsTestSetWhereThatIsAsked) {
  for (const char* name : {"synthetic", "synthetic-digits"}) {
    DataOptions options;
    options.name = name;
    const auto whole = load_data(options);
    options.without_test = true;
    const auto alone = load_data(options);
    EXPECT_FALSE(alone.test) << name;
    EXPECT_EQ(alone.train.labels, whole.train.labels) << name;
    EXPECT_NE(alone.source.find("test set left out"), std::string::npos) << alone.source;
    options.holdout = 0.25;
    const auto held = load_data(options);
    const auto out = held_out_rows(whole.train, options);
    ASSERT_TRUE(held.test) << name;
    EXPECT_EQ(held.test->labels, select_rows(whole.train, out).labels) << name;
    EXPECT_EQ(held.train.rows(), whole.train.rows() - out.size()) << name;
  }
}

TEST_F(HeldOutFile, IsRefusedBesideATestSetAndWithAGuarantee) {
  const auto refusal = [](const DataOptions& asked) -> std::pair<ErrorKind, std::string> {
    try {
      load_data(asked);
    } catch (const Error& error) {
      return {error.kind(), error.what()};
    }
    return {ErrorKind::io, "no error"};
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), text.npos) << "expected \"" << part << "\" in: " << text;
  };
  auto beside = options("all.csv");
  beside.holdout = 0.2;
  beside.test = beside.train;
  has(refusal(beside).second, "data.holdout: nothing is held out where there is a test set");
  DataOptions known;
  known.name = "synthetic";
  known.fold = {1, 5};
  has(refusal(known).second, "data.fold: nothing is held out where there is a test set");
  auto files = options("all.csv");
  files.without_test = true;
  has(refusal(files).second, "data.without_test: expected a known data set with a test set");
  auto both = options("all.csv");
  both.holdout = 0.2;
  both.fold = {1, 5};
  has(refusal(both).second, "found both");
  auto guarantee = options("all.csv");
  guarantee.scale = FeatureScale::none;
  guarantee.features = 3;
  guarantee.classes = {0, 1};
  guarantee.holdout = 0.2;
  guarantee.guarantee = true;
  EXPECT_EQ(refusal(guarantee).first, ErrorKind::privacy);
  has(refusal(guarantee).second, "no epsilon covers");
  auto nothing = options("all.csv");
  nothing.holdout = 0.001;
  has(refusal(nothing).second, "found 40 and 0");
  auto empty = options("all.csv");
  empty.fold = {41, 50};
  has(refusal(empty).second, "found 40 and 0");
}

}  // namespace
}  // namespace porter
