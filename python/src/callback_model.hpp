// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <utility>

#include "bindings.hpp"
#include "porter/model/model.hpp"

namespace porter::python {

/// The number of a row as two floats, exactly, and back.
inline std::pair<float, float> encoded_row(std::size_t row) {
  return {static_cast<float>(row >> 20), static_cast<float>(row & 0xFFFFF)};
}
inline std::int64_t decoded_row(const Sample& sample) {
  return (static_cast<std::int64_t>(sample.values[0]) << 20) +
         static_cast<std::int64_t>(sample.values[1]);
}

/// A model whose gradients and losses are computed by Python, for numbered rows. Clipping and sums
/// are done here, so that what is promised of them holds whatever the callback does.
class CallbackModel final : public Model {
 public:
  /// `adapter` has gradients(X [n, d], rows [n, b]) -> [n, b, d] and, with losses,
  /// totals(x, rows, gradient: bool) -> (loss, correct, squared error, gradient or None), sums over
  /// the rows. `memory`: the most bytes of gradients in one call.
  CallbackModel(py::object adapter, std::size_t dim, bool has_loss, bool predicts, bool guarantee,
                std::size_t memory);
  ~CallbackModel() override;

  std::size_t dim() const override { return dim_; }
  bool has_loss() const override { return has_loss_; }
  bool predicts() const override { return predicts_; }
  bool joins_agents() const override { return true; }
  void gradient_sums(std::span<const AgentBatch> agents) const override;
  Totals evaluate(std::span<const double> x, const Dataset& data, std::size_t first,
                  std::size_t last, std::span<double> gradient_sum) const override;
  double loss(std::span<const double>, const Sample&, std::span<double>) const override;
  double predict(std::span<const double>, const Sample&) const override;

 private:
  py::object adapter_;
  std::size_t dim_;
  bool has_loss_, predicts_, guarantee_;
  std::size_t memory_;
  // One call at a time: the interpreter's lock is let go inside of what many callbacks call, which
  // may not expect to be called from several threads. Taken before that lock.
  mutable std::mutex alone_;
};

}  // namespace porter::python
