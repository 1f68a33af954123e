// SPDX-License-Identifier: Apache-2.0
#include "porter/model/outer_products.hpp"

#include <algorithm>

#include "core/vectors.hpp"

namespace porter {

void OuterProducts::add(std::size_t first, std::span<const double> u, std::span<const double> v) {
  if (count_ == parts_.size()) parts_.emplace_back();
  auto& part = parts_[count_++];
  part.first = first;
  part.u.assign(u.begin(), u.end());
  part.v.assign(v.begin(), v.end());
}

void OuterProducts::write(std::size_t first, double scale, std::span<float> out) const {
  write_any(first, scale, out);
}

void OuterProducts::write(std::size_t first, double scale, std::span<double> out) const {
  write_any(first, scale, out);
}

template <class Real>
void OuterProducts::write_any(std::size_t first, double scale, std::span<Real> out) const {
  for (const auto& part : std::span(parts_).first(count_)) {
    const std::size_t begin = std::max(first, part.first);
    const std::size_t end =
        std::min(first + out.size(), part.first + part.u.size() * part.v.size());
    if (begin >= end) continue;
    with_vectors([=, to = out.data() + (begin - first), from = begin - part.first,
                  size = end - begin, width = part.v.size(), u = part.u.data(),
                  v = part.v.data()]<Width>() PORTER_INLINE {
      for (std::size_t done = 0; done < size;) {  // a stretch of a row at a time
        const std::size_t row = (from + done) / width, column = (from + done) % width;
        const std::size_t count = std::min(width - column, size - done);
        for (std::size_t i = 0; i < count; ++i)
          to[done + i] = static_cast<Real>(scale * (u[row] * v[column + i]));
        done += count;
      }
    });
  }
}

}  // namespace porter
