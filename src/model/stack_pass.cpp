// SPDX-License-Identifier: Apache-2.0
#include "stack_pass.hpp"

#include <cassert>

#include "core/matmul.hpp"
#include "core/vector_math.hpp"
#include "group_norm.hpp"
#include "layers.hpp"
#include "windows.hpp"

namespace porter {
namespace {

constexpr std::size_t kMostStackRows = 32;
constexpr std::size_t kBlockNumbers = std::size_t{1} << 18;

bool is_dense(const Stage& stage) { return stage.kind == StageKind::dense; }
// Whether the gradient of one sample is formed by itself.
bool is_apart(const Stage& stage) { return stage.has_parameters() && !is_dense(stage); }

// Every row of the matrix becomes the row.
template <class Real>
void fill_rows(std::span<const Real> row, std::span<Real> matrix) {
  for (std::size_t at = 0; at < matrix.size(); at += row.size())
    std::copy(row.begin(), row.end(), matrix.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace

template <class Real>
StackPass<Real>::StackPass(const LayerStack& stack, std::span<const Real> x,
                           StackMemory<Real>& memory)
    : stack_(stack), x_(x), memory_(memory) {
  while (!stages()[first_].has_parameters()) ++first_;
  std::size_t numbers = stack.input().size();  // of a sample
  for (std::size_t s = 0; s < stages().size(); ++s) {
    const auto& stage = stages()[s];
    numbers += 2 * stage.out.size() + (is_apart(stage) ? stage.parameters() : 0);
    if (stage.has_weights())
      transpose<Real>(stage.units(), stage.inputs(), stage.weights_of(x).data(), stage.inputs(),
                      transposed(s).data(), stage.units());
  }
  most_rows_ = std::clamp(kBlockNumbers / numbers, std::size_t{1}, kMostStackRows);
}

template <class Real>
std::span<Real> StackPass<Real>::level(std::size_t s) const {
  return memory_.levels.take(s, rows_ * (s == 0 ? stack_.input() : stages()[s - 1].out).size());
}

template <class Real>
std::span<Real> StackPass<Real>::delta(std::size_t s) const {
  if (s == stages().size()) return level(s);
  return memory_.deltas.take(s, rows_ * (s == 0 ? stack_.input() : stages()[s - 1].out).size());
}

template <class Real>
std::span<Real> StackPass<Real>::transposed(std::size_t s) const {
  return memory_.weights.take(s, stages()[s].units() * stages()[s].inputs());
}

template <class Real>
std::span<Real> StackPass<Real>::windows(const Stage& stage) const {
  return memory_.scratch.take(0, stage.out.positions() * stage.inputs());
}

template <class Real>
std::span<Real> StackPass<Real>::apart(std::size_t s, std::size_t i) const {
  return row(memory_.scratch.take(1 + s, rows_ * stages()[s].parameters()), i);
}

template <class Real>
std::span<Real> StackPass<Real>::row(std::span<Real> matrix, std::size_t i) const {
  const std::size_t width = matrix.size() / rows_;
  return matrix.subspan(i * width, width);
}

template <class Real>
void StackPass<Real>::begin(std::size_t rows) {
  assert(rows > 0 && rows <= most_rows_);
  rows_ = rows;
  memory_.factors.assign(rows, 1.0);
}

template <class Real>
void StackPass<Real>::assign(std::size_t i, const Sample& sample) {
  const auto to = row(level(0), i);
  if (!sample.sparse) {
    std::copy(sample.values.begin(), sample.values.end(), to.begin());
    return;
  }
  std::fill(to.begin(), to.end(), Real{0});
  for (std::size_t e = 0; e < sample.values.size(); ++e)
    to[sample.columns[e]] = Real{sample.values[e]};
}

template <class Real>
void StackPass<Real>::forward() {
  for (std::size_t s = 0; s < stages().size(); ++s) {
    if (is_dense(stages()[s]))
      dense_forward(s);
    else
      for (std::size_t i = 0; i < rows_; ++i) forward(s, i);
    if (const auto& activation = stages()[s].activation) activate(*activation, level(s + 1));
  }
}

template <class Real>
void StackPass<Real>::dense_forward(std::size_t s) {
  const auto& stage = stages()[s];
  const auto out = level(s + 1);
  fill_rows(stage.biases_of(x_), out);
  multiply_add<Real>(rows_, stage.units(), stage.inputs(), {level(s).data(), stage.inputs(), 1},
                     transposed(s).data(), stage.units(), out.data(), stage.units());
}

template <class Real>
void StackPass<Real>::forward(std::size_t s, std::size_t i) {
  const auto& stage = stages()[s];
  const std::span<const Real> in = row(level(s), i);
  const auto out = row(level(s + 1), i);
  if (stage.kind == StageKind::max_pool) return pool_largest(stage, in, out);
  if (stage.kind == StageKind::average_pool) return pool_mean(stage, in, out);
  if (stage.kind == StageKind::group_norm) return normalise(stage, x_, in, out, memory_.room);
  const auto taken = windows(stage);
  take_windows(stage, in, taken);
  fill_rows(stage.biases_of(x_), out);
  multiply_add<Real>(stage.out.positions(), stage.units(), stage.inputs(),
                     {taken.data(), stage.inputs(), 1}, transposed(s).data(), stage.units(),
                     out.data(), stage.units());
}

template <class Real>
void StackPass<Real>::backward(Gradients gradients) {
  gradients_ = gradients;
  for (std::size_t s = stages().size(); s-- > first_;) {
    const auto& stage = stages()[s];
    if (stage.activation)
      multiply_by_slope(*stage.activation, std::span<const Real>(level(s + 1)), delta(s + 1));
    if (is_apart(stage) && gradients == Gradients::apart)
      for (std::size_t i = 0; i < rows_; ++i) {
        const auto own = apart(s, i);
        std::fill(own.begin(), own.end(), Real{0});
        add_sample(s, i, own);
      }
    if (s == first_) break;
    const auto below = delta(s);
    std::fill(below.begin(), below.end(), Real{0});
    if (is_dense(stage))
      dense_backward(s);
    else
      for (std::size_t i = 0; i < rows_; ++i) backward(s, i);
  }
}

template <class Real>
void StackPass<Real>::dense_backward(std::size_t s) {
  const auto& stage = stages()[s];
  multiply_add<Real>(rows_, stage.inputs(), stage.units(), {delta(s + 1).data(), stage.units(), 1},
                     stage.weights_of(x_).data(), stage.inputs(), delta(s).data(), stage.inputs());
}

template <class Real>
void StackPass<Real>::backward(std::size_t s, std::size_t i) {
  const auto& stage = stages()[s];
  const std::span<const Real> above = row(delta(s + 1), i), in = row(level(s), i);
  const auto below = row(delta(s), i);
  if (stage.kind == StageKind::max_pool)
    return unpool_largest(stage, in, above, below, memory_.room);
  if (stage.kind == StageKind::average_pool) return unpool_mean(stage, above, below);
  if (stage.kind == StageKind::group_norm)
    return add_norm_derivatives(stage, x_, in, above, below, memory_.room);
  const auto due = windows(stage);
  std::fill(due.begin(), due.end(), Real{0});
  multiply_add<Real>(stage.out.positions(), stage.inputs(), stage.units(),
                     {above.data(), stage.units(), 1}, stage.weights_of(x_).data(), stage.inputs(),
                     due.data(), stage.inputs());
  add_windows(stage, std::span<const Real>(due), below);
}

// To a gradient of the stage's own parameters.
template <class Real>
void StackPass<Real>::add_sample(std::size_t s, std::size_t i, std::span<Real> gradient) {
  const auto& stage = stages()[s];
  const std::size_t units = stage.units(), inputs = stage.inputs();
  const std::span<const Real> above = row(delta(s + 1), i), in = row(level(s), i);
  if (stage.kind == StageKind::group_norm)
    return add_norm_gradient(stage, in, above, gradient, memory_.room);
  const auto taken = windows(stage);
  take_windows(stage, in, taken);
  multiply_add<Real>(units, inputs, stage.out.positions(), {above.data(), 1, units}, taken.data(),
                     inputs, gradient.data(), inputs);
  const auto biases = gradient.subspan(units * inputs);
  for (std::size_t at = 0; at < above.size(); at += units)
    axpy(Real{1}, above.subspan(at, units), biases);
}

template <class Real>
void StackPass<Real>::add_dense(std::size_t s, std::span<Real> gradient) {
  const auto& stage = stages()[s];
  const std::size_t units = stage.units(), inputs = stage.inputs();
  const auto above = delta(s + 1);
  multiply_add<Real>(units, inputs, rows_, {above.data(), 1, units}, level(s).data(), inputs,
                     gradient.data(), inputs);
  for (std::size_t i = 0; i < rows_; ++i)
    axpy(Real{1}, std::span<const Real>(row(above, i)), gradient.subspan(units * inputs));
}

template <class Real>
double StackPass<Real>::squared_norm(std::size_t i) const {
  assert(gradients_ == Gradients::apart);
  const auto square = [](std::span<const Real> v) { return porter::squared_norm(v); };
  double sum = 0;
  for (std::size_t s = 0; s < stages().size(); ++s) {
    if (is_dense(stages()[s])) sum += square(row(delta(s + 1), i)) * (1 + square(row(level(s), i)));
    if (is_apart(stages()[s])) sum += square(apart(s, i));
  }
  return sum;
}

// A gradient that is kept apart waits for its factor; the others follow from deltas.
template <class Real>
void StackPass<Real>::scale(std::size_t i, double factor) {
  memory_.factors[i] = factor;
  for (std::size_t s = 0; s < stages().size(); ++s) {
    const auto& stage = stages()[s];
    const bool waits = is_apart(stage) && (factor == 0 || gradients_ == Gradients::apart);
    if (!stage.has_parameters() || waits) continue;
    const auto d = row(delta(s + 1), i), in = row(level(s), i);
    if (factor != 0) {
      for (Real& value : d) value *= static_cast<Real>(factor);
    } else {
      std::fill(d.begin(), d.end(), Real{0});
      std::fill(in.begin(), in.end(), Real{0});
    }
  }
}

template <class Real>
void StackPass<Real>::add_gradient(std::span<Real> gradient) {
  for (std::size_t s = 0; s < stages().size(); ++s) {
    const auto& stage = stages()[s];
    if (!stage.has_parameters()) continue;
    const auto own = stage.parameters_of(gradient);
    if (is_dense(stage)) {
      add_dense(s, own);
      continue;
    }
    for (std::size_t i = 0; i < rows_; ++i) {
      const double factor = memory_.factors[i];
      if (factor == 0) continue;
      if (gradients_ == Gradients::together)
        add_sample(s, i, own);
      else
        axpy(static_cast<Real>(factor), std::span<const Real>(apart(s, i)), own);
    }
  }
}

template class StackPass<double>;
template class StackPass<float>;

}  // namespace porter
