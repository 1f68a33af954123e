// SPDX-License-Identifier: Apache-2.0
#include "report/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/text.hpp"
#include "scale.hpp"
#include "svg.hpp"

namespace porter {
namespace {

// In units of the viewBox, which are pixels where a plot takes half of a wide page.
constexpr double kWidth = kDrawingWidth, kHeight = kDrawingHeight;
constexpr double kLeast = 66, kRight = kWidth - 20, kTop = 12, kBottom = kHeight - 48;
constexpr double kSlack = 4;    // line ends and marks may stand out of the frame by this much
constexpr double kFar = 20000;  // where lines that leave the frame are cut
constexpr int kTicksX = 6, kTicksY = 6;
constexpr double kCharacter = 6.6;  // width of one in a tick's label, about
constexpr double kTitleEnd = 31;    // where the title of the y axis and the space beside it end

struct PlotPoint {
  double x, y;  // pixels
  std::size_t index;
};
using Segment = std::vector<PlotPoint>;  // points joined by a line

struct Frame {
  Scale x, y;
  double left;  // follows the labels of the y axis
  double px(double value) const { return left + (kRight - left) * x.place(value); }
  double py(double value) const {
    return std::clamp(kBottom - (kBottom - kTop) * y.place(value), -kFar, kFar);
  }
};

Scale scale_of(const Range& range, bool log, double margin) {
  return range.empty() ? make_scale(log ? 0.1 : 0.0, 1, log, 0)
                       : make_scale(range.low, range.high, log, margin);
}

double left_for(const Scale& y) {
  std::size_t widest = 0;
  for (const auto& tick : y.ticks(kTicksY)) widest = std::max(widest, display_width(tick.label));
  return std::max(kLeast, kTitleEnd + kCharacter * static_cast<double>(widest) + 7);
}

Frame make_frame(const Plot& plot, LogAxes log) {
  const Scale any_x{.log = log.x}, any_y{.log = log.y};
  Range x, steady_y, all_y;
  for (const auto& series : plot.series)
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!any_x.shows(series.x[i]) || !any_y.shows(series.y[i])) continue;
      x.add(series.x[i]);
      all_y.add(series.y[i]);
      if (series.diverged) continue;
      steady_y.add(series.y[i]);
      for (const auto* band : {&series.band_low, &series.band_high})
        if (!band->empty() && any_y.shows((*band)[i])) steady_y.add((*band)[i]);
    }
  if (!plot.x.labels.empty()) {  // half a place beside the first and the last name
    x.add(0.5);
    x.add(static_cast<double>(plot.x.labels.size()) + 0.5);
  }
  Range& y = steady_y.empty() ? all_y : steady_y;
  for (const auto& line : plot.references)
    if (any_y.shows(line.y)) y.add(line.y);
  const auto y_scale = scale_of(y, log.y, 0.05);
  return {scale_of(x, log.x, 0), y_scale, left_for(y_scale)};
}

// Of the points in one pixel column: the first, the lowest, the highest and the last.
Segment thinned(const Segment& segment) {
  Segment kept;
  for (auto from = segment.begin(); from != segment.end();) {
    const auto to = std::find_if(from, segment.end(), [&](const PlotPoint& point) {
      return std::floor(point.x) != std::floor(from->x);
    });
    const auto [low, high] = std::minmax_element(
        from, to, [](const PlotPoint& a, const PlotPoint& b) { return a.y < b.y; });
    for (auto it = from; it != to; ++it)
      if (it == from || it == low || it == high || it == std::prev(to)) kept.push_back(*it);
    from = to;
  }
  return kept;
}

std::vector<Segment> segments_of(const Series& series, const Frame& frame) {
  std::vector<Segment> segments;
  bool joined = false;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const bool shown = frame.x.shows(series.x[i]) && frame.y.shows(series.y[i]);
    if (shown && !joined) segments.emplace_back();
    if (shown) segments.back().push_back({frame.px(series.x[i]), frame.py(series.y[i]), i});
    joined = shown;
  }
  for (auto& segment : segments) segment = thinned(segment);
  return segments;
}

std::string polyline(const Segment& points, char first = 'M') {
  std::string path;
  for (const auto& point : points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? first : 'L', point.x, point.y);
  return path;
}

std::string band_svg(const Series& series, const std::vector<Segment>& segments,
                     const Frame& frame) {
  std::string path;
  for (const auto& segment : segments) {
    Segment low, high;
    for (const auto& point : segment) {
      const double bottom = series.band_low[point.index], top = series.band_high[point.index];
      if (!frame.y.shows(bottom) || !frame.y.shows(top)) continue;
      low.push_back({point.x, frame.py(bottom), point.index});
      high.push_back({point.x, frame.py(top), point.index});
    }
    std::reverse(low.begin(), low.end());
    if (high.size() > 1) path += polyline(high) + polyline(low, 'L') + "Z";
  }
  return fmt::format("<path class=\"band {}\" d=\"{}\"/>\n", style_classes(series), path);
}

