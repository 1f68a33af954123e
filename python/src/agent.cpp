// SPDX-License-Identifier: Apache-2.0
// An organisation's agent with what its script has: porterdp.Agent.
#include "porter/agent/agent.hpp"

#include <chrono>

#include "bindings.hpp"
#include "callback_model.hpp"

namespace porter::python {
namespace {

using Clock = std::chrono::steady_clock;

std::string run(const AgentOptions& options, const std::filesystem::path& folder,
                const std::shared_ptr<RunData>& data, const std::shared_ptr<CallbackModel>& model,
                const std::optional<Doubles>& start, const py::object& log) {
  Sources sources;
  if (data) sources.data = *data;
  sources.model = model;
  if (start) sources.start = to_vector(*start);
  std::exception_ptr raised;
  auto next = Clock::now();
  AgentHooks hooks;
  const auto guarded = [&](const auto& work) {
    const py::gil_scoped_acquire acquired;
    try {
      work();
    } catch (const py::error_already_set&) {
      if (!raised) raised = std::current_exception();
    }
  };
  hooks.log = [&](const std::string& text) {
    if (!log.is_none()) guarded([&] { log(text); });
  };
  hooks.stop_requested = [&] {
    if (raised) return true;
    if (Clock::now() < next) return false;
    next = Clock::now() + std::chrono::milliseconds(100);
    guarded([] {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    });
    return bool(raised);
  };
  TrainStatus status;
  {
    const py::gil_scoped_release released;
    status = run_agent(options, folder, hooks, std::move(sources));
  }
  if (raised) std::rethrow_exception(raised);
  return status == TrainStatus::finished ? "finished" : "interrupted";
}

}  // namespace

void bind_agent(py::module_& module) {
  py::class_<AgentOptions>(module, "AgentOptions")
      .def_property_readonly("config", [](const AgentOptions& options) { return options.config; })
      .def_property_readonly("name", [](const AgentOptions& options) { return options.name; })
      .def_property_readonly("index", [](const AgentOptions& options) { return options.index; });
  module.def("load_agent_options",
             [](const std::filesystem::path& path, const std::vector<std::string>& overrides,
                bool insecure_test_noise) {
               return load_agent_options(path, overrides, insecure_test_noise);
             });
  module.def("run_agent", &run, py::arg("options"), py::arg("folder"), py::arg("data"),
             py::arg("model"), py::arg("start"), py::arg("log"));
}

}  // namespace porter::python
