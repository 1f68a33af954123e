// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace porter {

/// Which agents are absent in which rounds. One that is computes nothing, sends nothing and keeps
/// its state. A value; nobody is ever absent unless it says so.
class Absences {
 public:
  /// Rounds `from` to `to`, both of them.
  struct Span {
    std::uint32_t agent, from, to;
  };

  Absences() = default;
  /// Every agent in every round with this probability, in [0, 1), drawn from the public seed.
  Absences(double probability, std::uint64_t seed) : probability_(probability), seed_(seed) {}
  /// As listed.
  explicit Absences(std::vector<Span> spans);

  bool operator()(std::size_t agent, std::uint32_t round) const;
  /// Whether anybody ever may be.
  bool any() const { return probability_ > 0 || !spans_.empty(); }

 private:
  double probability_ = 0;
  std::uint64_t seed_ = 0;
  std::vector<Span> spans_;
};

/// Builds from a probability such as "0.1", or from "trace:FILE.csv" with the columns agent, from
/// and to. Error{usage} or Error{io} says what was expected.
Absences make_absences(std::string_view spec, std::size_t agents, std::uint64_t seed);

/// Whether the text says that nobody is ever absent; Error{usage} if make_absences would not know
/// it. Reads no file.
bool is_never_absent(std::string_view spec);

}  // namespace porter
