// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace porter {

/// A vector whose parts are outer products u v^T, row by row: the gradient of one sample at a
/// layer. Kept like this until it is used, tile by tile, it is neither written to memory nor read
/// again.
class OuterProducts {
 public:
  /// Nothing is written any more.
  void clear() { count_ = 0; }
  bool empty() const { return count_ == 0; }
  /// u v^T at the coordinates from `first` on.
  void add(std::size_t first, std::span<const double> u, std::span<const double> v);

  /// `scale` times the coordinates [first, first + out.size()), where there is something; computed
  /// in double, each product rounded, and rounded to float at last where `out` is float.
  void write(std::size_t first, double scale, std::span<float> out) const;
  void write(std::size_t first, double scale, std::span<double> out) const;

 private:
  struct Part {
    std::size_t first = 0;
    std::vector<double> u, v;
  };
  template <class Real>
  void write_any(std::size_t first, double scale, std::span<Real> out) const;

  std::vector<Part> parts_;  // memory is kept
  std::size_t count_ = 0;    // of those in use
};

}  // namespace porter
