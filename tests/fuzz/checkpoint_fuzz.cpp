// SPDX-License-Identifier: Apache-2.0
// A checkpoint: refused, or a state from which a round can be computed. The bytes are tried as the
// file, and its arrays are bent one by one, as few mutations of a file keep its checksums right.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "fuzz.hpp"
#include "porter/core/error.hpp"
#include "porter/train/train.hpp"
#include "train/run_data.hpp"

namespace {

using namespace porter;

Config config() {
  return parse_config(
      "[data]\nname = \"synthetic\"\n[network]\nagents = 3\ngraph = \"ring\"\n"
      "[algorithm]\nname = \"porter-gc\"\nrounds = 4\nbatch = 2\n"
      "[run]\nthreads = 1\nevaluate = \"end\"\n",
      "fuzz.toml");
}

RunData data() {
  static const auto loaded = load_run_data(config());
  return loaded;
}

const Npz& seed() {
  static const Npz checkpoint = [] {
    Trainer trainer(assemble(config(), {.data = data()}));
    trainer.step();
    return to_npz(trainer.checkpoint());
  }();
  return checkpoint;
}

void restore_or_refuse(const Npz& snapshot) {
  static Trainer trainer(assemble(config(), {.data = data()}));
  try {
    trainer.restore(to_checkpoint(snapshot, "input.npz"), "input.npz");
    if (!trainer.finished()) trainer.step();
  } catch (const Error&) {
  }
}

// The bytes say which array is bent, where and how.
void bend(std::span<const std::uint8_t> bytes, Npz& snapshot) {
  constexpr double kValues[] = {0, -1, 1e300, -1e300, 4294967296.0, 0.5, NAN, INFINITY};
  for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    auto at = snapshot.begin();
    std::advance(at, bytes[i] % snapshot.size());
    auto& array = at->second;
    const std::size_t entry = bytes[i + 1] * 256U + bytes[i + 2];
    const double value = kValues[bytes[i + 3] % 8];
    if (bytes[i + 3] >= 0xF0) {
      array.values.resize(std::min<std::size_t>(entry, 1000), value);
      array.shape = {array.values.size()};
    } else if (bytes[i + 3] >= 0xE0) {
      array.shape.push_back(1);
    } else if (!array.values.empty()) {
      array.values[entry % array.values.size()] = value;
    }
  }
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  return {encode_npz(seed()), "abcdefgh", "\x01\x02\x03\x04"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    restore_or_refuse(
        decode_npz({reinterpret_cast<const char*>(data), size}, "input.npz", ByteArrays::bytes));
  } catch (const Error&) {
  }
  Npz bent = seed();
  bend({data, std::min<std::size_t>(size, 16)}, bent);
  restore_or_refuse(bent);
  return 0;
}
