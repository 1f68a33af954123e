// SPDX-License-Identifier: Apache-2.0
#include "data/schema_guess.hpp"

#include <gtest/gtest.h>

#include "porter/core/error.hpp"

namespace porter {
namespace {

SchemaGuess guess(const std::string& text, const GuessOptions& options = {}) {
  TextInput input(text, "f");
  return guess_schema(input, options);
}

const Column& column(const SchemaGuess& guess, const std::string& name) {
  for (const auto& c : guess.schema.columns)
    if (c.name == name) return c;
  throw std::runtime_error("no column " + name);
}

std::string people(int rows) {
  std::string text = "person_id;name;age;job;born;income;score\n";
  for (int i = 0; i < rows; ++i)
    text += std::to_string(1000 + i) + ";\"Doe, " + std::to_string(i) + "\";" +
            std::to_string(18 + i % 60) + ";" +
            (i % 3 == 0   ? "cook"
             : i % 3 == 1 ? "clerk"
                          : "") +
            ";19" + std::to_string(50 + i % 50) + "-01-0" + std::to_string(1 + i % 9) + ";" +
            (i % 4 == 0 ? ">50K" : "<=50K") + ";" + std::to_string(i % 7) + ",5\n";
  return text;
}

TEST(SchemaGuess, TellsKindsOfColumns) {
  const auto found = guess(people(100), {.labels = {"income"}});
  EXPECT_EQ(found.records, 100U);
  EXPECT_EQ(found.schema.format.separator, ';');
  EXPECT_TRUE(found.schema.format.header);
  EXPECT_TRUE(found.schema.format.decimal_comma);
  EXPECT_EQ(found.schema.labels.front().classes, (std::vector<std::string>{"<=50K", ">50K"}));
  for (const auto* dropped : {"person_id", "name", "born"})
    EXPECT_EQ(column(found, dropped).kind, ColumnKind::drop) << dropped;
  const auto& age = column(found, "age");
  EXPECT_EQ(age.kind, ColumnKind::number);
  EXPECT_LE(*age.low, 18);
  EXPECT_GE(*age.high, 77);
  const auto& job = column(found, "job");
  EXPECT_EQ(job.values, (std::vector<std::string>{"clerk", "cook"}));
  EXPECT_EQ(job.missing, Missing::own);
  EXPECT_EQ(column(found, "score").kind, ColumnKind::number);
}

TEST(SchemaGuess, ItsDraftIsASchemaThatReadsTheFile) {
  const auto text = draft_text(guess(people(100), {.labels = {"income"}}), "f");
  const auto schema = parse_schema(text, "draft");
  EXPECT_EQ(to_toml(schema), to_toml(guess(people(100), {.labels = {"income"}}).schema));
  EXPECT_NE(text.find("# person_id is dropped"), std::string::npos);
}

TEST(SchemaGuess, ItsRangesAreRanges) {
  for (const std::string number : {"999999999999999991", "0", "-5", "1e-30", "1e38", "2024",
                                   "0.30000000001", "-0.0003", "1.9999999999999998"}) {
    const auto found = guess("a,b\n" + number + ",x\n,y\n");
    const auto& a = column(found, "a");
    EXPECT_LT(*a.low, *a.high) << number;
    EXPECT_LE(*a.low, std::stod(number)) << number;
    EXPECT_GE(*a.high, std::stod(number)) << number;
  }
  EXPECT_EQ(column(guess("a,b\n-0.000295,x\n,y\n"), "a").low, -0.0003) << "as people write it";
}

TEST(SchemaGuess, TakesTheLabelByNameOrPlace) {
  EXPECT_EQ(guess("a,b\n1,0\n2,1\n").schema.labels.front().name, "b");
  EXPECT_EQ(guess("a,b\n1,0\n2,1\n", {.labels = {"1"}}).schema.labels.front().name, "a");
  EXPECT_EQ(guess("1,2,0\n2,3,1\n").schema.labels.front().name, "column 3");
  EXPECT_FALSE(guess("1,2,0\n2,3,1\n").schema.format.header);
  EXPECT_TRUE(guess("a,b\n1,0.5\n2,1.25\n").schema.labels.front().number());
}

TEST(SchemaGuess, TakesSeveralLabelsAsTargets) {
  const auto found = guess("a,b,c\n1,0,7\n2,1,-250\n", {.labels = {"c", "a"}}).schema;
  ASSERT_EQ(found.labels.size(), 2U);
  EXPECT_EQ(found.labels[0].name, "c");
  EXPECT_EQ(found.labels[1].name, "a");
  EXPECT_TRUE(found.labels[1].number())
      << "few whole numbers are targets, too, where there are two";
  EXPECT_EQ(found.labels[0].deviation, 300);
  EXPECT_EQ(found.columns.size(), 1U);
  const auto bare = guess("1,0,7\n2,1,-250\n", {.labels = {"3", "2"}}).schema;
  EXPECT_EQ(bare.labels[0].name, "column 2") << "without a header they are in the file's order";
}

TEST(SchemaGuess, TakesAWeight) {
  const auto found = guess("a,b,y\n1,0,0\n2,13,1\n", {.weight = "b"}).schema;
  EXPECT_EQ(*found.weight, (WeightColumn{"b", 13, Outside::clamp}));
  EXPECT_EQ(found.columns.size(), 1U);
  EXPECT_EQ(parse_schema(to_toml(found), "again").weight, found.weight);
  EXPECT_EQ(guess("1,0,0\n2,13,1\n", {.weight = "2"}).schema.weight->name, "column 2");
}

TEST(SchemaGuess, NamesWhatIsWrong) {
  const auto says = [](const std::string& text, const GuessOptions& options,
                       const std::string& what) {
    try {
      guess(text, options);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  says("", {}, "f: the file is empty");
  says("a\n1\n", {}, "found one column");
  says("a,b\n", {}, "expected records");
  says("a,b\n1,2,3\n", {}, "f, line 2: expected 2 columns as in the first line, found 3");
  says("a,b\n1,x\n2,\n", {}, "the label 'b' is missing in 1 of 2 records");
  says("a,b\n1,x\n2,x\n", {}, "expected at least two classes");
  says("a,b\n1,x\n2,y\n", {.labels = {"c"}}, "the columns are a, b");
  says("a,b\n1,x\n2,y\n", {.drop = {"c"}}, "there is no column \"c\"");
  says("a,a\n1,x\n2,y\n", {}, "two columns are called 'a'");
  says("a,b\n\xE4,x\n2,y\n", {}, "expected UTF-8");
  says("\xE4,9\n2,y\n", {}, "expected UTF-8");
  says("x,b\n1,a\n1,b\n", {}, "no column is left");
  says("a,b,y\n1,-1,0\n2,1,1\n", {.weight = "b"}, "the weight 'b': expected numbers >= 0");
  says("a,b,y\n1,x,0\n2,1,1\n", {.weight = "b"}, "expected a number in every record, found 1 of 2");
  says("a,b,y\n1,1,0\n2,1,1\n", {.weight = "y"}, "--weight: the column \"y\" is a label");
  says("a,b,y\n1,1,0\n2,1,1\n", {.weight = "c"}, "--weight: expected the name of a column");
  says("1,1,0\n2,1,1\n", {.weight = "1"}, "the weight must stand right before the labels");
  says("a,b,c\n1,x,2\n2,y,3\n", {.labels = {"b", "c"}},
       "the label 'b': several labels are the targets of a regression; expected numbers, found 2 "
       "of 2 records with a text");
  says("a,b,c\n1,2,2\n2,,3\n", {.labels = {"b", "c"}},
       "the label 'b' is missing in 1 of 2 records");
  says("a,b\n1,x\n2,y\n", {.labels = {"b", "2"}}, "the column \"b\" is given twice");
  says("1,2,3\n2,3,4\n", {.labels = {"1", "2"}}, "without a header labels must be the last");
}

}  // namespace
}  // namespace porter