// The band where no line leads from one point to the next.
std::string strokes_svg(const Series& series, const std::vector<Segment>& segments,
                        const Frame& frame) {
  std::string path;
  for (const auto& segment : segments)
    for (const auto& point : segment) {
      const double low = series.band_low[point.index], high = series.band_high[point.index];
      if (frame.y.shows(low) && frame.y.shows(high))
        path += fmt::format("M{:.1f} {:.1f}V{:.1f}", point.x, frame.py(low), frame.py(high));
    }
  return fmt::format("<path class=\"spread {}\" d=\"{}\"/>\n", style_classes(series), path);
}

// Where the line was last inside the frame; at its edge if it never was.
PlotPoint last_inside(const std::vector<Segment>& segments) {
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment)
    for (auto point = segment->rbegin(); point != segment->rend(); ++point)
      if (point->y >= kTop && point->y <= kBottom) return *point;
  PlotPoint end = segments.back().back();
  end.y = std::clamp(end.y, kTop, kBottom);
  return end;
}

std::string series_svg(const Series& series, const std::vector<Segment>& segments,
                       const Frame& frame) {
  std::string path, out;
  if (!series.band_low.empty())
    out += series.points ? strokes_svg(series, segments, frame) : band_svg(series, segments, frame);
  for (const auto& segment : segments) {
    const bool joined = segment.size() > 1 && !series.points;
    if (joined) path += polyline(segment);
    if (joined && (series.companion || !series.is_sparse())) continue;
    for (const auto& point : segment)
      out += fmt::format("<circle class=\"mark {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>\n",
                         style_classes(series), point.x, point.y);
  }
  if (!path.empty())
    out += fmt::format("<path class=\"line {}\" d=\"{}\"><title>{}</title></path>\n",
                       style_classes(series), path, escape_html(series.name));
  if (series.diverged && !series.companion && !segments.empty()) {
    const auto end = last_inside(segments);
    out += fmt::format("<path class=\"cross {}\" d=\"M{:.1f} {:.1f}l8 8m0 -8l-8 8\"/>\n",
                       style_classes(series), end.x - 4, end.y - 4);
  }
  return out;
}

std::vector<Tick> x_ticks(const Plot& plot, const Frame& frame) {
  if (plot.x.labels.empty()) return frame.x.ticks(kTicksX);
  std::vector<Tick> ticks;
  for (const auto& label : plot.x.labels)
    ticks.push_back({static_cast<double>(ticks.size() + 1), label});
  return ticks;
}

// Names that would run into each other stand in two rows by turns.
bool in_two_rows(const Plot& plot, const Frame& frame) {
  double total = 0;
  for (const auto& label : plot.x.labels)
    total = std::max(total, kCharacter * static_cast<double>(display_width(label) + 1) *
                                static_cast<double>(plot.x.labels.size()));
  return total > kRight - frame.left;
}

std::string axes_svg(const Plot& plot, const Frame& frame) {
  std::string grid, labels;
  const bool two_rows = in_two_rows(plot, frame);
  bool lower = false;
  for (const auto& tick : x_ticks(plot, frame)) {
    const double at = frame.px(tick.value);
    grid += fmt::format("M{:.1f} {}V{}", at, kTop, kBottom);
    labels +=
        svg_text("tick", at, kBottom + (two_rows ? lower ? 27 : 14 : 17), "middle", tick.label);
    lower = !lower;
  }
  for (const auto& tick : frame.y.ticks(kTicksY)) {
    const double at = frame.py(tick.value);
    grid += fmt::format("M{:.1f} {:.1f}H{}", frame.left, at, kRight);
    labels += svg_text("tick", frame.left - 7, at + 4, "end", tick.label);
  }
  return fmt::format(
             "<path class=\"grid\" d=\"{}\"/>\n<path class=\"axis\" d=\"M{:.1f} {}V{}H{}\"/>\n{}",
             grid, frame.left, kTop, kBottom, kRight, labels) +
         svg_text("title", (frame.left + kRight) / 2, kHeight - 8, "middle", plot.x.title) +
         svg_side_title((kTop + kBottom) / 2, plot.y.title);
}

