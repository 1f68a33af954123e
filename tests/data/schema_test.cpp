// SPDX-License-Identifier: Apache-2.0
#include "porter/data/schema.hpp"

#include <gtest/gtest.h>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/data/load.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

const char* kSchema = R"(
[file]
separator = ";"
[label]
name = "ill"
classes = ["no", "yes"]
[[column]]
name = "age"
unit = "years"
range = [0, 100]
outside = "clamp"
scale = "range"
missing = 50
[[column]]
name = "job"
kind = "category"
values = ["clerk", "cook"]
unknown = "other"
missing = "own"
[[column]]
name = "id"
kind = "drop"
[[column]]
name = "dose"
scale = "standard"
mean = 2
deviation = 4
missing = "own"
)";

std::string schema_error(const std::string& text) {
  try {
    parse_schema(text, "s.toml");
    return "none";
  } catch (const Error& error) {
    return error.what();
  }
}

void expect_schema_error(const std::string& text, const std::string& what) {
  const auto error = schema_error(text);
  EXPECT_NE(error.find(what), std::string::npos) << error << "\n" << text;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Schema, ListsItsFeaturesInOrder) {
  const auto schema = parse_schema(kSchema, "s.toml");
  EXPECT_EQ(schema.features(),
            (std::vector<std::string>{"age", "job=clerk", "job=cook", "job (other)",
                                      "job (missing)", "dose", "dose (missing)"}));
  EXPECT_EQ(schema.labels.front().classes, (std::vector<std::string>{"no", "yes"}));
}

TEST(Schema, ReadsBackWhatItWrites) {
  const auto schema = parse_schema(kSchema, "s.toml");
  const auto again = parse_schema(to_toml(schema), "again");
  EXPECT_EQ(again.columns, schema.columns);
  EXPECT_EQ(again.labels, schema.labels);
  EXPECT_EQ(again.format, schema.format);
  EXPECT_EQ(to_toml(again), to_toml(schema));
}

TEST(Schema, ItsFactsAreWhatOwnersMustAgreeOn) {
  const auto schema = parse_schema(kSchema, "s.toml");
  const auto facts = schema_facts(schema);
  EXPECT_EQ(facts.size(), 4U);  // the label and three columns; one is dropped
  for (const auto& same : {replaced(kSchema, "separator = \";\"", "separator = \",\""),
                           replaced(kSchema, "unit = \"years\"", "unit = \"a\""),
                           replaced(kSchema, "name = \"id\"", "name = \"number\"")})
    EXPECT_EQ(schema_hash(parse_schema(same, "s")), schema_hash(schema));
  const auto reversed =
      parse_schema(replaced(kSchema, "[\"no\", \"yes\"]", "[\"yes\", \"no\"]"), "s.toml");
  EXPECT_NE(schema_hash(reversed), schema_hash(schema));
  EXPECT_NE(schema_facts(reversed).at("label"), facts.at("label"));
  const auto wider = parse_schema(replaced(kSchema, "[0, 100]", "[0, 120]"), "s.toml");
  EXPECT_NE(schema_facts(wider).at("column age"), facts.at("column age"));
  EXPECT_EQ(schema_facts(wider).at("column job"), facts.at("column job"));
}

TEST(Schema, NamesEveryMistake) {
  const auto says = [&](const std::string& from, const std::string& to, const std::string& what) {
    expect_schema_error(replaced(kSchema, from, to), what);
  };
  says("[0, 100]", "[100, 0]", "column age.range: expected two numbers, the smaller first");
  says("[0, 100]", "[0]", "column age.range");
  says("outside = \"clamp\"", "outside = \"cut\"", "column age.outside: expected one of error");
  says("missing = 50", "missing = \"value:cook\"", "column age.missing");
  says("missing = \"own\"", "missing = \"value:tailor\"", "none of the column's values");
  says("deviation = 4", "deviation = 0", "column dose.deviation: expected a number > 0");
  says("mean = 2", "", "needs mean and deviation");
  says("[\"clerk\", \"cook\"]", "[\"cook\", \"cook\"]", "listed twice");
  says("name = \"dose\"", "name = \"age\"", "\"age\" is listed twice");
  says("[\"no\", \"yes\"]", "[\"no\"]", "label.classes: expected 2 to 1000");
  says("unit", "units", "unknown key");
  says("[file]", "[files]", "unknown section files");
  says("separator = \";\"", "separator = \"ab\"", "file.separator");
  expect_schema_error("[label]\nname = \"y\"", "[[column]]");
  expect_schema_error("", "[label]");
}

