// SPDX-License-Identifier: Apache-2.0
// What a schema leaves to be measured: the statistic that a record contributes, of bounded norm,
// and the numbers that follow from its mean over the records of all agents. Who adds noise to that
// mean, and how much, is no matter of this module.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "porter/data/dataset.hpp"
#include "porter/data/schema.hpp"

namespace porter {

/// Each is released once, over all columns that ask for it.
enum class Statistic {
  ranges,   ///< per column one 1: in the bin of the value, by sign and power of two
  moments,  ///< per column 1, u and u^2 with u in [-1, 1], the value's place in the range
};

/// In the order in which they are measured: moments need the ranges.
std::vector<Statistic> statistics_of(const Schema& schema);
/// "ranges", "moments".
std::string to_string(Statistic statistic);

/// How records are read for a statistic: only its columns, a value and a feature that says that
/// there is none. The ranges must be there for moments.
Schema statistic_schema(const Schema& schema, Statistic statistic);
/// How many columns it is about.
std::size_t statistic_columns(const Schema& schema, Statistic statistic);
/// How many entries it has for so many columns.
std::size_t statistic_size(Statistic statistic, std::size_t columns);
/// The length of a record's statistic is at most this.
double statistic_norm(Statistic statistic, std::size_t columns);

/// The statistic of every row of a table that was read by statistic_schema, sparse; a value that
/// is missing or not finite contributes nothing, and so does a row that counts for nothing.
Dataset record_statistics(const Dataset& rows, Statistic statistic);

/// The mean of a statistic over the records of all agents.
struct MeanStatistic {
  std::span<const double> mean;
  double records = 0;       ///< of all agents
  double noise_stddev = 0;  ///< of each entry
};
/// The schema with what follows from it, to six digits. Error{privacy} names a column of which too
/// little is seen through the noise.
Schema with_statistic(Schema schema, Statistic statistic, const MeanStatistic& found);

/// A complete schema as it was before anything was measured.
Schema before_measuring(Schema schema);
/// For a look at records: what is still to be measured is left out, and numbers are as they are.
Schema without_measuring(Schema schema);

}  // namespace porter