std::string references_svg(const Plot& plot, const Frame& frame) {
  constexpr double kLabelHeight = 13;
  std::string out;
  std::vector<double> labels;  // where they stand
  for (const auto& line : plot.references) {
    if (!frame.y.shows(line.y)) continue;
    const double at = frame.py(line.y);
    out +=
        fmt::format("<path class=\"reference\" d=\"M{:.1f} {:.1f}H{}\"><title>{}</title></path>\n",
                    frame.left, at, kRight, escape_html(line.label));
    // Above the line, or below where that is taken; else only under the pointer.
    for (const double place : {at - 5, at + 14}) {
      if (place < kTop + 15 && place < at) continue;
      if (std::ranges::any_of(labels,
                              [&](double other) { return std::abs(other - place) < kLabelHeight; }))
        continue;
      labels.push_back(place);
      out += svg_text("reference-label", kRight - 4, place, "end", line.label);
      break;
    }
  }
  return out;
}

// What the drawing leaves out, in words. Companions share the fate of their main lines.
std::string note_of(const Plot& plot, const Frame& frame) {
  std::size_t not_positive = 0, not_finite = 0;
  std::string note;
  for (const auto& series : plot.series) {
    if (series.companion) continue;
    std::size_t unplaced = 0, odd = 0;
    bool leaves = false;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      const double x = series.x[i], y = series.y[i];
      if (!Scale{}.shows(x) || !Scale{}.shows(y))
        ++odd;
      else if (!frame.x.shows(x) || !frame.y.shows(y))
        ++unplaced;
      else
        leaves = leaves || y > frame.y.high || y < frame.y.low;
    }
    not_finite += odd;
    if (leaves) note += series.name + " leaves the axis. ";
    if (unplaced > 0 && unplaced + odd == series.x.size())
      note += series.name + " has nothing above zero to show on a logarithmic axis. ";
    else
      not_positive += unplaced;
  }
  const auto points = [](std::size_t count) {
    return fmt::format("{} point{}", count, count == 1 ? "" : "s");
  };
  if (not_positive > 0)
    note += points(not_positive) + " at or below zero cannot stand on a logarithmic axis. ";
  if (not_finite > 0) note += points(not_finite) + " without a finite value left out. ";
  if (!note.empty()) note.pop_back();
  return note;
}

std::string axis_data(const Scale& scale, double from, double to) {
  return fmt::format("[{},{},{},{:.1f},{:.1f}]", scale.low, scale.high, scale.log ? 1 : 0, from,
                     to);
}

}  // namespace

Drawing draw(const Plot& plot, LogAxes log) {
  const auto frame = make_frame(plot, log);
  Drawing drawing{.svg = {}, .note = note_of(plot, frame), .points = {}};
  std::string lines;
  bool empty = true;
  for (const auto& series : plot.series) {
    const auto segments = segments_of(series, frame);
    lines += series_svg(series, segments, frame);
    auto& drawn = drawing.points.emplace_back();
    for (const auto& segment : segments)
      for (const auto& point : segment) drawn.push_back(point.index);
    empty = empty && drawn.empty();
  }
  if (empty)
    lines += svg_text("title", (frame.left + kRight) / 2, (kTop + kBottom) / 2, "middle",
                      "nothing to show");
  drawing.svg = fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" "
      "data-x=\"{}\" data-y=\"{}\">\n{}",
      kWidth, kHeight, escape_html(plot.title + ": " + plot.y.title + " against " + plot.x.title),
      axis_data(frame.x, frame.left, kRight), axis_data(frame.y, kBottom, kTop),
      axes_svg(plot, frame));
  // A nested <svg> clips what leaves the frame, without an id that would have to be unique.
  drawing.svg += fmt::format(
      "<svg x=\"{0:.1f}\" y=\"{1}\" width=\"{2:.1f}\" height=\"{3}\" "
      "viewBox=\"{0:.1f} {1} {2:.1f} {3}\">\n{4}{5}</svg>\n"
      "<circle class=\"dot\" r=\"4.5\" visibility=\"hidden\"/>\n</svg>\n",
      frame.left - kSlack, kTop - kSlack, kRight - frame.left + 2 * kSlack,
      kBottom - kTop + 2 * kSlack, lines, references_svg(plot, frame));
  return drawing;
}

bool wants_log(const std::vector<Series>& all) {
  constexpr double kRatio = 20;  // from here on a linear axis hides the small ones
  const bool any_steady = !std::ranges::all_of(all, &Series::diverged);
  Range range;
  for (const auto& series : all)
    for (const double y : series.y)
      if (y > 0 && std::isfinite(y) && !(any_steady && series.diverged)) range.add(y);
  return range.beyond(kRatio);
}

bool ends_far_apart(const std::vector<Series>& all) {
  constexpr double kRatio = 4;
  Range ends;
  for (const auto& series : all)
    if (!series.points) ends.add(series.x.back());  // a logarithmic axis would hide round 0 of two
  return ends.beyond(kRatio);
}

std::vector<ReferenceLine> majority_lines(const std::set<double>& rates) {
  std::vector<ReferenceLine> lines;
  for (const double rate : rates)
    lines.push_back({fmt::format("majority class {:.3f}", rate), rate});
  return lines;
}

}  // namespace porter