// kSchema with two numbers to learn.
std::string two_labels() {
  return replaced(kSchema, "[label]\nname = \"ill\"\nclasses = [\"no\", \"yes\"]\n",
                  "[[label]]\nname = \"weight\"\nmean = 70\ndeviation = 10\n"
                  "[[label]]\nname = \"pulse\"\n");
}

TEST(Schema, SeveralLabelsAreTargetsInTheirOrder) {
  const auto schema = parse_schema(two_labels(), "s.toml");
  ASSERT_EQ(schema.labels.size(), 2U);
  EXPECT_TRUE(schema.regression());
  EXPECT_EQ(schema.labels[0], (Label{.name = "weight", .mean = 70, .deviation = 10}));
  EXPECT_EQ(schema.labels[1].name, "pulse");
  EXPECT_EQ(parse_schema(to_toml(schema), "again").labels, schema.labels);

  // Owners compare each of them, and their order.
  const auto facts = schema_facts(schema);
  EXPECT_EQ(facts.size(), 5U);
  const auto swapped = replaced(replaced(replaced(two_labels(), "weight", "w"), "pulse", "weight"),
                                "\"w\"", "\"pulse\"");
  const auto other = schema_facts(parse_schema(swapped, "s.toml"));
  EXPECT_NE(other.at("label weight"), facts.at("label weight"));
  EXPECT_NE(other.at("label pulse"), facts.at("label pulse"));
  EXPECT_FALSE(schema_facts(parse_schema(kSchema, "s.toml")).contains("label weight"));

  const auto says = [&](const std::string& from, const std::string& to, const std::string& what) {
    expect_schema_error(replaced(two_labels(), from, to), what);
  };
  says("\"pulse\"", "\"weight\"", "the label \"weight\" is listed twice");
  says("\"pulse\"", "\"pulse\"\nclasses = [\"a\", \"b\"]", "but \"pulse\" has classes");
  says("\"pulse\"", "\"pulse\"\nunit = 1", "label pulse.unit: unknown key");
  says("deviation = 10", "deviation = -1", "label weight.deviation: expected a number > 0");
  says("\"pulse\"", "\"age\"", "\"age\" is listed twice, or is a label");
  for (const auto* none : {"label = []", "label = [3]"})
    expect_schema_error(none, "expected labels as [[label]] sections");
}

class SchemaTable : public ::testing::Test {
 protected:
  DataPair load(const std::string& csv, bool guarantee = false, const char* schema = kSchema) {
    write_file(folder / "t.csv", csv);
    DataOptions options{.train = (folder / "t.csv").string(), .bias = false};
    options.schema = std::make_shared<const Schema>(parse_schema(schema, "s.toml"));
    options.guarantee = guarantee;
    options.regression = options.schema->regression();
    return load_data(options);
  }
  std::string table_error(const std::string& csv, const char* schema = kSchema) {
    try {
      load(csv, false, schema);
      return "none";
    } catch (const Error& error) {
      const std::string text = error.what();
      return text.substr(text.find("t.csv"));
    }
  }
  TempDir folder;
};

