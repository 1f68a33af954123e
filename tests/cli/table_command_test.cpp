// SPDX-License-Identifier: Apache-2.0
// A table of one's own: schema, run, predict, eval.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "command_test.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"

namespace porter {
namespace {

class TableCommand : public CommandTest {
 protected:
  // Cooks over forty are ill.
  void SetUp() override {
    std::string text = "id;age;job;\"note, or none\";state\n";
    for (int i = 0; i < 200; ++i) {
      const int age = 20 + i * 7 % 50;
      const char* job = i % 3 == 0 ? "cook" : i % 3 == 1 ? "clerk" : "";
      text += "n" + std::to_string(i) + ";" + std::to_string(age) + ",5;" + job + ";\"a; " +
              std::to_string(i) + "\";" + (age > 40 && i % 3 == 0 ? "ill" : "well") + "\n";
    }
    write_file(dir_ / "t.csv", text);
    write_file(dir_ / "c.toml", R"([data]
train = "t.csv"
schema = "schema.toml"
[model]
lambda = 0
[network]
agents = 4
[algorithm]
name = "dsgd"
compressor = "identity"
rounds = 400
batch = 20
step = 1.0
[run]
evaluate = "end"
)");
  }
  CommandResult done(const std::string& arguments) {
    auto result = porter(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments << "\n" << result.output;
    return result;
  }
};

TEST_F(TableCommand, GoesFromATableToPredictions) {
  const auto schema = done("data schema t.csv --label state").output;
  EXPECT_NE(schema.find("separator: semicolon"), std::string::npos) << schema;
  done("run c.toml --out run");
  done("predict run --data t.csv --out p.csv --proba");
  const auto predictions = read_file(dir_ / "p.csv");
  EXPECT_TRUE(predictions.starts_with("prediction,p(ill),p(well)\n")) << predictions.substr(0, 80);
  EXPECT_EQ(std::ranges::count(predictions, '\n'), 201);
  const auto eval = nlohmann::json::parse(done("eval run --data t.csv --json").output);
  EXPECT_GT(eval["auc"], 0.9);
  EXPECT_EQ(eval["confusion"][0].size(), 2U);
  // The label may be missing, the columns in any order, the table in a pipe.
  write_file(dir_ / "new.csv", "job;age\ncook;60,5\nclerk;30,5\n");
  EXPECT_EQ(done("predict run --data - < new.csv").output, "prediction\nill\nwell\n");
  const auto shown = done("model show run").output;
  EXPECT_NE(shown.find("2 classes: ill, well"), std::string::npos) << shown;
}

TEST_F(TableCommand, RefusesInOneLineAndLeavesNothing) {
  done("data schema t.csv --label state");
  done("run c.toml --out run");
  const auto refused = [&](const std::string& csv, const std::string& what) {
    write_file(dir_ / "bad.csv", csv);
    const auto result = porter("predict run --data bad.csv --out p.csv");
    EXPECT_EQ(result.exit_code, 1) << csv;
    EXPECT_NE(result.output.find(what), std::string::npos) << result.output;
    EXPECT_EQ(std::ranges::count(result.output, '\n'), 1) << result.output;
    EXPECT_FALSE(std::filesystem::exists(dir_ / "p.csv"));
  };
  refused("", "the file is empty");
  refused("age;job\n1;cook;3\n", "line 2: expected 2 columns as in the header, found 3");
  refused("age\n1\n", "expected a column 'job'");
  refused("age;job\n\"1;cook\n", "line 2: a quote is opened here and never closed");
  refused("age;job\nold;cook\n", "line 2, column 'age': expected a finite number, found 'old'");
  refused("age;job\n1.5e999;cook\n", "expected a finite number");
  EXPECT_EQ(porter("data schema t.csv --label state").exit_code, 2);  // it is there already
  EXPECT_EQ(porter("data schema t.csv --label nothing --out s2").exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "s2"));
}

// Each in its own unit, under its own name, whatever the order in the file.
TEST_F(TableCommand, LearnsSeveralTargets) {
  std::string text = "\"pulse, rest\",age,job,height\n";
  for (int i = 0; i < 120; ++i) {
    const int age = 20 + i * 7 % 50, cook = i % 3 == 0 ? 1 : 0;
    text += std::to_string(100 - age + 10 * cook) + "," + std::to_string(age) +
            (cook == 1 ? ",cook," : ",clerk,") + std::to_string(1500 + 4 * age) + "\n";
  }
  write_file(dir_ / "two.csv", text);
  const auto found =
      done("data schema two.csv --label height --label 'pulse, rest' --out two.toml").output;
  EXPECT_NE(found.find("label: a number"), std::string::npos) << found;
  done(
      "run c.toml --out run --set data.train=two.csv --set data.schema=two.toml --set "
      "model.name=linear --set model.loss=squared --set algorithm.clip=none --set "
      "algorithm.rounds=3000 --set algorithm.step=0.3");
  write_file(dir_ / "new.csv", "job,age\ncook,30\nclerk,60\n");
  const auto predicted = done("predict run --data new.csv").output;
  double values[4] = {};
  ASSERT_EQ(std::sscanf(predicted.c_str(), "height,\"pulse, rest\"\n%lf,%lf\n%lf,%lf\n", values,
                        values + 1, values + 2, values + 3),
            4)
      << predicted;
  const double expected[] = {1620, 80, 1740, 40};
  for (const int i : {0, 1, 2, 3}) EXPECT_NEAR(values[i], expected[i], 3) << predicted;

  const auto eval =
      nlohmann::json::parse(done("eval run --data two.csv --json --predictions p.csv").output);
  EXPECT_GT(eval["r2"], 0.99);
  EXPECT_TRUE(
      read_file(dir_ / "p.csv")
          .starts_with(
              "label_height,\"label_pulse, rest\",prediction_height,\"prediction_pulse, rest\"\n"));
  const auto shown = done("model show run").output;
  EXPECT_NE(shown.find("2 numbers: height, pulse, rest"), std::string::npos) << shown;
  const auto info = done("data info --train two.csv --schema two.toml").output;
  EXPECT_NE(info.find("2 targets in each row"), std::string::npos) << info;

  expect_refused("data schema two.csv --out out ",
                 {{"--label height --label nothing", "--label: expected the name of a column"},
                  {"--label height --label height", "is given twice"}});
  const auto texts = porter("data schema two.csv --out out --label height --label job");
  EXPECT_EQ(texts.exit_code, 1);
  EXPECT_NE(texts.output.find("the label 'job': several labels"), std::string::npos);
  const auto classes =
      porter("run c.toml --out out --set data.train=two.csv --set data.schema=two.toml");
  EXPECT_EQ(classes.exit_code, 2);
  EXPECT_NE(classes.output.find("the label \"height\" is a number"), std::string::npos)
      << classes.output;
}

// Records that weigh nothing are neither learned from nor counted.
TEST_F(TableCommand, WeighsRecords) {
  std::string text = "age,job,trust,state\n", plain = "age,job,state\n";
  for (int i = 0; i < 300; ++i) {
    const int age = 20 + i * 7 % 50;
    const bool ill = age > 45, lie = i % 2 == 0;
    const auto record = std::to_string(age) + (i % 3 == 0 ? ",cook," : ",clerk,");
    const auto* state = ill != lie ? "ill\n" : "well\n";
    text += record + (lie ? "0," : i % 4 == 1 ? "2.5," : "5,") + state;
    plain += record + state;
  }
  write_file(dir_ / "w.csv", text);
  const auto found = done("data schema w.csv --label state --weight trust").output;
  EXPECT_NE(found.find("weight"), std::string::npos) << found;
  EXPECT_NE(read_file(dir_ / "schema.toml").find("[weight]\nname = \"trust\"\nmaximum = 5"),
            std::string::npos);
  done("run c.toml --out run --set data.train=w.csv");
  const auto weighed = nlohmann::json::parse(done("eval run --data w.csv --json").output);
  EXPECT_GT(weighed["accuracy"], 0.9);
  EXPECT_GT(weighed["auc"], 0.95);
  EXPECT_EQ(weighed["rows"], 300);
  write_file(dir_ / "new.csv", "job,age\ncook,60\nclerk,30\n");
  EXPECT_EQ(done("predict run --data new.csv").output, "prediction\nill\nwell\n");
  const auto info = done("data info --train w.csv --schema schema.toml").output;
  EXPECT_NE(info.find("add up to 112.5"), std::string::npos) << info;

  write_file(dir_ / "plain.csv", plain);
  const auto missing = porter("eval run --data plain.csv");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_NE(missing.output.find("expected the weight 'trust'"), std::string::npos)
      << missing.output;
}

TEST_F(TableCommand, ShowsWhatIsHeldOut) {
  done("data schema t.csv --label state");
  const auto info = "data info --train t.csv --schema schema.toml ";
  const auto text = done(info + std::string("--holdout 0.2")).output;
  for (const char* piece : {"training set", "held out", "160   80.0 %", "40   20.0 %",
                            "class 0 (label ill)", "of what is held out"})
    EXPECT_NE(text.find(piece), std::string::npos) << piece << "\n" << text;
  EXPECT_EQ(text.find("no test set"), std::string::npos) << text;
  // The parts that a run with data.fold has.
  const auto json = nlohmann::json::parse(done(info + std::string("--fold 2/5 --json")).output);
  EXPECT_EQ(json["train"]["rows"], 160);
  EXPECT_EQ(json["test"]["rows"], 40);
  const double ill = json["train"]["class_counts"][0], others = json["test"]["class_counts"][0];
  EXPECT_NEAR(ill / 4, others, 1);
  expect_refused(info,
                 {{"--holdout 0.2 --fold 1/5", "--fold"},
                  {"--fold 6/5", "--fold: expected I/K"},
                  {"--holdout 1.5", "--holdout"},
                  {"--holdout 0.2 --test t.csv", "nothing is held out where there is a test set"}});
  EXPECT_NE(porter(info + std::string("--holdout 0.2 --private")).exit_code, 0);
}

// A first record with a mistake is no header.
TEST_F(TableCommand, PredictsRowsOfNumbersWithoutASchema) {
  write_file(dir_ / "n.csv", "a,b,y\n1,2,0\n3,1,1\n2,2,0\n4,1,1\n");
  done(
      "run c.toml --out run --set data.train=n.csv --set data.schema= --set network.agents=2 "
      "--set algorithm.batch=2");
  write_file(dir_ / "x.csv", "a,b\n1,2\n4,1\n");
  const auto text = done("predict run --data x.csv").output;
  EXPECT_EQ(std::ranges::count(text, '\n'), 3) << text;
  save_npz(dir_ / "x.npz", Npz{{"X", {{2, 2}, {1, 2, 4, 1}}}});
  EXPECT_EQ(done("predict run --data x.npz").output, text);
  save_npz(dir_ / "x.npz", Npz{{"X", {{1, 3}, {1, 2, 4}}}});
  write_file(dir_ / "x.csv", "one,2\n4,1\n");
  for (const auto& [file, expected] :
       {std::pair("x.npz", "expected X with 2 columns"), {"x.csv", "line 1, column 1"}}) {
    const auto refused = porter(concat("predict run --data ", file));
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.output.find(expected), std::string::npos) << refused.output;
  }
}

// The files of a run may change: numbers of classes that they no longer have must go nowhere.
TEST_F(TableCommand, EvaluatesItsOwnDataOnlyWhileTheyHaveItsClasses) {
  const auto write_classes = [&](int classes) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      const auto label = std::to_string(i % classes);
      text += "5,-" + label + "," + label + "\n";
    }
    write_file(dir_ / "n.csv", text);
  };
  write_classes(5);
  done(
      "run c.toml --out run --set data.train=n.csv --set data.schema= --set model.name=softmax "
      "--set algorithm.batch=5");
  done("eval run --train");
  write_classes(2);
  const auto refused = porter("eval run --train --json");
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_NE(refused.output.find("its classes are not those"), std::string::npos) << refused.output;
}

