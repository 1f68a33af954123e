// SPDX-License-Identifier: Apache-2.0
// The parts of the module _core, and what they share. Python around it (porterdp/*.py) is what
// people call.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <span>
#include <vector>

namespace porter::python {

namespace py = pybind11;

void bind_errors(py::module_& module);
void bind_privacy(py::module_& module);
void bind_plan(py::module_& module);
void bind_graph(py::module_& module);
void bind_compress(py::module_& module);
void bind_data(py::module_& module);
void bind_model(py::module_& module);
void bind_simulation(py::module_& module);
void bind_folders(py::module_& module);
void bind_agent(py::module_& module);

/// Numbers as they lie in memory, converted where they are of another type.
using Doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;
using Indices = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

inline py::array_t<double> to_array(std::span<const double> values) {
  return py::array_t<double>(static_cast<py::ssize_t>(values.size()), values.data());
}

inline std::vector<double> to_vector(const Doubles& array) {
  return {array.data(), array.data() + array.size()};
}

}  // namespace porter::python