TEST_F(SchemaTable, MakesFeaturesOfFields) {
  const auto data =
      load("id;dose;age;ill;job\n7;4;25;yes;cook\n8;NA;130;no;\n9;2;;no;\"astro; naut\"\n").train;
  EXPECT_EQ(data.features, 7U);
  EXPECT_EQ(data.classes, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(data.labels, (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(data.values, (std::vector<float>{0.25F, 0, 1, 0, 0, 0.5F, 0,  //
                                             1,     0, 0, 0, 1, 0,    1,  //
                                             0.5F,  0, 0, 1, 0, 0,    0}));
}

TEST_F(SchemaTable, TheOrderOfColumnsDoesNotMatter) {
  const auto one = load("age;job;id;dose;ill\n25;cook;7;4;yes\n1;clerk;8;3;no\n").train;
  const auto other = load("ill;dose;id;new;job;age\nyes;4;7;x;cook;25\nno;3;8;y;clerk;1\n").train;
  EXPECT_EQ(one.values, other.values);
  EXPECT_EQ(one.labels, other.labels);
}

TEST_F(SchemaTable, NamesFileLineColumnAndWhatWasFound) {
  const std::string head = "age;job;id;dose;ill\n";
  EXPECT_EQ(table_error("age;id;dose;ill\n1;2;3;no\n"),
            "t.csv, line 1: expected a column 'job' as the schema says, found the columns 'age', "
            "'id', 'dose', 'ill'");
  EXPECT_EQ(table_error("age;job;id;dose;age;ill\n1;cook;1;1;1;no\n"),
            "t.csv, line 1: expected the column 'age' once, found it 2 times");
  EXPECT_EQ(table_error(head + "1;cook;1;1;no\n1;cook;1;no\n"),
            "t.csv, line 3: expected 5 columns as in the header, found 4");
  EXPECT_EQ(table_error(head + "old;cook;1;1;no\n"),
            "t.csv, line 2, column 'age': expected a finite number, found 'old'");
  EXPECT_EQ(table_error(head + "1;cook;1;1,5;no\n"),
            "t.csv, line 2, column 'dose': expected a finite number, found '1,5'; if this is a "
            "decimal comma, write decimal = \",\" in the schema's [file]");
  EXPECT_EQ(table_error(head + "1;cook;1;1;maybe\n"),
            "t.csv, line 2, label 'ill': expected one of the 2 classes of the schema, found "
            "'maybe'");
  EXPECT_EQ(table_error(head), "t.csv: expected records, found none");
}

TEST_F(SchemaTable, HasSeveralTargetsInEachRow) {
  const auto schema = two_labels();
  const std::string head = "pulse;age;job;id;weight;dose\n";
  const auto data =
      load(head + "60;25;cook;7;80;4\n75.5;50;clerk;8;65;2\n", false, schema.c_str()).train;
  EXPECT_EQ(data.outputs, 2U);
  EXPECT_TRUE(data.classes.empty());
  EXPECT_EQ(data.labels, (std::vector<float>{1, 60, -0.5F, 75.5F}));
  EXPECT_EQ(data.rows(), 2U);

  EXPECT_EQ(
      table_error("age;job;id;dose;weight\n1;cook;1;1;50\n", schema.c_str()),
      "t.csv, line 1: expected the label 'pulse' as the schema says, found the columns 'age', "
      "'job', 'id', 'dose', 'weight'");
  EXPECT_EQ(table_error(head + "60;25;cook;7;80;4\n;25;cook;7;80;4\n", schema.c_str()),
            "t.csv, line 3, label 'pulse': expected a finite number, found nothing");
  EXPECT_EQ(table_error(head + "60;25;cook;7;heavy;4\n", schema.c_str()),
            "t.csv, line 2, label 'weight': expected a finite number, found 'heavy'");
  EXPECT_EQ(table_error(head + "60;25;cook;7;80\n", schema.c_str()),
            "t.csv, line 2: expected 6 columns as in the header, found 5");

  // Without a header they are the last columns; a broken one costs its record only.
  const auto bare = replaced(schema, "separator", "header = false\nseparator");
  const auto kept =
      load("25;cook;7;4;80;60\n25;cook;7;4;80;x\n25;cook;7;4;60;61\n", true, bare.c_str()).train;
  EXPECT_EQ(kept.labels, (std::vector<float>{1, 60, 0, 0, -1, 61}));
  EXPECT_EQ(kept.voids, (std::vector<std::uint8_t>{0, 1}));
}

// kSchema with a weight up to 4.
std::string with_weight(const std::string& keys = "maximum = 4") {
  return replaced(kSchema, "[[column]]", "[weight]\nname = \"copies\"\n" + keys + "\n[[column]]");
}

TEST(Schema, AWeightIsAFactThatOwnersAgreeOn) {
  const auto schema = parse_schema(with_weight(), "s.toml");
  EXPECT_EQ(*schema.weight, (WeightColumn{.name = "copies", .maximum = 4}));
  EXPECT_EQ(parse_schema(to_toml(schema), "again").weight, schema.weight);
  EXPECT_EQ(schema_facts(schema).at("weight"), "\"copies\", maximum = 4.0, outside = \"error\"");
  EXPECT_NE(schema_hash(schema), schema_hash(parse_schema(kSchema, "s.toml")));
  expect_schema_error(with_weight(""), "weight.maximum: expected the largest weight");
  for (const std::string bad : {"0", "-1", "inf", "nan"})
    expect_schema_error(with_weight("maximum = " + bad), "weight.maximum: expected a ");
  expect_schema_error(with_weight("maximum = 1\noutside = \"missing\""),
                      "weight.outside: expected error or clamp");
  expect_schema_error(with_weight("maximum = 1\nrange = 1"), "weight.range: unknown key");
  expect_schema_error(replaced(with_weight(), "\"copies\"", "\"ill\""),
                      "is a label and cannot be the weight");
  expect_schema_error(replaced(with_weight(), "\"copies\"", "\"age\""),
                      "or is a label or the weight");
}

TEST_F(SchemaTable, HasWeightsOfTheLargestPossible) {
  const std::string head = "age;job;id;dose;copies;ill\n";
  const auto strict = with_weight(), clamps = with_weight("maximum = 4\noutside = \"clamp\"");
  const auto data =
      load(head + "1;cook;1;1;0;no\n1;cook;1;1;4;yes\n1;cook;1;1;1.5;no\n", false, strict.c_str())
          .train;
  EXPECT_EQ(data.weights, (std::vector<float>{0, 1, 0.375F}));
  EXPECT_EQ(data.features, 7U) << "the weight is no feature";
  EXPECT_EQ(select_rows(data, std::vector<std::uint32_t>{2, 1}).weights,
            (std::vector<float>{0.375F, 1}));
  const auto says = [&](const std::string& weight, const std::string& what) {
    EXPECT_EQ(table_error(head + "1;cook;1;1;" + weight + ";no\n", strict.c_str()),
              "t.csv, line 2, weight 'copies': " + what);
  };
  says("4.5", "expected a number from 0 to 4, found '4.5'");
  says("-1", "expected a number from 0 to 4, found '-1'");
  says("", "expected a finite number, found nothing");
  says("nan", "expected a finite number, found 'nan'");
  EXPECT_EQ(table_error("age;job;id;dose;ill\n1;cook;1;1;no\n", strict.c_str()),
            "t.csv, line 1: expected the weight 'copies' as the schema says, found the columns "
            "'age', 'job', 'id', 'dose', 'ill'");
  const auto clamped =
      load(head + "1;cook;1;1;-3;no\n1;cook;1;1;99;yes\n", false, clamps.c_str()).train;
  EXPECT_EQ(clamped.weights, (std::vector<float>{0, 1}));

  // With a guarantee it costs its record only; without a header it stands before the label.
  const auto bare = replaced(strict, "separator", "header = false\nseparator");
  const auto kept =
      load("1;cook;1;1;2;no\n1;cook;1;1;5;no\n1;cook;1;1;4;yes\n", true, bare.c_str()).train;
  EXPECT_EQ(kept.weights, (std::vector<float>{0.5F, 0, 1}));
  EXPECT_EQ(kept.voids, (std::vector<std::uint8_t>{0, 1}));
  EXPECT_EQ(kept.counted_weight(), 1.5);
}

TEST_F(SchemaTable, UnknownValuesAndRangesHaveRules) {
  const auto strict =
      replaced(replaced(kSchema, "\"other\"", "\"error\""), "\"clamp\"", "\"error\"");
  const auto says = [&](const std::string& row, const std::string& what) {
    try {
      load("age;job;id;dose;ill\n" + row, false, strict.c_str());
      FAIL() << row;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  says("1;tailor;1;1;no\n", "expected one of the 2 values of the schema, found 'tailor'");
  says("101;cook;1;1;no\n", "expected a number from 0 to 100, found '101'");
  const auto lost =
      replaced(strict, "\"error\"\nmissing = \"own\"", "\"missing\"\nmissing = \"own\"");
  EXPECT_EQ(load("age;job;id;dose;ill\n1;tailor;1;1;no\n2;cook;1;1;yes\n", false, lost.c_str())
                .train.values[3],
            1.0F);
}

// A record that does not fit stays in its place and counts for nothing, and the file is read as if
// it were not there.
TEST_F(SchemaTable, WithAGuaranteeABrokenRecordCostsOnlyItself) {
  const std::string head = "age;job;id;dose;ill\n", good = "25;cook;7;4;yes\n";
  const auto clean = load(head + good + good + good, true).train;
  for (const std::string broken : {"old;cook;1;1;no\n", "1;2\n", "1;cook;1;1;maybe\n", "\n",
                                   "\"1;cook;1;1;no\n", "1,2,3,4,5,6,7\n"}) {
    const auto data = load(head + good + broken + good, true).train;
    ASSERT_EQ(data.rows(), 3U) << broken;
    EXPECT_EQ(data.void_rows(), 1U) << broken;
    EXPECT_TRUE(data.is_void(1)) << broken;
    EXPECT_EQ(data.features, clean.features);
    EXPECT_EQ(data.classes, clean.classes);
    for (std::size_t j = 0; j < data.features; ++j) {
      EXPECT_EQ(data[0].values[j], clean[0].values[j]);
      EXPECT_EQ(data[2].values[j], clean[2].values[j]);
    }
  }
}

TEST_F(SchemaTable, ManyValuesMakeSparseRows) {
  std::string schema =
      "[label]\nname = \"y\"\nclasses = [\"0\", \"1\"]\n[[column]]\nname = \"a\"\n"
      "[[column]]\nname = \"c\"\nkind = \"category\"\nvalues = [";
  for (int i = 0; i < 30; ++i) schema += (i > 0 ? ", \"" : "\"") + std::to_string(i) + "\"";
  const auto data = load("c,y,a\n3,1,2.5\n29,0,-1\n", false, (schema + "]\n").c_str()).train;
  ASSERT_TRUE(data.sparse());
  EXPECT_EQ(data.features, 31U);
  EXPECT_EQ(data.columns, (std::vector<std::uint32_t>{0, 4, 0, 30}));
  EXPECT_EQ(data.values, (std::vector<float>{2.5F, 1, -1, 1}));
}

TEST_F(SchemaTable, WithoutAHeaderColumnsAreInTheOrderOfTheSchema) {
  const auto schema = replaced(kSchema, "separator = \";\"",
                               "header = false\ndecimal = \",\"\n"
                               "separator = \";\"");
  const auto data = load("25;cook;7;4,0;yes\n1;clerk;8;3;no\n", false, schema.c_str()).train;
  EXPECT_EQ(data.labels, (std::vector<float>{1, 0}));
  EXPECT_EQ(data[0].values[5], 0.5F);
}

}  // namespace
}  // namespace porter
