// SPDX-License-Identifier: Apache-2.0
#include "bindings.hpp"
#include "porter/version.hpp"

PYBIND11_MODULE(_core, module) {
  using namespace porter::python;
  module.doc() = "The compiled part of porterdp; call what porterdp has.";
  module.attr("version") = porter::kVersion;
  bind_errors(module);
  bind_privacy(module);
  bind_plan(module);
  bind_graph(module);
  bind_compress(module);
  bind_data(module);
  bind_model(module);
  bind_simulation(module);
  bind_folders(module);
  bind_agent(module);
}
