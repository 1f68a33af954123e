// SPDX-License-Identifier: Apache-2.0
// What runs leave behind: models, reports, comparisons; and sweeps, which are folders, too.
#include "bindings.hpp"
#include "data/schema_rows.hpp"
#include "grid/find_runs.hpp"
#include "grid/sweep_report.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/model/saved_model.hpp"
#include "report/page.hpp"
#include "report/table.hpp"

namespace porter::python {
namespace {

// Rows of features as they were before they were scaled.
Dataset rows_of(const ModelCard& card, const Floats& X) {
  const auto features = card.given_features();
  require(!card.schema, ErrorKind::usage,
          "this model has a schema, so it predicts for tables with its columns");
  require(X.ndim() == 2 && static_cast<std::size_t>(X.shape(1)) == features, ErrorKind::usage,
          "X: expected rows of ", features, " features");
  Dataset rows;
  rows.features = features;
  rows.values.assign(X.data(), X.data() + X.size());
  rows.labels.assign(static_cast<std::size_t>(X.shape(0)), 0);
  return rows;
}

Dataset rows_of(const ModelCard& card, const std::string& csv) {
  require(card.schema != nullptr, ErrorKind::usage,
          "this model has no schema; expected an array of numbers");
  TextInput input(csv, "the table");
  SchemaRows table(input, *card.schema, {.label = false});
  Dataset rows;
  rows.features = table.encoder().features();
  while (table.next()) {
    table.add_to(rows);
    rows.labels.push_back(0);
  }
  return rows;
}

// Class numbers, or targets in the units of the table: rows x 1, or rows x targets.
template <class Rows>
py::array_t<double> predict(const SavedModel& saved, const std::string& which, const Rows& given) {
  const auto& card = saved.card;
  auto rows = rows_of(card, given);
  card.scaling.apply(rows);
  const auto model = card.make();
  const auto x = saved.parameters(which);
  const std::size_t outputs = card.classes.empty() ? card.outputs : 1;
  py::array_t<double> out({rows.rows(), outputs});
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const std::span row(out.mutable_data() + i * outputs, outputs);
    if (!card.classes.empty()) {
      row[0] = model->predict(x, rows[i]);
      continue;
    }
    model->predict_targets(x, rows[i], row);
    for (std::size_t o = 0; o < outputs && card.schema; ++o)
      row[o] = card.schema->labels[o].unscaled(row[o]);
  }
  return out;
}

template <class Rows>
py::array_t<double> probabilities(const SavedModel& saved, const std::string& which,
                                  const Rows& given) {
  const auto& card = saved.card;
  require(!card.classes.empty(), ErrorKind::usage,
          "this model predicts numbers, which have no probabilities");
  auto rows = rows_of(card, given);
  card.scaling.apply(rows);
  const auto model = card.make();
  const auto x = saved.parameters(which);
  py::array_t<double> out({rows.rows(), card.classes.size()});
  for (std::size_t i = 0; i < rows.rows(); ++i)
    model->probabilities(x, rows[i],
                         {out.mutable_data() + i * card.classes.size(), card.classes.size()});
  return out;
}

std::vector<std::tuple<std::string, std::vector<std::size_t>, std::size_t>> blocks(
    const SavedModel& saved) {
  std::vector<std::tuple<std::string, std::vector<std::size_t>, std::size_t>> out;
  for (const auto& block :
       parameter_blocks(saved.card.model, saved.card.features, saved.card.scores()))
    out.emplace_back(block.name, block.shape, block.offset);
  return out;
}

using Folders = std::vector<std::filesystem::path>;

std::vector<RunGroup> groups_of(FoundRuns& found, bool each_seed) {
  return each_seed ? each_alone(std::move(found.traces)) : group_by_seed(std::move(found.traces));
}

std::string report(const Folders& folders, const std::string& title, bool each_seed) {
  auto found = find_runs(folders);
  const auto groups = groups_of(found, each_seed);
  return html_report({.title = title, .sources = source_lines(found, false)}, groups,
                     found.under_way);
}

py::dict compare(const Folders& folders, bool each_seed) {
  auto found = find_runs(folders);
  const auto groups = groups_of(found, each_seed);
  const auto table = compare_runs(groups);
  py::dict out;
  out["json"] = table.to_json();
  out["html"] = table.to_html();
  out["text"] = comparison_text(groups, false);
  return out;
}

py::dict sweep(const std::filesystem::path& config, const std::vector<std::string>& overrides,
               const KeyTexts& vary, std::optional<std::uint32_t> random,
               std::optional<std::uint32_t> seeds, std::optional<std::uint32_t> folds,
               std::optional<std::string> metric, const std::filesystem::path& out,
               std::size_t jobs) {
  const auto plan = load_sweep(config, overrides,
                               {.vary = vary,
                                .random = random,
                                .seeds = seeds,
                                .folds = folds,
                                .metric = std::move(metric)});
  std::exception_ptr raised;
  std::optional<SweepResult> result;
  {
    const py::gil_scoped_release released;
    GridHooks hooks;
    hooks.jobs = jobs;
    // Signals reach the first thread of Python, which is this one, between runs.
    hooks.after_run = [&](const GridRun&) {
      const py::gil_scoped_acquire acquired;
      if (!raised && PyErr_CheckSignals() != 0)
        raised = std::make_exception_ptr(py::error_already_set());
    };
    hooks.stop_requested = [&] { return bool(raised); };
    result = run_sweep(
        plan, out, std::filesystem::exists(out) ? ExistingRun::resume : ExistingRun::refuse, hooks);
  }
  if (raised) std::rethrow_exception(raised);
  require(result.has_value(), ErrorKind::usage, "the sweep was stopped");
  write_file(out / "report.html", sweep_page(plan, *result, "porterdp.sweep", out.string()));
  py::dict answer;
  answer["summary"] = sweep_summary_json(plan, *result);
  answer["html"] = sweep_table(plan, *result).to_html();
  answer["notes"] = sweep_notes(plan, *result);
  return answer;
}

}  // namespace

void bind_folders(py::module_& module) {
  py::class_<SavedModel>(module, "SavedModel")
      .def_property_readonly("card", [](const SavedModel& saved) { return card_json(saved.card); })
      .def_property_readonly("classes", [](const SavedModel& saved) { return saved.card.classes; })
      .def_property_readonly("has_schema",
                             [](const SavedModel& saved) { return saved.card.schema != nullptr; })
      .def_property_readonly("table_format",
                             [](const SavedModel& saved) {
                               const auto& format = saved.card.schema->format;
                               return py::make_tuple(std::string(1, format.separator),
                                                     format.decimal_comma ? "," : ".");
                             })
      .def("parameters", [](const SavedModel& saved,
                            const std::string& which) { return to_array(saved.parameters(which)); })
      .def("blocks", &blocks)
      .def("predict", &predict<Floats>)
      .def("predict_table", &predict<std::string>)
      .def("probabilities", &probabilities<Floats>)
      .def("probabilities_table", &probabilities<std::string>);
  module.def("load_model", [](const std::filesystem::path& path) { return load_model(path); });
  module.def("report", &report, py::arg("folders"), py::arg("title"), py::arg("each_seed"));
  module.def("compare", &compare, py::arg("folders"), py::arg("each_seed"));
  module.def("sweep", &sweep, py::kw_only(), py::arg("config"), py::arg("overrides"),
             py::arg("vary"), py::arg("random"), py::arg("seeds"), py::arg("folds"),
             py::arg("metric"), py::arg("out"), py::arg("jobs"));
}

}  // namespace porter::python
