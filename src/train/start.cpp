// SPDX-License-Identifier: Apache-2.0
// Where a run starts: x0, the same at all agents.
#include "start.hpp"

#include <cmath>
#include <random>
#include <utility>

#include "core/exact_math.hpp"
#include "core/text.hpp"
#include "core/vector_math.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"
#include "porter/model/saved_model.hpp"

namespace porter {
namespace {

// numpy.random.RandomState(seed).randn: the Mersenne Twister with the polar method, which returns
// the second normal of a pair first. The seed of a run has no part in it: code written in NumPy
// began at this point.
class NumpyNormals {
 public:
  explicit NumpyNormals(std::uint32_t seed) : twister_(seed) {}

  double operator()() {
    if (std::exchange(has_first_, false)) return first_;
    double u = 0, v = 0, r = 0;
    do {
      u = 2 * uniform() - 1;
      v = 2 * uniform() - 1;
      r = u * u + v * v;
    } while (r >= 1 || r == 0);
    const double factor = std::sqrt(-2 * exact_log(r) / r);
    first_ = factor * u;
    has_first_ = true;
    return factor * v;
  }

 private:
  double uniform() {  // 53 bits
    const auto high = static_cast<double>(twister_() >> 5);
    const auto low = static_cast<double>(twister_() >> 6);
    return (high * 0x1p26 + low) * 0x1p-53;
  }

  std::mt19937 twister_;
  double first_ = 0;
  bool has_first_ = false;
};

// The perceptron of NDA (the authors' tool-kit) keeps a layer as one matrix, (inputs + 1) x
// outputs, biases in the last row; a hidden layer has one output more, the constant unit, whose
// weights nothing reads. x0 has our order (src/model/layers.hpp).
void fill_layers(NumpyNormals& normal, const std::vector<std::size_t>& widths,
                 std::span<double> x) {
  std::size_t offset = 0, dim = 0;
  for (std::size_t l = 1; l < widths.size(); ++l) dim += (widths[l - 1] + 1) * widths[l];
  require(dim == x.size(), ErrorKind::usage, "algorithm.start: numpy: the layers of [model] have ",
          dim, " parameters, but the model that is given has ", x.size());
  for (std::size_t l = 1; l < widths.size(); ++l) {
    const auto inputs = widths[l - 1], outputs = widths[l];
    const auto columns = l + 1 < widths.size() ? outputs + 1 : outputs;
    for (std::size_t row = 0; row <= inputs; ++row)
      for (std::size_t column = 0; column < columns; ++column) {
        const double value = normal();
        if (column == outputs) continue;
        const auto at = row < inputs ? column * inputs + row : inputs * outputs + column;
        x[offset + at] = value;
      }
    offset += (inputs + 1) * outputs;
  }
}

// Where a unit adds up many inputs of size 1, its sum has the size `gain`.
void scale_by_fan_in(std::span<const ParameterBlock> blocks, double gain, std::span<double> x) {
  const auto dim = blocks.back().offset + blocks.back().size();
  require(dim == x.size(), ErrorKind::usage, "algorithm.start: fan-in: the parameters of [model] ",
          "are ", dim, ", but the model that is given has ", x.size());
  for (const auto& block : blocks) {
    const auto inputs = static_cast<double>(block.inputs);
    scale(inputs > 0 ? gain / std::sqrt(inputs) : 0, x.subspan(block.offset, block.size()));
  }
}

std::vector<double> load_start(const std::string& file, std::size_t dim) {
  const auto array = load_npy(file);
  const bool finite = all_finite(array.values);
  require(array.values.size() == dim && finite, ErrorKind::usage, "algorithm.start: ", file,
          " must hold d = ", dim, " finite numbers, found ", array.values.size(),
          finite ? "" : ", some of them not finite");
  return array.values;
}

}  // namespace

std::vector<double> starting_point(const Config& config, const Dataset& train, std::size_t dim) {
  const auto spec = split_spec(config.algorithm.start);
  if (spec.name == "file" && spec.argument) return load_start(std::string(*spec.argument), dim);
  std::vector<double> x(dim, 0.0);
  if (spec.text == "zeros") return x;

  // normal:STDDEV, fan-in:GAIN, numpy:STDDEV:SEED
  const auto rest = split_spec(spec.argument.value_or(""));
  const auto stddev = parse_number<double>(rest.name);
  const auto seed = rest.number<std::uint32_t>();
  const bool numpy = spec.name == "numpy", fan_in = spec.name == "fan-in";
  const bool normal_or_fan_in = (spec.name == "normal" || fan_in) && !rest.argument;
  require((numpy ? seed.has_value() : normal_or_fan_in) && stddev && std::isfinite(*stddev) &&
              *stddev >= 0,
          ErrorKind::usage, "algorithm.start: expected zeros, normal:STDDEV, fan-in:GAIN, ",
          "numpy:STDDEV:SEED, file:x0.npy or model:model.npz, found \"", spec.text, "\"");
  if (!numpy) {
    RngStream(config.run.seed, Draw::start, 0, 0).fill_normal(x);
  } else if (NumpyNormals normal(*seed); find_model(config.model.name).layered) {
    std::vector<std::size_t> widths = {train.features};
    widths.insert(widths.end(), config.model.hidden.begin(), config.model.hidden.end());
    widths.push_back(train.scores());
    fill_layers(normal, widths, x);
  } else {
    for (double& value : x) value = normal();
  }
  if (fan_in) {
    scale_by_fan_in(parameter_blocks(config.model, train.features, train.scores()), *stddev, x);
    return x;
  }
  for (double& value : x) value *= *stddev;
  return x;
}

}  // namespace porter
