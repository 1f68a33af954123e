// SPDX-License-Identifier: Apache-2.0
#include "data/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "porter/core/error.hpp"
#include "text.hpp"

namespace porter {
namespace {

// Bins of a range: [2^e, 2^(e+1)) for both signs, and one for what is nearer to 0. What is larger
// is in the last.
constexpr int kLeast = -32, kMost = 63, kOfOneSign = kMost - kLeast + 1;
constexpr std::size_t kBins = 2 * kOfOneSign + 1;
constexpr std::size_t kMoments = 3;

// What is that far above the noise is there: of 10,000 entries of noise alone one is so with
// probability 1e-5.
constexpr double kSeen = 6;
// No deviation is smaller than that share of half the range.
constexpr double kLeastDeviation = 1e-3;

bool asks_for(const Column& column, Statistic statistic) {
  return statistic == Statistic::ranges ? column.measured_range : column.measured_moments;
}

std::size_t bin_of(double value) {
  const int size = std::min(std::ilogb(value), kMost) - kLeast;  // of 0: far below
  if (value == 0 || size < 0) return kOfOneSign;
  return static_cast<std::size_t>(value > 0 ? kOfOneSign + 1 + size : kOfOneSign - 1 - size);
}

// Where the bin begins, or ends; the one around 0 has no width.
double edge_of(std::size_t bin, bool upper) {
  const int place = static_cast<int>(bin) - kOfOneSign;  // ..., -1, 0, 1, ...
  if (place == 0) return 0;
  const int outer = std::abs(place) + kLeast;
  const bool away_from_zero = (place > 0) == upper;
  return std::copysign(std::ldexp(1.0, away_from_zero ? outer : outer - 1), place);
}

double six_digits(double value) {
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

[[noreturn]] void fail_to_see(const Column& column, const MeanStatistic& found, const char* what) {
  fail(ErrorKind::privacy, "schema: column ", as_found(column.name), ": ", what,
       " cannot be seen through the noise, which stands for ",
       std::ceil(kSeen * found.noise_stddev * found.records), " of ", found.records,
       " records; state it in the schema, or measure with more records, fewer columns or a larger "
       "privacy.statistics");
}

void set_range(Column& column, std::span<const double> bins, const MeanStatistic& found) {
  const double least = std::max(0.5 / found.records, kSeen * found.noise_stddev);
  const auto seen = [&](double share) { return share > least; };
  const auto first = std::ranges::find_if(bins, seen);
  if (first == bins.end()) fail_to_see(column, found, "its range");
  auto last = bins.end() - 1;
  while (!seen(*last)) --last;
  column.low = edge_of(static_cast<std::size_t>(first - bins.begin()), false);
  column.high = edge_of(static_cast<std::size_t>(last - bins.begin()), true);
  if (*column.high <= *column.low) column.high = *column.low + 1;  // nothing but zeros
}

// In units of half the range: mean u = E[u] / E[1], variance E[u^2] / E[1] - (mean u)^2. The
// noise moves it by up to about sqrt(5) noise_stddev, as |u| <= 1; what is smaller is not known.
void set_moments(Column& column, std::span<const double> moments, const MeanStatistic& found) {
  const double present = moments[0];
  if (!(present > std::max(0.5 / found.records, kSeen * found.noise_stddev)))
    fail_to_see(column, found, "how many records have a value");
  const double mean = std::clamp(moments[1] / present, -1.0, 1.0);
  const double variance =
      std::max({moments[2] / present - mean * mean, 2.25 * found.noise_stddev / present,
                kLeastDeviation * kLeastDeviation});
  const double half = (*column.high - *column.low) / 2;
  column.mean = six_digits(*column.low + half * (1 + mean));
  column.deviation = six_digits(half * std::sqrt(std::min(variance, 1.0)));
  column.scale = ColumnScale::standard;
}

}  // namespace

std::vector<Statistic> statistics_of(const Schema& schema) {
  std::vector<Statistic> list;
  if (schema.measures_range()) list.push_back(Statistic::ranges);
  if (schema.measures_moments()) list.push_back(Statistic::moments);
  return list;
}

std::string to_string(Statistic statistic) {
  return statistic == Statistic::ranges ? "ranges" : "moments";
}

Schema statistic_schema(const Schema& schema, Statistic statistic) {
  auto reading = schema;
  for (auto& column : reading.columns) {
    if (!asks_for(column, statistic)) {
      column = {.name = column.name, .kind = ColumnKind::drop};
      continue;
    }
    Column plain{.name = column.name, .missing = Missing::own};
    if (statistic == Statistic::moments) {
      require(column.low.has_value(), ErrorKind::usage, "schema: column ", as_found(column.name),
              ": its range is still to be measured");
      plain.low = column.low;
      plain.high = column.high;
      plain.outside = column.outside;
      plain.scale = ColumnScale::range;
    }
    column = std::move(plain);
  }
  return reading;
}

std::size_t statistic_columns(const Schema& schema, Statistic statistic) {
  return static_cast<std::size_t>(std::ranges::count_if(
      schema.columns, [&](const Column& column) { return asks_for(column, statistic); }));
}

std::size_t statistic_size(Statistic statistic, std::size_t columns) {
  return columns * (statistic == Statistic::ranges ? kBins : kMoments);
}

double statistic_norm(Statistic statistic, std::size_t columns) {
  const auto squares = columns * (statistic == Statistic::ranges ? 1 : kMoments);
  return std::sqrt(static_cast<double>(squares));
}

Dataset record_statistics(const Dataset& rows, Statistic statistic) {
  const std::size_t columns = rows.features / 2;
  Dataset out;
  out.features = statistic_size(statistic, columns);
  out.labels = rows.labels;
  out.classes = rows.classes;
  out.voids = rows.voids;
  out.outputs = rows.outputs;
  out.row_starts = {0};
  const auto add = [&](std::size_t entry, float value) {
    out.columns.push_back(static_cast<std::uint32_t>(entry));
    out.values.push_back(value);
  };
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    for (std::size_t c = 0; c < columns && !rows.is_void(row); ++c) {
      const float value = rows.values[row * rows.features + 2 * c];
      const bool missing = rows.values[row * rows.features + 2 * c + 1] != 0;
      if (missing || !std::isfinite(value)) continue;
      if (statistic == Statistic::ranges) {
        add(kBins * c + bin_of(double{value}), 1);
      } else {
        const float u = std::clamp(2 * value - 1, -1.0F, 1.0F);
        add(kMoments * c, 1);
        add(kMoments * c + 1, u);
        add(kMoments * c + 2, u * u);
      }
    }
    out.row_starts.push_back(out.values.size());
  }
  return out;
}

Schema with_statistic(Schema schema, Statistic statistic, const MeanStatistic& found) {
  const auto each = statistic_size(statistic, 1);
  std::size_t first = 0;
  for (auto& column : schema.columns) {
    if (!asks_for(column, statistic)) continue;
    const auto entries = found.mean.subspan(first, each);
    statistic == Statistic::ranges ? set_range(column, entries, found)
                                   : set_moments(column, entries, found);
    first += each;
  }
  return schema;
}

Schema before_measuring(Schema schema) {
  for (auto& column : schema.columns) {
    if (column.measured_range) column.low = column.high = std::nullopt;
    if (!column.measured_moments) continue;
    column.scale = ColumnScale::measured;
    column.mean = 0;
    column.deviation = 1;
  }
  return schema;
}

Schema without_measuring(Schema schema) {
  for (auto& column : schema.columns) {
    if (column.lacks_range() || column.lacks_moments()) column.scale = ColumnScale::none;
    if (column.lacks_range()) column.outside = Outside::error;
    column.measured_range = column.measured_moments = false;
  }
  return schema;
}

}  // namespace porter
