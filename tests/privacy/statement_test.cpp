// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/statement.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "porter/core/error.hpp"

namespace porter {
namespace {

PrivacyStatement promise() {
  PrivacyStatement statement;
  statement.sentence = "secret noise";
  statement.guaranteed = true;
  statement.noise = NoiseSource::secret;
  statement.sigma = 0.1;
  statement.clip = "smooth:1";
  statement.batch = 8;
  statement.records = 100;
  statement.rounds = 20;
  statement.releases = 21;
  statement.delta = 1e-5;
  statement.sampler = Sampler::poisson;
  statement.relation = "zero-out";
  statement.calibration = "accountant";
  statement.target_epsilon = 2;
  statement.epsilon = {{.lower = 1.1, .upper = 1.9999999999999998, .method = "PLD"}};
  statement.not_covered = {"timing"};
  statement.warnings = {"a", "b"};
  return statement;
}

TEST(PrivacyStatement, ReadsBackAsItWasWritten) {
  PrivacyStatement nothing, unbounded = promise();
  nothing.sentence = "no noise";
  nothing.clip_target = ClipTarget::batch;
  unbounded.guaranteed = false;
  unbounded.noise = NoiseSource::simulated;
  unbounded.epsilon->upper = INFINITY;
  auto shared = promise();
  shared.shared = {.shape = NoiseShape::optimal,
                   .colluders = 2,
                   .own_sigma = 0.05,
                   .pair_sigma = 0.07,
                   .enumerated = true};
  for (const auto& statement : {promise(), nothing, unbounded, shared}) {
    const auto text = statement_json(statement);
    const auto back = parse_statement(text, "s");
    EXPECT_EQ(statement_json(back), text);
    EXPECT_EQ(back.guaranteed, statement.guaranteed);
    EXPECT_EQ(back.noise, statement.noise);
    EXPECT_EQ(back.clip_target, statement.clip_target);
    EXPECT_EQ(back.epsilon.has_value(), statement.epsilon.has_value());
    if (back.epsilon) {
      EXPECT_EQ(back.epsilon->upper, statement.epsilon->upper);
    }
  }
}

TEST(PrivacyStatement, RefusesAGuaranteeThatItsFactsDoNotCarry) {
  const auto written = nlohmann::json::parse(statement_json(promise()));
  const nlohmann::json edits[] = {
      {{"noise", "simulated"}},
      {{"noise", "none"}},
      {{"sigma", 0}},
      {{"sigma", nullptr}},
      {{"clip", "none"}},
      {{"clip", "smooth"}},
      {{"clip_target", "batch"}},
      {{"delta", nullptr}},
      {{"delta", 1e-6}},
      {{"epsilon", nullptr}},
      {{"epsilon", {1.1, nullptr}}},
      {{"epsilon", {1.1, 3}}},
      {{"delta", 0}, {"guarantee", {{"epsilon", 1.9999999999999998}, {"delta", 0}}}},
      {{"delta", 1.5}, {"guarantee", {{"epsilon", 1.9999999999999998}, {"delta", 1.5}}}},
      {{"epsilon", {-2, -1}}, {"guarantee", {{"epsilon", -1}, {"delta", 1e-5}}}},
      {{"guarantee", true}},
      {{"guarantee", {{"epsilon", 0.5}, {"delta", 1e-5}}}},
  };
  for (const auto& edit : edits) {
    auto changed = written;
    for (const auto& [key, value] : edit.items()) changed[key] = value;
    try {
      parse_statement(changed.dump(), "run/privacy.json");
      ADD_FAILURE() << edit;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_NE(std::string(error.what()).find("run/privacy.json: key 'guarantee'"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(PrivacyStatement, NamesTheKeyThatIsMissingOrOfAnotherType) {
  const auto written = nlohmann::json::parse(statement_json(promise()));
  for (const char* key : {"statement", "noise", "level", "clip", "clip_target", "batch", "m",
                          "rounds", "releases", "not_covered", "warnings"}) {
    for (const nlohmann::json& wrong : {nlohmann::json(), nlohmann::json(-1.5)}) {
      auto changed = written;
      changed[key] = wrong;
      try {
        parse_statement(changed.dump(), "s");
        ADD_FAILURE() << key;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("s: key '" + std::string(key) + "'"),
                  std::string::npos)
            << error.what();
      }
    }
  }
  for (const char* text : {"", "{", "[]", "null"}) EXPECT_THROW(parse_statement(text, "s"), Error);
}

TEST(PrivacyStatement, OfSharedNoiseSaysAgainstWhomItHolds) {
  auto statement = promise();
  statement.shared = {
      .shape = NoiseShape::pairwise, .colluders = 2, .own_sigma = 0.05, .pair_sigma = 0.07};
  auto json = nlohmann::json::parse(statement_json(statement));
  EXPECT_EQ(json["against"],
            "an eavesdropper of all messages of all agents together with up to 2 colluding agents; "
            "not against all others together");
  EXPECT_EQ(json["shared_noise"]["bound"], "degrees");
  const auto back = parse_statement(json.dump(), "s");
  ASSERT_TRUE(back.shared.has_value());
  EXPECT_EQ(back.shared->colluders, 2U);
  EXPECT_FALSE(back.shared->enumerated);
  json["shared_noise"]["shape"] = "independent";
  EXPECT_THROW(parse_statement(json.dump(), "s"), Error);
  json["shared_noise"] = {{"shape", "pairwise"}};
  EXPECT_THROW(parse_statement(json.dump(), "s"), Error);
}

TEST(PrivacyStatement, HasNoControlCharacters) {
  auto statement = promise();
  statement.sentence = "red \x1b[31m";
  statement.warnings = {"a\nb"};
  const auto back = parse_statement(statement_json(statement), "s");
  EXPECT_EQ(back.sentence, "red  [31m");
  EXPECT_EQ(back.warnings, std::vector<std::string>{"a b"});
}

TEST(PrivacyStatement, IsNothingWhereThereIsNoFile) {
  EXPECT_FALSE(load_statement("/nowhere/privacy.json"));
}

}  // namespace
}  // namespace porter
