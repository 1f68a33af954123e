// SPDX-License-Identifier: Apache-2.0
// The accountant, and what belongs to it: porterdp.privacy.
#include "bindings.hpp"
#include "porter/privacy/accountant.hpp"

namespace porter::python {
namespace {

using Events = std::vector<PrivacyEvent>;

PrivacyEvent make_event(const std::string& sampler, const std::string& adjacency,
                        const std::string& level, std::size_t records, std::size_t batch,
                        std::optional<double> rate, double noise_multiplier, std::uint64_t steps) {
  return {.sampler = parse_choice<Sampler>(sampler),
          .adjacency = parse_choice<Adjacency>(adjacency),
          .level = parse_choice<PrivacyLevel>(level),
          .records = records,
          .batch = batch,
          .rate = rate,
          .noise_multiplier = noise_multiplier,
          .steps = steps};
}

py::tuple to_tuple(const EpsilonInterval& interval) {
  return py::make_tuple(interval.lower, interval.upper, interval.method);
}

// Long computations let other threads of Python go on.
template <class Work>
auto without_gil(const Work& work) {
  const py::gil_scoped_release released;
  return work();
}

}  // namespace

void bind_privacy(py::module_& module) {
  py::class_<PrivacyEvent>(module, "Event")
      .def(py::init(&make_event), py::kw_only(), py::arg("sampler"), py::arg("adjacency"),
           py::arg("level"), py::arg("records"), py::arg("batch"), py::arg("rate"),
           py::arg("noise_multiplier"), py::arg("steps"));
  module.def("epsilon", [](const Events& events, double delta) {
    return to_tuple(without_gil([&] { return privacy::epsilon(events, delta); }));
  });
  module.def("delta", [](const Events& events, double epsilon) {
    return without_gil([&] { return privacy::delta(events, epsilon); });
  });
  module.def("renyi_epsilon", [](const Events& events, double delta) {
    return without_gil([&] { return renyi_epsilon(events, delta); });
  });
  module.def("calibrate", [](const PrivacyEvent& event, double target, double delta,
                             const Events& before) {
    return without_gil([&] { return calibrate_noise_multiplier(event, target, delta, before); });
  });
  module.def("curve", [](const PrivacyEvent& event, double delta, const Events& before,
                         const std::vector<std::uint64_t>& steps) {
    return without_gil([&] {
      const EpsilonCurve curve(event, delta, before);
      std::vector<double> upper;
      for (const auto count : steps) upper.push_back(curve.upper(count));
      return upper;
    });
  });
}

}  // namespace porter::python
