// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grid/grid.hpp"
#include "porter/core/choice.hpp"

namespace porter {

/// What is shown of the runs of a study.
enum class StudyKind {
  curves,  ///< metrics against rounds, bits and, where they are modelled, seconds
  slope,   ///< a power law between two figures of a run, beside a theorem's exponent
  bars,    ///< last figures over a grid of settings
};
template <>
struct Choices<StudyKind> {
  static constexpr Choice<StudyKind> table[] = {
      {"curves", StudyKind::curves}, {"slope", StudyKind::slope}, {"bars", StudyKind::bars}};
};

/// A figure that was stored elsewhere, by metric.
using StoredFigures = std::map<std::string, double>;

/// One line of the plots.
struct StudySeries {
  std::string label;
  std::string tuned = {};                  ///< the sweep that found its values; may be empty
  std::vector<StoredFigures> stored = {};  ///< empty, or one per value
};

/// A question, the runs that answer it and how the answer is shown: an experiment file, every
/// choice made. The settings go by series, then by value; the seeds are 1, 2, ...
struct Study : Grid {
  std::string name, title, about;
  std::string text;  ///< the file
  StudyKind kind = StudyKind::curves;
  bool quick = false;

  std::vector<StudySeries> series;
  std::string vary;                 ///< the key that takes several values; may be empty
  std::vector<std::string> values;  ///< as a config writes them; one empty text where none varies

  std::vector<std::string> metrics;  ///< curves, bars: columns of metrics.csv
  std::string x, y;                  ///< slope, bars (x only): see study_figure
  double exponent = 0;               ///< slope: the theorem's
  std::string theorem;               ///< slope

  const GridSetting& setting(std::size_t series_index, std::size_t value_index) const {
    return settings[series_index * values.size() + value_index];
  }
  /// Of the setting with this index.
  const StudySeries& series_of(std::size_t setting) const {
    return series[setting / values.size()];
  }
  std::size_t value_of(std::size_t setting) const { return setting % values.size(); }
};

struct StudyOptions {
  bool quick = false;
  std::optional<std::uint32_t> seeds = {};  ///< instead of the file's
};

/// Reads an experiment file (docs/reproducing.md). Relative paths in its configs are relative to
/// `folder`. A setting whose config is refused is kept with the reason; Error{usage} names the
/// source, the line and the key of everything else that is wrong.
Study parse_study(std::string_view text, const std::string& name, const std::string& source,
                  const std::filesystem::path& folder, const StudyOptions& options);

/// The experiment files that are part of the library, by name.
struct StudyFile {
  std::string name, text;
};
const std::vector<StudyFile>& study_files();

/// The first line of what a file is about, without running or checking anything else in it.
std::string study_title(std::string_view text, const std::string& source);

}  // namespace porter
