// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "compress_cases.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

std::string usage_error(std::string_view spec, bool unbiased = false) {
  try {
    make_compressor(spec, unbiased);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << spec;
  return "";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

TEST(MakeCompressor, TakesEveryExampleOfTheTable) {
  for (const auto& info : compressor_table()) {
    EXPECT_NE(make_compressor(info.example), nullptr) << info.example;
    EXPECT_TRUE(info.grammar.starts_with(info.name)) << info.name;
    EXPECT_TRUE(info.example.starts_with(info.name)) << info.name;
    EXPECT_FALSE(info.help.empty()) << info.name;
  }
}

TEST(MakeCompressor, NamesTheSpecTheGrammarAndTheKnownNames) {
  for (const std::string name : {"random_k", "bernoulli", "top_k"})
    for (const std::string argument : {"", ":", ":0", ":-0.1", ":1.0001", ":nan", ":inf", ":1e-400",
                                       ":0.1x", ":0.1 ", ": 0.1", ":k=0", ":k=", ":k=-1", ":k=1.5",
                                       ":k=3x", ":k=99999999999999999999", ":0.1:0.2", ":K=3"}) {
      const auto text = usage_error(name + argument);
      EXPECT_TRUE(contains(text, "'" + name + argument + "'")) << text;
      EXPECT_TRUE(contains(text, name + ":FRACTION or " + name + ":k=NUMBER")) << text;
      EXPECT_TRUE(contains(text, "identity, random_k, bernoulli, top_k, qsgd, gsgd, sign, natural"))
          << text;
    }
  for (const std::string name : {"qsgd", "gsgd"})
    for (const std::string argument :
         {"", ":", ":1", ":0", ":17", ":-4", ":4.0", ":4 ", ":four", ":4:4", ":4294967300"}) {
      const auto text = usage_error(name + argument);
      EXPECT_TRUE(contains(text, "'" + name + argument + "'")) << text;
      EXPECT_TRUE(contains(text, name + ":BITS, BITS from 2 to 16")) << text;
      EXPECT_TRUE(contains(text, "known compressors: identity, random_k")) << text;
    }
  for (const std::string name : {"identity", "sign", "natural"})
    for (const std::string argument : {":", ":1", ":0.5"}) {
      const auto text = usage_error(name + argument);
      EXPECT_TRUE(contains(text, "takes no argument")) << text;
      EXPECT_TRUE(contains(text, "known compressors: identity, random_k")) << text;
    }
  for (const std::string spec : {"", ":", "topk:0.1", "top_k ", " top_k:0.1", "TOP_K:0.1", "none"})
    EXPECT_TRUE(contains(usage_error(spec), "compressor '" + spec + "': there is no '")) << spec;
}

TEST(MakeCompressor, RefusesUnbiasedWhereThereIsNoSuchForm) {
  for (const std::string spec : {"top_k:0.1", "gsgd:4", "sign"})
    EXPECT_TRUE(contains(usage_error(spec, true), "no unbiased form")) << spec;
}

TEST(MakeCompressor, KeepsFloorOfTheFractionAndAtLeastOne) {
  for (const std::string name : {"random_k", "top_k"}) {
    const auto five_percent = make_compressor(name + ":0.05");
    EXPECT_EQ(five_percent->kept(50890), 2544U);
    EXPECT_EQ(five_percent->kept(124), 6U);
    EXPECT_EQ(five_percent->kept(7), 1U);
    for (std::size_t d = 20; d < 100000; d += 20) ASSERT_EQ(five_percent->kept(d), d / 20);
    EXPECT_EQ(make_compressor(name + ":k=12")->kept(124), 12U);
    EXPECT_EQ(make_compressor(name + ":1")->kept(3), 3U);
    EXPECT_DOUBLE_EQ(five_percent->rho(50890).value(), 2544.0 / 50890);
  }
}

TEST(MakeCompressor, RefusesToKeepMoreThanThereIs) {
  const std::vector<float> x(5, 1.0F);
  for (const std::string name : {"random_k", "bernoulli", "top_k"}) {
    const auto c = make_compressor(name + ":k=12");
    const auto expect_error = [&](auto call) {
      try {
        call();
        ADD_FAILURE() << name;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_TRUE(contains(error.what(), "k = 12") && contains(error.what(), "d = 5"))
            << error.what();
      }
    };
    expect_error([&] { encode(*c, x); });
    expect_error([&] { decode(*c, with_checksum({}), 5); });
    expect_error([&] { c->rho(5); });
    if (c->kept(12)) expect_error([&] { c->kept(5); });
    if (name != "top_k") expect_error([&] { make_compressor(name + ":k=12", true)->omega(5); });
  }
}

}  // namespace
}  // namespace porter
