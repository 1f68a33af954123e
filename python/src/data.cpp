// SPDX-License-Identifier: Apache-2.0
// Configs, and data that a script has.
#include <cmath>

#include "bindings.hpp"
#include "callback_model.hpp"
#include "porter/core/error.hpp"
#include "train/run_data.hpp"

namespace porter::python {
namespace {

using Names = std::vector<std::string>;

bool is_finite(float value) { return std::isfinite(value); }

bool is_label(float label, const Names& classes) {
  if (classes.empty()) return is_finite(label);
  return label >= 0 && label < static_cast<float>(classes.size());
}

// A record that does not fit is an error; with a guarantee to keep, it stays in its place and
// counts for nothing, as nobody may see that it does not fit.
void make_void(Dataset& data, std::size_t row, bool guarantee) {
  const auto labels = std::span(data.labels).subspan(row * data.outputs, data.outputs);
  require(guarantee, ErrorKind::usage, "row ", row,
          std::ranges::all_of(labels, [&](float label) { return is_label(label, data.classes); })
              ? ": expected finite numbers in X"
              : ": its label is none of the classes, or no number");
  data.voids.resize(data.rows(), 0);
  data.voids[row] = 1;
  std::ranges::fill(labels, 0.0F);
}

// Keeps an array as long as its rows are read, which may end on any thread.
std::shared_ptr<const void> keeper_of(const Floats& array) {
  const auto let_go = [](PyObject* object) {
    if (!Py_IsInitialized()) return;
    const py::gil_scoped_acquire acquired;
    Py_DECREF(object);
  };
  return {Floats(array).release().ptr(), let_go};
}

bool has_finite_values(const Sample& row) { return std::ranges::all_of(row.values, is_finite); }

// Rows of X, read where they lie, with their labels: class numbers where there are classes, else
// targets.
Dataset to_dataset(const Floats& X, const Floats& y, const Names& classes, bool guarantee) {
  require(X.ndim() == 2 && X.shape(0) > 0 && X.shape(1) > 0, ErrorKind::usage,
          "X: expected rows x features, found ", X.ndim(), " dimensions or none of them");
  require((y.ndim() == 1 || y.ndim() == 2) && y.shape(0) == X.shape(0), ErrorKind::usage,
          "y: expected ", X.shape(0), " labels, one for each row of X, found ",
          y.ndim() > 0 ? y.shape(0) : 1);
  Dataset data;
  data.features = static_cast<std::size_t>(X.shape(1));
  data.outputs = y.ndim() == 2 ? static_cast<std::size_t>(y.shape(1)) : 1;
  data.classes = classes;
  data.labels.assign(y.data(), y.data() + y.size());
  data.keepers = {keeper_of(X)};
  for (std::size_t row = 0; row < data.rows(); ++row)
    data.lent_rows.push_back(X.data() + row * data.features);
  for (std::size_t row = 0; row < data.rows(); ++row) {
    if (has_finite_values(data[row]) && std::ranges::all_of(data.targets(row), [&](float label) {
          return is_label(label, classes);
        }))
      continue;
    make_void(data, row, guarantee);
    own_rows(data);
    std::ranges::fill(std::span(data.values).subspan(row * data.features, data.features), 0.0F);
  }
  return data;
}

using Pair = std::pair<Floats, Floats>;

// Dealt to all agents, or the rows of one; no row is copied for it.
RunData shared_out(DataPair pair, const Config& config, bool deal) {
  pair.train = lend_rows(std::move(pair.train));
  if (deal) return deal_data(std::move(pair), config);
  return {.train = std::make_shared<const Dataset>(std::move(pair.train)),
          .test = nullptr,
          .source = std::move(pair.source),
          .scaling = pair.scaling};
}

std::shared_ptr<RunData> arrays(const Config& config, const Floats& X, const Floats& y,
                                const Names& classes, const std::optional<Pair>& test, bool deal) {
  auto options = data_options(config);
  if (!deal) options.agents = 1;
  DataPair pair;
  pair.train = to_dataset(X, y, classes, options.guarantee);
  if (test) pair.test = to_dataset(test->first, test->second, classes, options.guarantee);
  pair.source = concat("arrays, ", pair.train.rows(), " rows");
  const py::gil_scoped_release released;
  return std::make_shared<RunData>(
      shared_out(prepare_data(options, std::move(pair)), config, deal));
}

std::shared_ptr<RunData> agents_arrays(const Config& config, const std::vector<Pair>& agents,
                                       const Names& classes, const std::optional<Pair>& test) {
  const auto options = data_options(config);
  require(!options.measures_scale(), ErrorKind::usage,
          "data.scale: each agent has its own rows; expected none, unit, or standard with "
          "data.moments");
  const auto moments = options.moments.value_or(FeatureMoments{});
  const FeatureScaling scaling{.kind = options.scale,
                               .mean = moments.mean,
                               .deviation = moments.deviation,
                               .bias = options.bias,
                               .transform = transform_of(options)};
  const auto made = [&](const Pair& rows) {
    auto data = to_dataset(rows.first, rows.second, classes, options.guarantee);
    scaling.apply(data);
    return lend_rows(std::move(data));
  };
  std::vector<Dataset> all;
  for (const auto& rows : agents) all.push_back(made(rows));
  std::shared_ptr<const Dataset> test_data;
  if (test) test_data = std::make_shared<const Dataset>(made(*test));
  auto data = join_agents(all, test_data);
  data.source = concat("arrays of ", all.size(), " agents, ", all.front().rows(), " rows each");
  data.scaling = scaling;
  return std::make_shared<RunData>(std::move(data));
}

// Rows that only a callback model can read: the features are a row's number.
Dataset numbered_rows(std::size_t first, std::size_t count, const std::optional<Floats>& labels,
                      const Names& classes, bool guarantee) {
  require(!labels || static_cast<std::size_t>(labels->size()) == count, ErrorKind::usage,
          "y: expected ", count, " labels, found ", labels ? labels->size() : 0);
  Dataset data;
  data.features = 2;
  data.classes = classes;
  for (std::size_t i = first; i < first + count; ++i) {
    const auto [high, low] = encoded_row(i);
    data.values.push_back(high);
    data.values.push_back(low);
  }
  data.labels = labels ? std::vector<float>(labels->data(), labels->data() + count)
                       : std::vector<float>(count, 0);
  for (std::size_t i = 0; i < count && labels; ++i)
    if (!is_label(data.labels[i], classes)) make_void(data, i, guarantee);
  return data;
}

std::shared_ptr<RunData> numbered(const Config& config, std::size_t rows, std::size_t test_rows,
                                  const std::optional<Floats>& labels,
                                  const std::optional<Floats>& test_labels, const Names& classes,
                                  bool deal) {
  auto options = data_options(config);
  options.transform = TransformKind::none;
  options.scale = FeatureScale::none;
  options.moments.reset();
  options.bias = false;
  options.outliers = "none";
  DataPair pair;
  pair.train = numbered_rows(0, rows, labels, classes, options.guarantee);
  if (test_rows > 0)
    pair.test = numbered_rows(rows, test_rows, test_labels, classes, options.guarantee);
  pair.source = concat("the caller's, ", rows, " records");
  return std::make_shared<RunData>(
      shared_out(prepare_data(options, std::move(pair)), config, deal));
}

}  // namespace

void bind_data(py::module_& module) {
  py::class_<Config>(module, "Config")
      .def("to_toml", [](const Config& config) { return to_toml(config); })
      .def_property_readonly("id", [](const Config& config) { return run_id(config); })
      .def_property_readonly("agents", [](const Config& config) { return config.network.agents; })
      .def_property_readonly("rounds", [](const Config& config) { return config.algorithm.rounds; })
      .def_property_readonly("algorithm",
                             [](const Config& config) { return config.algorithm.name; })
      .def_property_readonly("guarantee",
                             [](const Config& config) { return claims_guarantee(config); })
      .def_property_readonly("regression",
                             [](const Config& config) { return is_regression(config.model); })
      .def_property_readonly("classes", [](const Config& config) { return config.data.classes; });
  module.def("parse_config", [](const std::string& text, const std::string& source,
                                const std::vector<std::string>& overrides) {
    return parse_config(text, source, overrides);
  });
  module.def("load_config",
             [](const std::filesystem::path& path, const std::vector<std::string>& overrides) {
               return load_config(path, overrides);
             });
  module.def("config_keys", [] {
    std::vector<std::tuple<std::string, std::string, std::string, std::string, std::string>> all;
    for (const auto& key : config_help())
      all.emplace_back(key.section, key.name, key.type, key.standard, key.help);
    return all;
  });
  py::class_<RunData, std::shared_ptr<RunData>>(module, "RunData")
      .def_property_readonly("rows", [](const RunData& data) { return data.train->rows(); });
  module.def("arrays", &arrays, py::arg("config"), py::arg("X"), py::arg("y"), py::arg("classes"),
             py::arg("test") = py::none(), py::arg("deal") = true);
  module.def("agents_arrays", &agents_arrays, py::arg("config"), py::arg("agents"),
             py::arg("classes"), py::arg("test") = py::none());
  module.def("numbered", &numbered, py::arg("config"), py::arg("rows"), py::arg("test_rows"),
             py::arg("labels"), py::arg("test_labels"), py::arg("classes"), py::arg("deal") = true);
}

}  // namespace porter::python