TEST_F(TableCommand, MapsTheConfusionOfFewClassesOnly) {
  for (const int classes : {3, 120}) {
    std::string text;
    for (int i = 0; i < 240; ++i)
      text += std::to_string(i % 7) + "," + std::to_string(i % classes) + "\n";
    write_file(dir_ / "n.csv", text);
    done(
        "run c.toml --out run --force --set data.train=n.csv --set data.schema= "
        "--set model.name=softmax --set algorithm.rounds=2");
    done("eval run --train --html page.html");
    const auto page = read_file(dir_ / "page.html");
    EXPECT_EQ(page.find("Confusion") != page.npos, classes == 3) << classes;
    EXPECT_NE(page.find("precision"), page.npos) << classes;
  }
}

TEST_F(TableCommand, QuotesClassesInWhatItWrites) {
  std::string text = "age;state\n";
  for (int i = 0; i < 40; ++i)
    text += std::to_string(i) + (i < 20 ? ";\"young, or \"\"new\"\"\"\n" : ";old\n");
  write_file(dir_ / "t.csv", text);
  done("data schema t.csv --label state");
  done("run c.toml --out run --set algorithm.batch=5");
  done("eval run --data t.csv --predictions p.csv");
  const auto lines = read_file(dir_ / "p.csv");
  EXPECT_TRUE(lines.starts_with("label,prediction\n\"young, or \"\"new\"\"\",")) << lines;
  const auto header = done("predict run --data t.csv --proba").output;
  EXPECT_TRUE(header.starts_with("prediction,p(old),\"p(young, or \"\"new\"\")\"\n")) << header;
}

}  // namespace
}  // namespace porter
