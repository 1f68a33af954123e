// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "porter/core/rng.hpp"

namespace porter {

/// The values of one config key that a sweep tries. Written as a list, "0.01,0.1" or
/// "top_k:0.1,identity", or as a range: lin:A..B:N or log:A..B:N for N values from A to B, evenly
/// or by equal factors; without :N a range to draw from. intlin and intlog are the same with whole
/// numbers.
class SweepValues {
 public:
  /// Error{usage} names the key.
  SweepValues(const std::string& key, std::string_view text);

  bool is_range() const { return range_; }
  /// Every value, in order, none twice. Error{usage} for a range without a number of values.
  std::vector<std::string> all() const;
  /// One value at random: an element of a list or of a range with N, else any point of the range.
  std::string draw(RngStream& rng) const;

 private:
  void read_list();
  void read_range(std::string_view kind, std::string_view argument);
  std::string at(double share) const;

  std::string key_, text_;
  std::vector<std::string> list_;
  bool range_ = false, log_ = false, whole_ = false;
  double low_ = 0, high_ = 0;
  std::size_t count_ = 0;  // of a range; 0: not given
};

}  // namespace porter
