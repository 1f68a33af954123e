// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "porter/porter.hpp"

int main() {
  const auto config =
      porter::parse_config("[algorithm]\nrounds = 5", "uses_porter", {"run.evaluate=end"});
  porter::Trainer trainer(porter::assemble(config));
  const auto status = porter::train(trainer);
  std::printf("porter %s: loss %.4f\n", porter::kVersion, trainer.now().best->loss);
  return status == porter::TrainStatus::finished ? 0 : 1;
}
