// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "core/vector_math.hpp"
#include "porter/train/trainer.hpp"

namespace porter {
namespace {

Config unequal(std::vector<std::string> more) {
  more.insert(more.end(), {"data.name=synthetic", "data.split=sizes:5,3,2", "network.agents=3",
                           "network.graph=complete", "algorithm.step=0.5", "algorithm.rounds=3"});
  return parse_config("", "", more);
}

// The mean of full gradients is that of all records, whoever holds them, over n m places.
TEST(UnequalSizes, EveryRecordCountsTheSame) {
  Trainer trainer(assemble(unequal({"algorithm.name=dsgd", "algorithm.batch=full"})));
  const auto& parts = trainer.parts();
  const auto& train = *parts.data.train;
  const auto counted = counted_rows(train);
  ASSERT_TRUE(counted.has_value());
  EXPECT_EQ(train.rows(), 3 * parts.facts.samples_per_agent);
  auto expected = parts.start;
  std::vector<double> gradient(expected.size(), 0.0);
  parts.model->evaluate(expected, *counted, 0, counted->rows(), gradient);
  axpy(-0.5 / static_cast<double>(train.rows()), gradient, expected);
  trainer.step();
  EXPECT_LT(squared_distance(mean_row(trainer.algorithm().iterates()), expected), 1e-20);
}

TEST(UnequalSizes, TheRateIsThatOfTheAgentWithTheMost) {
  const auto parts = assemble(unequal({"algorithm.name=dp-dsgd", "algorithm.batch=4"}));
  EXPECT_EQ(parts.sampler().records(), parts.facts.samples_per_agent);
  EXPECT_EQ(parts.data.train->void_rows() + counted_rows(*parts.data.train)->rows(),
            3 * parts.sampler().records());
  bool noted = false;
  for (const auto& note : parts.facts.notes)
    noted = noted || note.find("the agent with the most records") != std::string::npos;
  EXPECT_TRUE(noted);
}

}  // namespace
}  // namespace porter
