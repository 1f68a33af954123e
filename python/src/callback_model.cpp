// SPDX-License-Identifier: Apache-2.0
#include "callback_model.hpp"

#include <algorithm>
#include <cmath>

#include "core/vector_math.hpp"
#include "porter/core/error.hpp"

namespace porter::python {
namespace {

std::string shape_text(const py::array& array) {
  std::string text;
  for (py::ssize_t i = 0; i < array.ndim(); ++i)
    text += concat(i == 0 ? "(" : ", ", array.shape(i));
  return text + (array.ndim() == 0 ? "()" : ")");
}

// What a callback returned, as numbers of one kind and without gaps.
template <class Real>
std::optional<py::array_t<Real>> as(const py::array& array) {
  if (!py::isinstance<py::array_t<Real>>(array)) return std::nullopt;
  return py::array_t<Real, py::array::c_style | py::array::forcecast>(array);
}

void require_shape(const py::array& array, const std::vector<std::size_t>& shape) {
  bool fits = static_cast<std::size_t>(array.ndim()) == shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i)
    fits = static_cast<std::size_t>(array.shape(static_cast<py::ssize_t>(i))) == shape[i];
  std::string expected;
  for (const auto extent : shape) expected += concat(expected.empty() ? "(" : ", ", extent);
  require(fits, ErrorKind::usage, "gradients: expected an array of shape ", expected,
          "), agents x records x parameters, found ", shape_text(array));
}

// A record of an agent's batch.
struct Place {
  const AgentBatch& agent;
  std::size_t index;  // in the batch
};

template <class Real>
void add_clipped(std::span<const Real> gradient, const Place& place, bool guarantee) {
  const double norm = std::sqrt(squared_norm(gradient));
  const bool finite = std::isfinite(norm);
  require(finite || guarantee, ErrorKind::usage,
          "gradients: expected finite numbers, found some that are not, of the record in row ",
          place.agent.batch.first_row + place.agent.batch.rows[place.index],
          " of the rows as they are dealt");
  // With a guarantee nobody may see that one record has no gradient.
  const double factor = finite ? place.agent.batch.factor_of(place.index, norm) : 0;
  if (factor != 0) axpy(factor, gradient, place.agent.sum);
}

}  // namespace

CallbackModel::CallbackModel(py::object adapter, std::size_t dim, bool has_loss, bool predicts,
                             bool guarantee, std::size_t memory)
    : adapter_(std::move(adapter)),
      dim_(dim),
      has_loss_(has_loss),
      predicts_(predicts),
      guarantee_(guarantee),
      memory_(memory) {}

CallbackModel::~CallbackModel() {
  const py::gil_scoped_acquire acquired;
  adapter_ = py::object();
}

void CallbackModel::gradient_sums(std::span<const AgentBatch> agents) const {
  std::size_t longest = 0;
  for (const auto& agent : agents) {
    std::ranges::fill(agent.sum, 0.0);
    longest = std::max(longest, agent.batch.rows.size());
  }
  if (longest == 0) return;  // a Poisson batch may be empty
  const std::lock_guard alone(alone_);
  const py::gil_scoped_acquire acquired;
  const std::size_t n = agents.size();
  py::array_t<double> X({n, dim_});
  for (std::size_t i = 0; i < n; ++i) std::ranges::copy(agents[i].x, X.mutable_data() + i * dim_);
  const auto callback = adapter_.attr("gradients");
  const std::size_t chunk = std::clamp<std::size_t>(memory_ / (4 * n * dim_), 1, longest);
  for (std::size_t first = 0; first < longest; first += chunk) {
    const std::size_t size = std::min(chunk, longest - first);
    py::array_t<std::int64_t> rows({n, size});
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < size; ++j) {
        // Batches of one round may differ in length: what fills up the shorter is not looked at.
        const auto& batch = agents[i].batch;
        const auto row = first + j < batch.rows.size() ? batch.rows[first + j] : 0;
        rows.mutable_at(i, j) = decoded_row(batch.data[batch.first_row + row]);
      }
    const py::array found = py::array::ensure(callback(X, rows));
    require(bool(found), ErrorKind::usage, "gradients: expected an array");
    require_shape(found, {n, size, dim_});
    const auto add = [&](const auto& array) {
      using Real = std::remove_const_t<std::remove_pointer_t<decltype(array.data())>>;
      const std::span<const Real> all(array.data(), n * size * dim_);
      const py::gil_scoped_release released;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < size && first + j < agents[i].batch.rows.size(); ++j)
          add_clipped(all.subspan((i * size + j) * dim_, dim_), {agents[i], first + j}, guarantee_);
    };
    if (const auto floats = as<float>(found))
      add(*floats);
    else if (const auto doubles = as<double>(found))
      add(*doubles);
    else
      fail(ErrorKind::usage, "gradients: expected float32 or float64, found ",
           std::string(py::str(found.dtype())));
  }
}

Model::Totals CallbackModel::evaluate(std::span<const double> x, const Dataset& data,
                                      std::size_t first, std::size_t last,
                                      std::span<double> gradient_sum) const {
  Totals totals;
  if (first == last) return totals;
  const std::lock_guard alone(alone_);
  const py::gil_scoped_acquire acquired;
  py::array_t<std::int64_t> rows(static_cast<py::ssize_t>(last - first));
  for (std::size_t row = first; row < last; ++row)
    rows.mutable_at(static_cast<py::ssize_t>(row - first)) = decoded_row(data[row]);
  const py::tuple found = adapter_.attr("totals")(to_array(x), rows, !gradient_sum.empty());
  totals.loss = found[0].cast<double>();
  totals.correct = found[1].cast<double>();
  totals.squared_error = found[2].cast<double>();
  if (!gradient_sum.empty()) {
    const auto gradient = found[3].cast<Doubles>();
    require(static_cast<std::size_t>(gradient.size()) == dim_, ErrorKind::usage,
            "gradient: expected ", dim_, " numbers, found ", gradient.size());
    axpy(1.0, {gradient.data(), dim_}, gradient_sum);
  }
  return totals;
}

double CallbackModel::loss(std::span<const double>, const Sample&, std::span<double>) const {
  fail(ErrorKind::usage,
       "algorithm.name: this method takes gradients at several points, sample by "
       "sample, which a model in Python does not have");
}

double CallbackModel::predict(std::span<const double>, const Sample&) const {
  fail(ErrorKind::usage, "a model in Python predicts in Python");
}

void bind_model(py::module_& module) {
  py::class_<CallbackModel, std::shared_ptr<CallbackModel>>(module, "CallbackModel")
      .def(py::init<py::object, std::size_t, bool, bool, bool, std::size_t>(), py::arg("adapter"),
           py::arg("dim"), py::arg("has_loss"), py::arg("predicts"), py::arg("guarantee"),
           py::arg("memory"));
}

}  // namespace porter::python
