// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <span>
#include <vector>

namespace porter {

/// A matrix with one row per hosted agent, rows contiguous; starts at zero.
class Rows {
 public:
  Rows() = default;
  Rows(std::size_t agents, std::size_t dim)
      : agents_(agents), dim_(dim), values_(agents * dim, 0.0) {}

  std::size_t agents() const { return agents_; }
  std::size_t dim() const { return dim_; }

  std::span<double> row(std::size_t agent) {
    assert(agent < agents_);
    return {values_.data() + agent * dim_, dim_};
  }
  std::span<const double> row(std::size_t agent) const {
    assert(agent < agents_);
    return {values_.data() + agent * dim_, dim_};
  }
  std::span<double> values() { return values_; }
  std::span<const double> values() const { return values_; }

  friend bool operator==(const Rows&, const Rows&) = default;

 private:
  std::size_t agents_ = 0, dim_ = 0;
  std::vector<double> values_;
};

/// Every row a copy of `x`.
Rows repeat_row(std::span<const double> x, std::size_t agents);

/// The mean of the rows, summed in ascending order of agent.
std::vector<double> mean_row(const Rows& rows);

}  // namespace porter
