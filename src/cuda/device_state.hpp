// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <deque>
#include <string>
#include <type_traits>
#include <vector>

#include "core/vector_math.hpp"
#include "device.hpp"
#include "porter/algo/algorithm.hpp"
#include "room.hpp"

namespace porter::cuda {

/// Block x: columns of mean_row, agents in ascending order.
template <class Real>
struct MeanKernel {
  static constexpr int kThreads = 128;
  static constexpr std::uint32_t kColumns = 128;

  const Real* rows;
  std::uint32_t agents, dim, stride;
  double* mean;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::uint32_t first = block.x * kColumns;
    block.each(dim - first < kColumns ? dim - first : kColumns, [&](std::uint32_t offset) {
      double sum = 0;
      for (std::uint32_t i = 0; i < agents; ++i)
        sum += double{rows[std::size_t{i} * stride + first + offset]};
      mean[first + offset] = sum / static_cast<double>(agents);
    });
  }
};
/// mean_row of rows that are on the device: one row comes to the host, not all.
template <class Real>
std::vector<double> mean_row_of(const Device& device, const Real* rows, std::size_t agents,
                                std::uint32_t dim, std::uint32_t stride) {
  using Kernel = MeanKernel<Real>;
  const Array<double> on_device(device, dim);
  device.launch({(dim + Kernel::kColumns - 1) / Kernel::kColumns, 1}, 0,
                Kernel{rows, static_cast<std::uint32_t>(agents), dim, stride, on_device.data()});
  std::vector<double> mean(dim);
  device.download(mean.data(), on_device.data(), dim * sizeof(double));
  return mean;
}

/// The matrices of a method on the device, under the names that checkpoints have, and on the host
/// where somebody asks for them.
template <class Real>
class DeviceState {
 public:
  class Matrix {
   public:
    Real* data() const { return values_.data(); }

   private:
    friend class DeviceState;
    std::string name_;
    bool copied_ = false;
    Array<Real> values_;
    BasicRows<Real> copy_;
    bool fresh_ = false;  // the copy is what the device has
  };

  DeviceState(const Device& device, std::size_t agents, std::size_t dim)
      : device_(device), agents_(agents), dim_(dim) {}

  /// Rows start a whole number of 64 entries apart.
  static std::uint32_t stride_of(std::size_t dim) {
    return static_cast<std::uint32_t>((dim + 63) / 64 * 64);
  }
  std::uint32_t stride() const { return stride_of(dim_); }

  /// All rows at `start`, or zero where it is empty. The matrix stays where it is.
  Matrix& add(const std::string& name, std::span<const double> start = {}, bool copied = false) {
    auto& matrix = matrices_.emplace_back();
    matrix.name_ = name;
    matrix.copied_ = copied;
    matrix.values_ = {device_, agents_ * stride()};
    if (start.empty()) return matrix;
    matrix.copy_ = repeat_row<Real>(start, agents_);
    upload(matrix);
    matrix.fresh_ = true;
    return matrix;
  }

  /// Before the device changes them: what the host was lent may have been set there.
  void start_step() {
    for (auto& matrix : matrices_) {
      if (lent_) upload(matrix);
      matrix.fresh_ = false;
    }
    lent_ = false;
  }

  /// The host has them, for others to set, until the next step.
  std::vector<NamedRows> lend() {
    std::vector<NamedRows> all;
    for (auto& matrix : matrices_) {
      rows(matrix);
      all.push_back({.name = matrix.name_, .rows = &matrix.copy_, .copied = matrix.copied_});
    }
    lent_ = true;
    return all;
  }

  const BasicRows<Real>& rows(Matrix& matrix) const {
    if (lent_ || matrix.fresh_) return matrix.copy_;
    if (matrix.copy_.agents() == 0) matrix.copy_ = BasicRows<Real>(agents_, dim_);
    device_.download_rows(matrix.copy_.row(0).data(), matrix.data(), pitch(matrix),
                          dim_ * sizeof(Real), agents_);
    matrix.fresh_ = true;
    return matrix.copy_;
  }
  /// The same in double; valid until the next call.
  const Rows& wide_rows(Matrix& matrix) const {
    const auto& found = rows(matrix);
    if constexpr (std::is_same_v<Real, double>) {
      return found;
    } else {
      if (wide_.agents() == 0) wide_ = Rows(agents_, dim_);
      for (std::size_t i = 0; i < agents_; ++i) widen(found.row(i), wide_.row(i));
      return wide_;
    }
  }
  double mean_norm(const Matrix& matrix) const {
    const auto mean = lent_ || matrix.fresh_
                          ? mean_row(matrix.copy_)
                          : mean_row_of(device_, matrix.data(), agents_,
                                        static_cast<std::uint32_t>(dim_), stride());
    return std::sqrt(squared_norm(mean));
  }

 private:
  Device::Pitch pitch(const Matrix& matrix) const {
    return {stride() * sizeof(Real), matrix.copy_.stride() * sizeof(Real)};
  }
  void upload(Matrix& matrix) const {
    device_.upload_rows(matrix.data(), matrix.copy_.row(0).data(), pitch(matrix),
                        dim_ * sizeof(Real), agents_);
  }

  const Device& device_;
  std::size_t agents_, dim_;
  std::deque<Matrix> matrices_;
  bool lent_ = false;  // the host's copies are the state
  mutable Rows wide_;
};

}  // namespace porter::cuda
