// SPDX-License-Identifier: Apache-2.0
#include "bindings.hpp"
#include "porter/core/error.hpp"
#include "porter/graph/mixing.hpp"

namespace porter::python {
namespace {

py::array_t<double> dense(const MixingMatrix& weights) {
  const auto n = static_cast<py::ssize_t>(weights.nodes());
  return to_array(weights.dense()).reshape({n, n});
}

py::dict facts(const Mixing& mixing) {
  py::dict out;
  out["W"] = dense(mixing.weights);
  out["alpha"] = mixing.alpha;
  out["alpha_error"] = mixing.alpha_error;
  out["method"] = mixing.alpha_method;
  out["alpha_lower_bound"] = mixing.alpha_lower_bound;
  return out;
}

}  // namespace

void bind_graph(py::module_& module) {
  py::class_<Graph>(module, "Graph")
      .def(py::init([](std::size_t nodes, std::vector<Graph::Edge> edges) {
        for (auto& [a, b] : edges)
          if (a > b) std::swap(a, b);
        return Graph(nodes, std::move(edges));
      }))
      .def("__repr__",
           [](const Graph& graph) {
             return concat("<Graph, ", graph.nodes(), " nodes, ", graph.edges().size(), " edges>");
           })
      .def_property_readonly("nodes", &Graph::nodes)
      .def_property_readonly("edges", &Graph::edges)
      .def("neighbours", [](const Graph& graph, std::size_t node) {
        require(node < graph.nodes(), ErrorKind::usage, "expected a node below ", graph.nodes(),
                ", found ", node);
        return graph.neighbours(node);
      });
  module.def("make_graph", [](const std::string& spec, std::size_t nodes, std::uint64_t seed) {
    return make_graph(spec, nodes, seed);
  });
  module.def("make_mixing", [](const std::string& rule, const Graph& graph) {
    return facts([&] {
      const py::gil_scoped_release released;
      return make_mixing(rule, graph);
    }());
  });
}

}  // namespace porter::python
