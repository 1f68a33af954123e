// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace porter {

/// What some values span.
struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  /// Whether a linear axis would crowd the small ones.
  bool beyond(double ratio) const { return low > 0 && high > ratio * low; }
};

/// A line of a plot. Non-finite points are gaps. One of few points has a mark at each, as a
/// straight line between two of them is no measurement.
struct Series {
  std::string name;
  std::vector<double> x = {}, y = {};
  /// A shaded band beside the line: empty, or as long as x.
  /// Marks that no line joins have it as a stroke at each.
  std::vector<double> band_low = {}, band_high = {};
  std::size_t style = 0;   ///< picks colour and dashes
  bool points = false;     ///< marks that no line joins
  bool companion = false;  ///< thin and dotted: goes with the main line of the same style
  bool diverged = false;   ///< does not stretch the axes; a cross marks where it was last seen
  bool computed = false;   ///< a line that nobody measured: it has no marks

  bool is_sparse() const { return !computed && x.size() <= kFewPoints; }
  static constexpr std::size_t kFewPoints = 12;

  void add(double at, double value) {
    x.push_back(at);
    y.push_back(value);
  }
  /// Two evaluations, as with run.evaluate = "end", say nothing of the way between them.
  void unjoin_ends() { points = points || x.size() <= 2; }
  /// With the band there.
  void add(double at, double value, double low, double high) {
    add(at, value);
    band_low.push_back(low);
    band_high.push_back(high);
  }
};

struct Axis {
  std::string title;      ///< with the unit, if there is one
  bool log = false;       ///< how it is shown first
  bool offer_log = true;  ///< whether the reader may switch
  /// An x axis of names instead of numbers: labels[i] stands at i + 1.
  std::vector<std::string> labels = {};
};

/// A dashed horizontal line.
struct ReferenceLine {
  std::string label;
  double y = 0;
};

struct Plot {
  std::string title, help;  ///< `help`: a line on how to read it
  Axis x, y;
  std::vector<Series> series = {};
  std::vector<ReferenceLine> references = {};
};

/// A column of metrics.csv that curves are drawn against.
struct CurveAxis {
  const char* column;
  const char* suffix;  ///< of the plot's title
  const char* title;
  double unit = 1;  ///< of the axis, in units of the column
};
inline constexpr CurveAxis kRounds{"round", "by round", "round"};
inline constexpr CurveAxis kBits{"bits_per_agent", "by communication", "bits sent per agent"};
inline constexpr CurveAxis kBytes{"bits_per_agent", "by bytes", "bytes sent per agent", 8};
inline constexpr CurveAxis kSeconds{"seconds", "by time", "seconds of training"};

/// Whether the y of the lines ask for a logarithmic axis; lines that diverged have no say among
/// others.
bool wants_log(const std::vector<Series>& all);
/// Whether the lines end so far apart that a linear x axis would crowd the short ones.
bool ends_far_apart(const std::vector<Series>& all);
/// What always answering the majority class scores, for plots of accuracies.
std::vector<ReferenceLine> majority_lines(const std::set<double>& rates);

/// Which axes are logarithmic in a rendering.
struct LogAxes {
  bool x = false, y = false;
};

/// The points of a series that are worth drawing: of those in one pixel column, the first, the
/// last and the extremes. Indices ascend.
using DrawnPoints = std::vector<std::vector<std::size_t>>;

struct Drawing {
  std::string svg;
  std::string note;    ///< what is not shown and why; empty: everything is
  DrawnPoints points;  ///< per series
};

inline constexpr double kDrawingWidth = 560, kDrawingHeight = 330;  ///< of its viewBox

/// Draws an <svg> element that takes its colours from the page's style sheet.
Drawing draw(const Plot& plot, LogAxes log);

/// An HTML <figure>: title, legend, the drawing and, where the axes offer it, switches between
/// linear and logarithmic that work without scripts. `id` must be unique on the page.
std::string figure_html(const Plot& plot, const std::string& id);

/// Figures of one quantity as tabs, each with its name; works without scripts. One figure
/// is shown as it is. `id` must be unique on the page.
struct TabFigure {
  std::string tab;
  Plot plot;
};
std::string tabs_html(const std::vector<TabFigure>& figures, const std::string& id);

/// The same as an SVG file that needs no style sheet: title, legend, the drawing with the axes as
/// they are shown first.
std::string svg_file(const Plot& plot);

/// The points as series,x,y,low,high, a line each, in full precision; x is a name where the axis
/// has names.
std::string points_csv(const Plot& plot);

}  // namespace porter
