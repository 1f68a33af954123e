// SPDX-License-Identifier: Apache-2.0
#include "report/graph_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "graph/shapes.hpp"

namespace porter {
namespace {

constexpr double kHeader = 58, kFooter = 62, kMinWidth = 460;
// More would make a file that browsers are slow to show; an even sample looks the same.
constexpr double kWeightHeight = 16;
constexpr double kRoundingNoise = 1e-12;  // of an alpha that is 0
constexpr std::size_t kMaxNodes = 2000, kMaxEdges = 5000;

constexpr std::string_view kStyle = R"(<style>
.porter-graph{--back:#ffffff;--ink:#1f2933;--soft:#616e7c;--node:#f0f4f8;--plus:#2f6fb5;--minus:#c4512d}
@media (prefers-color-scheme:dark){.porter-graph{--back:#1a2028;--ink:#e6edf3;--soft:#9aa5b1;--node:#243140;--plus:#6cb2ff;--minus:#ff9166}}
.porter-graph text{font-family:system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:var(--ink)}
.porter-graph .back{fill:var(--back)}
.porter-graph .title{font-size:17px;font-weight:600}
.porter-graph .soft{font-size:14px;fill:var(--soft)}
.porter-graph .edge{fill:none;stroke-linecap:round}
.porter-graph .plus{stroke:var(--plus)}
.porter-graph .minus{stroke:var(--minus);stroke-dasharray:6 5}
.porter-graph .node{fill:var(--node);stroke:var(--ink);stroke-width:1.3}
.porter-graph .name{text-anchor:middle;dominant-baseline:central;font-weight:600}
.porter-graph .weight{font-size:12px;text-anchor:middle;dominant-baseline:central}
</style>
)";

struct NodePlace {
  double x, y;
};

// Where the nodes of a picture go, in pixels.
struct NodeLayout {
  double width, height;
  std::vector<NodePlace> nodes = {};
  double node_radius;
  std::size_t labelled_edges;  // weights are written out for at most this many edges
  double label_at = 0.5;       // where along an edge its label stands

  bool is_rows = false;  // a grid or torus, drawn row by row
};

NodeLayout in_rows(GridShape shape, double margin, std::size_t labelled_edges) {
  const auto longest = static_cast<double>(std::max(shape.rows, shape.columns) - 1);
  const double pitch = std::clamp(760 / longest, 14.0, 92.0);
  NodeLayout layout{.width = 2 * margin + pitch * static_cast<double>(shape.columns - 1),
                    .height = 2 * margin + pitch * static_cast<double>(shape.rows - 1),
                    .node_radius = std::min(15.0, 0.22 * pitch),
                    .labelled_edges = pitch < 70 ? 0 : labelled_edges,
                    .is_rows = true};
  for (std::size_t r = 0; r < shape.rows; ++r)
    for (std::size_t c = 0; c < shape.columns; ++c)
      layout.nodes.push_back(
          {margin + pitch * static_cast<double>(c), margin + pitch * static_cast<double>(r)});
  return layout;
}

// Nodes `first` and up evenly on a circle, clockwise from the top.
NodeLayout on_circle(std::size_t nodes, std::size_t first) {
  const std::size_t around = nodes - first;
  const double radius = std::clamp(11.0 * static_cast<double>(around), 150.0, 360.0);
  const double room =
      2 * std::numbers::pi * radius / static_cast<double>(std::max<std::size_t>(around, 1));
  const double margin = 40, centre = radius + margin;
  NodeLayout layout{.width = 2 * centre,
                    .height = 2 * centre,
                    .node_radius = std::clamp(0.4 * room, 2.0, 15.0),
                    .labelled_edges = 20};
  if (first == 1) layout.nodes.push_back({centre, centre});
  for (std::size_t i = 0; i < around; ++i) {
    const double angle =
        2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(around);
    layout.nodes.push_back({centre + radius * std::sin(angle), centre - radius * std::cos(angle)});
  }
  return layout;
}

// Place p goes to the p-th Gray code, so that neighbours on the circle are joined.
void in_gray_order(std::vector<NodePlace>& nodes) {
  const auto places = nodes;
  for (std::size_t p = 0; p < nodes.size(); ++p) nodes[p ^ (p >> 1)] = places[p];
}

NodeLayout lay_out(const Graph& graph) {
  if (const auto grid = grid_shape(graph)) return in_rows(*grid, 44, 100);
  if (const auto torus = torus_shape(graph); torus && torus->rows >= 3 && torus->columns >= 3)
    return in_rows(*torus, 68, 20);
  const std::size_t n = graph.nodes();
  const bool is_star = n >= 4 && graph.edges().size() == n - 1 && graph.degree(0) == n - 1;
  auto layout = on_circle(n, is_star || n == 1 ? 1 : 0);
  if (is_star) layout.label_at = 0.62;  // away from the crowded centre
  if (std::has_single_bit(n) && graph.edges() == hypercube_edges(n)) in_gray_order(layout.nodes);
  return layout;
}

// An edge of a torus that leads round the end: drawn as an arc beside the row or column.
bool is_wrap(const NodeLayout& layout, const Graph::Edge& edge) {
  if (!layout.is_rows) return false;
  const auto &a = layout.nodes[edge.first], &b = layout.nodes[edge.second];
  const auto &origin = layout.nodes[0], &next = layout.nodes[1];
  return std::abs(a.x - b.x) + std::abs(a.y - b.y) > 1.5 * (next.x - origin.x);
}

struct EdgeMark {
  Graph::Edge edge;
  double forward, backward;  // W_ij and W_ji: they differ only in matrices from files
  double weight() const { return (forward + backward) / 2; }
};

std::vector<EdgeMark> edge_marks(const Graph& graph, const Mixing& w) {
  std::vector<EdgeMark> marks;
  for (const auto& [i, j] : graph.edges()) marks.push_back({{i, j}, w(i, j), w(j, i)});
  // Heavy edges last, so that they lie on top.
  std::stable_sort(marks.begin(), marks.end(), [](const EdgeMark& a, const EdgeMark& b) {
    return std::abs(a.weight()) < std::abs(b.weight());
  });
  return marks;
}

// Calls draw(i) for all i < count, or for an even sample of `most` of them.
template <class Draw>
void for_sample(std::size_t count, std::size_t most, Draw draw) {
  const std::size_t drawn = std::min(count, most);
  for (std::size_t i = 0; i < drawn; ++i) draw(i * count / drawn);
}

// Three decimals, without "-0.000".
std::string fixed(double weight) {
  return fmt::format("{:.3f}", std::abs(weight) < 5e-4 ? 0.0 : weight);
}

class Picture {
 public:
  Picture(const Graph& graph, const Mixing& mixing)
      : graph_(graph), mixing_(mixing), layout_(lay_out(graph)), marks_(edge_marks(graph, mixing)) {
    width_ = std::max(layout_.width, kMinWidth);
    shift_x_ = (width_ - layout_.width) / 2;
    if (!marks_.empty()) heaviest_ = std::abs(marks_.back().weight());
    uniform_ = marks_.empty() || heaviest_ - std::abs(marks_.front().weight()) <= 1e-3 * heaviest_;
  }

  std::string draw() {
    const double height = layout_.height + kHeader + kFooter;
    svg_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"porter-graph\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n",
        width_, height);
    svg_ += kStyle;
    svg_ += fmt::format("<title>Graph of {} agents</title>\n", graph_.nodes());
    svg_ += "<rect class=\"back\" width=\"100%\" height=\"100%\" rx=\"10\"/>\n";
    draw_header();
    for_sample(marks_.size(), kMaxEdges, [&](std::size_t e) { draw_edge(marks_[e]); });
    if (marks_.size() <= layout_.labelled_edges)
      for (const auto& mark : marks_) draw_weight(mark);
    for_sample(graph_.nodes(), kMaxNodes, [&](std::size_t i) { draw_node(i); });
    draw_legend(height - kFooter + 20);
    return svg_ + "</svg>\n";
  }

 private:
  NodePlace at(std::size_t node) const {
    return {layout_.nodes[node].x + shift_x_, layout_.nodes[node].y + kHeader};
  }

  // A solver leaves noise around zero, which is not worth a mark.
  bool is_negative(double weight) const { return weight < -1e-3 * heaviest_; }

  double stroke(double weight) const {
    return uniform_ ? 2 : 0.7 + 4.8 * std::abs(weight) / heaviest_;
  }

  void draw_header() {
    svg_ += fmt::format("<text class=\"title\" x=\"24\" y=\"34\">{} agents, {} edges</text>\n",
                        graph_.nodes(), graph_.edges().size());
    svg_ +=
        fmt::format("<text class=\"soft\" x=\"24\" y=\"54\">{}: mixing rate α = {:.6g}</text>\n",
                    mixing_.method, mixing_.alpha < kRoundingNoise ? 0 : mixing_.alpha);
  }

  // The middle control point of an edge that leads round the end of a torus, else the middle.
  NodePlace bend(const Graph::Edge& edge) const {
    const auto a = at(edge.first), b = at(edge.second);
    if (!is_wrap(layout_, edge)) return {(a.x + b.x) / 2, (a.y + b.y) / 2};
    return a.y == b.y ? NodePlace{(a.x + b.x) / 2, a.y - 62} : NodePlace{a.x - 62, (a.y + b.y) / 2};
  }

  void draw_edge(const EdgeMark& mark) {
    const auto a = at(mark.edge.first), b = at(mark.edge.second), c = bend(mark.edge);
    const bool negative = is_negative(mark.weight());
    const double share = uniform_ ? 0.7 : std::abs(mark.weight()) / heaviest_;
    svg_ += fmt::format(
        "<path class=\"edge {}\" d=\"M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}\" "
        "stroke-width=\"{:.2f}\" stroke-opacity=\"{:.2f}\">",
        negative ? "minus" : "plus", a.x, a.y, c.x, c.y, b.x, b.y, stroke(mark.weight()),
        negative ? 0.95 : 0.35 + 0.55 * share);
    const auto [i, j] = mark.edge;
    if (mark.forward == mark.backward)
      svg_ += fmt::format("<title>{} – {}: {:.6g}</title></path>\n", i, j, mark.forward);
    else
      svg_ += fmt::format("<title>W({},{}) = {:.6g}, W({},{}) = {:.6g}</title></path>\n", i, j,
                          mark.forward, j, i, mark.backward);
  }

  // Where along the edge a label hides neither under a node nor under another label.
  NodePlace free_place(NodePlace a, NodePlace b, NodePlace c, double width) const {
    const auto place = [&](double t) {
      const double u = 1 - t;
      return NodePlace{u * u * a.x + 2 * u * t * c.x + t * t * b.x,
                       u * u * a.y + 2 * u * t * c.y + t * t * b.y};
    };
    const auto near = [](NodePlace p, NodePlace q, double dx, double dy) {
      return std::abs(p.x - q.x) < dx && std::abs(p.y - q.y) < dy;
    };
    for (const double away : {0.0, -0.07, 0.07, -0.14, 0.14, -0.2, 0.2}) {
      const auto p = place(layout_.label_at + away);
      const double r = layout_.node_radius;
      bool taken = std::ranges::any_of(
          labels_, [&](NodePlace other) { return near(p, other, width, kWeightHeight); });
      for (std::size_t i = 0; i < graph_.nodes() && !taken; ++i)
        taken = near(p, at(i), width / 2 + r, kWeightHeight / 2 + r);
      if (!taken) return p;
    }
    return place(layout_.label_at);
  }

  void draw_weight(const EdgeMark& mark) {
    const auto a = at(mark.edge.first), b = at(mark.edge.second), c = bend(mark.edge);
    const auto label = fixed(mark.weight());
    const double width = 7.4 * static_cast<double>(label.size()) + 3;
    const auto [x, y] = free_place(a, b, c, width);
    labels_.push_back({x, y});
    svg_ += fmt::format(
        "<rect class=\"back\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"4\"/>"
        "<text class=\"weight\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        x - width / 2, y - kWeightHeight / 2, width, kWeightHeight, x, y, label);
  }

  void draw_node(std::size_t node) {
    const auto p = at(node);
    svg_ += fmt::format(
        "<circle class=\"node\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"><title>agent {}: degree "
        "{}, own weight {:.6g}</title></circle>\n",
        p.x, p.y, layout_.node_radius, node, graph_.degree(node), mixing_(node, node));
    if (layout_.node_radius < 6) return;
    svg_ += fmt::format(
        "<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\">{}</text>\n", p.x, p.y,
        std::min(13.0, layout_.node_radius), node);
  }

  void draw_sample(double x, double y, double weight) {
    svg_ += fmt::format(
        "<path class=\"edge {}\" d=\"M{:.1f} {:.1f}h34\" stroke-width=\"{:.2f}\"/>\n"
        "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\">{:.3g}</text>\n",
        is_negative(weight) ? "minus" : "plus", x, y, stroke(weight), x + 42, y + 4, weight);
  }

  // The lightest and heaviest edge of each sign.
  void draw_legend(double y) {
    if (marks_.empty()) return;
    double x = 24;
    std::vector<double> of_sign[2];  // not negative, negative; the lightest first
    for (const auto& mark : marks_) of_sign[is_negative(mark.weight())].push_back(mark.weight());
    for (const auto& weights : {of_sign[1], of_sign[0]}) {
      if (weights.empty()) continue;
      const double low = weights.front(), high = weights.back();
      draw_sample(x, y, high);
      x += 98;
      if (std::abs(high - low) <= 1e-3 * heaviest_) continue;
      draw_sample(x, y, low);
      x += 98;
    }
    svg_ += fmt::format(
        "<text class=\"soft\" x=\"24\" y=\"{:.1f}\">{}{}{}</text>\n", y + 24,
        uniform_ ? "edge weights: all are equal" : "edge weights: the wider, the larger",
        of_sign[1].empty() ? "" : "; dashed: negative", left_out());
  }

  std::string left_out() const {
    const std::size_t n = graph_.nodes(), m = marks_.size();
    if (n <= kMaxNodes && m <= kMaxEdges) return {};
    return fmt::format("; drawn: {} of {} agents, {} of {} edges", std::min(n, kMaxNodes), n,
                       std::min(m, kMaxEdges), m);
  }

  const Graph& graph_;
  const Mixing& mixing_;
  NodeLayout layout_;
  std::vector<EdgeMark> marks_;
  std::vector<NodePlace> labels_;  // those drawn so far
  double width_ = 0, shift_x_ = 0, heaviest_ = 0;
  bool uniform_ = false;
  std::string svg_;
};

}  // namespace

std::string graph_svg(const Graph& graph, const Mixing& mixing) {
  return Picture(graph, mixing).draw();
}

}  // namespace porter
