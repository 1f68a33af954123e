// SPDX-License-Identifier: Apache-2.0
// Before a run: what to choose. After it: whether the promise holds.
#include "plan/plan.hpp"
#include "audit/audit.hpp"
#include "bindings.hpp"

namespace porter::python {
namespace {

py::dict to_dict(const PlanCell& cell) {
  py::dict out;
  out["batch"] = cell.batch;
  out["rounds"] = cell.rounds;
  out["sigma"] = cell.sigma;
  out["noise_to_signal"] = cell.noise_to_signal;
  out["floor"] = cell.floor;
  out["bytes"] = cell.bytes;
  return out;
}

py::dict plan(std::size_t m, std::size_t agents, std::size_t dim, double alpha, double rho,
              double epsilon, double delta, double clip, const std::string& sampler,
              const std::string& adjacency, std::optional<std::size_t> batch,
              std::optional<std::uint64_t> rounds) {
  const PlanRequest request{.records = m,
                            .agents = agents,
                            .dim = dim,
                            .alpha = alpha,
                            .rho = rho,
                            .epsilon = epsilon,
                            .delta = delta,
                            .clip = clip,
                            .sampler = parse_choice<Sampler>(sampler),
                            .adjacency = parse_choice<Adjacency>(adjacency),
                            .bytes_per_vector = {},
                            .batch = batch,
                            .rounds = rounds};
  const auto made = [&] {
    const py::gil_scoped_release released;
    return make_plan(request);
  }();
  py::list cells;
  for (const auto& cell : made.cells) cells.append(to_dict(cell));
  py::dict out;
  out["recommended"] = to_dict(made.recommended);
  out["cells"] = cells;
  out["gossip_rounds"] = made.gossip_rounds;
  out["hopeless"] = made.hopeless;
  out["notes"] = made.notes;
  return out;
}

py::dict to_dict(const AuditRung& rung) {
  py::list checks;
  for (const auto& check : rung.checks)
    checks.append(py::dict(py::arg("name") = check.name, py::arg("measured") = check.measured,
                           py::arg("limit") = check.limit, py::arg("caught") = check.caught,
                           py::arg("note") = check.note));
  return py::dict(py::arg("rung") = rung.rung, py::arg("title") = rung.title,
                  py::arg("checks") = checks, py::arg("caught") = rung.caught());
}

// The mechanism alone: rungs 1 to 3 and 5 of porter privacy audit.
py::dict audit(const std::string& sampler, const std::string& adjacency, std::size_t m,
               std::size_t batch, const std::string& clip, double sigma, std::uint32_t rounds,
               double delta, std::optional<double> claim, std::size_t runs, std::uint64_t seed) {
  const AuditSetting setting{.sampler = {parse_choice<Sampler>(sampler), m, batch},
                             .adjacency = parse_choice<Adjacency>(adjacency),
                             .clip = parse_clip(clip),
                             .sigma = sigma,
                             .rounds = rounds,
                             .delta = delta,
                             .secure = true,
                             .claim = claim,
                             .seed = seed};
  std::vector<AuditRung> rungs;
  EpsilonInterval certified;
  {
    const py::gil_scoped_release released;
    check_setting(setting);
    certified = certified_epsilon(setting);
    const BareSubject bare(setting);
    ThreadPool pool;
    const auto quiet = [](double) {};
    const auto trials = std::clamp<std::size_t>(50'000 / batch, 32, 1000);
    rungs.push_back(audit_replay(setting, bare.subject(), trials, quiet));
    rungs.push_back(audit_noise(setting, bare.subject(), pool, quiet));
    rungs.push_back(audit_mechanism(setting, runs, pool, quiet));
    rungs.push_back(audit_loader(setting, quiet));
  }
  py::list found;
  for (const auto& rung : rungs) found.append(to_dict(rung));
  py::dict out;
  out["verdict"] = audit_verdict(setting, rungs);
  out["caught"] = std::ranges::any_of(rungs, [](const auto& rung) { return rung.caught(); });
  out["epsilon"] = py::make_tuple(certified.lower, certified.upper);
  out["rungs"] = found;
  return out;
}

}  // namespace

void bind_plan(py::module_& module) {
  module.def("plan", &plan, py::kw_only(), py::arg("m"), py::arg("agents"), py::arg("dim"),
             py::arg("alpha"), py::arg("rho"), py::arg("epsilon"), py::arg("delta"),
             py::arg("clip"), py::arg("sampler"), py::arg("adjacency"), py::arg("batch"),
             py::arg("rounds"));
  module.def("audit", &audit, py::kw_only(), py::arg("sampler"), py::arg("adjacency"), py::arg("m"),
             py::arg("batch"), py::arg("clip"), py::arg("sigma"), py::arg("rounds"),
             py::arg("delta"), py::arg("claim"), py::arg("runs"), py::arg("seed"));
}

}  // namespace porter::python
