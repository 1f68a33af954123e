// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "porter/run/experiment.hpp"
#include "porter/version.hpp"

int main() {
  const auto config =
      porter::parse_config("[algorithm]\nrounds = 5", "uses_porter", {"run.evaluate=end"});
  porter::Experiment experiment(config);
  const auto status = porter::train(experiment, {});
  std::printf("porter %s: loss %.4f\n", porter::kVersion, experiment.best()->loss);
  return status == porter::TrainStatus::finished ? 0 : 1;
}
