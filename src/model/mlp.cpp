// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "blocks.hpp"
#include "porter/core/error.hpp"
#include "porter/core/matmul.hpp"
#include "porter/core/vector_math.hpp"
#include "registry.hpp"
#include "terms.hpp"

namespace porter {
namespace {

// An activation and its derivative as a function of the activation's value.
struct Activation {
  double (*value)(double);
  double (*slope)(double);
};

Activation make_activation(const std::string& name) {
  if (name == "sigmoid")
    return {[](double t) { return 1 / (1 + std::exp(-t)); }, [](double a) { return a * (1 - a); }};
  if (name == "tanh")
    return {[](double t) { return std::tanh(t); }, [](double a) { return 1 - a * a; }};
  require(name == "relu", ErrorKind::usage,
          "model.activation: expected sigmoid, tanh or relu, found \"", name, "\"");
  return {[](double t) { return t > 0 ? t : 0; }, [](double a) { return a > 0 ? 1.0 : 0.0; }};
}

// One dense layer: W (outputs x inputs, row-major) at `weights`, then c (outputs) at `biases`,
// inside x.
struct Layer {
  std::size_t inputs, outputs, weights, biases;
};

// A multi-layer perceptron with softmax cross-entropy (section 5.2 of the paper, any number of
// layers):
//   a_0 = f,  a_l = activation(W_l a_{l-1} + c_l),  scores = W_L a_{L-1} + c_L,  x = vec(W_1, c_1,
//   ..., W_L, c_L).
class Mlp final : public Model {
 public:
  Mlp(const ModelOptions& options, std::size_t features, std::size_t classes)
      : lambda_(options.lambda), activation_(make_activation(options.activation)) {
    std::size_t inputs = features;
    auto widths = options.hidden;
    widths.push_back(classes);
    for (const auto outputs : widths) {
      require(outputs > 0, ErrorKind::usage, "model.hidden: a layer needs at least one unit");
      layers_.push_back({inputs, outputs, dim_, dim_ + inputs * outputs});
      dim_ += (inputs + 1) * outputs;
      inputs = outputs;
    }
  }

  std::size_t dim() const override { return dim_; }

  double loss(std::span<const double> x, const Sample& sample,
              std::span<double> gradient) const override {
    auto a = forward(x, sample);
    auto& delta = a.back();
    const auto label = static_cast<std::size_t>(sample.label);
    const double label_score = delta[label];
    const double data_term = softmax_in_place(delta) - label_score;
    delta[label] -= 1;
    if (!gradient.empty()) backward(x, sample, a, gradient);
    return data_term + regulariser(lambda_, x, gradient);
  }

  double predict(std::span<const double> x, const Sample& sample) const override {
    return static_cast<double>(argmax(forward(x, sample).back()));
  }

  Totals evaluate(std::span<const double> x, const Dataset& data, std::size_t first,
                  std::size_t last, std::span<double> gradient_sum) const override {
    std::vector<std::vector<double>>
        transposed;  // W_l^T, so that products run along contiguous rows
    for (const auto& layer : layers_)
      transposed.push_back(transpose(weights(layer, x), layer.outputs, layer.inputs));
    std::vector<std::vector<double>> a(layers_.size() + 1);
    Totals totals;
    for_each_block(first, last, [&](std::size_t begin, std::size_t rows) {
      dense_block(data, begin, rows, a[0]);
      forward_block(x, transposed, rows, a);
      add_cross_entropy(data, begin, rows, layers_.back().outputs, a.back(), totals);
      if (!gradient_sum.empty()) backward_block(x, rows, a, gradient_sum);
    });
    const auto rows = static_cast<double>(last - first);
    totals.loss += rows * regulariser(lambda_, x, gradient_sum, rows);
    return totals;
  }

 private:
  template <class T>
  static std::span<T> weights(const Layer& layer, std::span<T> x) {
    return x.subspan(layer.weights, layer.inputs * layer.outputs);
  }
  template <class T>
  static std::span<T> biases(const Layer& layer, std::span<T> x) {
    return x.subspan(layer.biases, layer.outputs);
  }
  bool is_last(const Layer& layer) const { return &layer == &layers_.back(); }

  // The activations of every layer; the last are the raw scores.
  std::vector<std::vector<double>> forward(std::span<const double> x, const Sample& sample) const {
    std::vector<std::vector<double>> a;
    for (const auto& layer : layers_) {
      const auto W = weights(layer, x);
      const auto c = biases(layer, x);
      std::vector<double> out(layer.outputs);
      for (std::size_t o = 0; o < layer.outputs; ++o) {
        const auto row = W.subspan(o * layer.inputs, layer.inputs);
        const double t = (a.empty() ? inner_product(row, sample) : dot(row, a.back())) + c[o];
        out[o] = is_last(layer) ? t : activation_.value(t);
      }
      a.push_back(std::move(out));
    }
    return a;
  }

  // delta_l = W_{l+1}^T delta_{l+1} * activation'(a_l);  dW_l = delta_l a_{l-1}^T,  dc_l = delta_l.
  void backward(std::span<const double> x, const Sample& sample,
                std::vector<std::vector<double>>& a, std::span<double> gradient) const {
    for (std::size_t l = layers_.size(); l-- > 0;) {
      const auto& layer = layers_[l];
      const auto& delta = a[l];
      const auto dW = weights(layer, gradient);
      std::copy(delta.begin(), delta.end(), biases(layer, gradient).begin());
      std::fill(dW.begin(), dW.end(), 0.0);
      for (std::size_t o = 0; o < layer.outputs; ++o) {
        const auto row = dW.subspan(o * layer.inputs, layer.inputs);
        if (l == 0)
          add_features(delta[o], sample, row);
        else
          axpy(delta[o], a[l - 1], row);
      }
      if (l == 0) break;
      std::vector<double> below(layer.inputs, 0.0);
      const auto W = weights(layer, x);
      for (std::size_t o = 0; o < layer.outputs; ++o)
        axpy(delta[o], W.subspan(o * layer.inputs, layer.inputs), below);
      for (std::size_t i = 0; i < below.size(); ++i) below[i] *= activation_.slope(a[l - 1][i]);
      a[l - 1] = std::move(below);
    }
  }

  // a[0] holds the inputs; fills a[1..L], one row per sample.
  void forward_block(std::span<const double> x, const std::vector<std::vector<double>>& transposed,
                     std::size_t rows, std::vector<std::vector<double>>& a) const {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const auto& layer = layers_[l];
      const auto c = biases(layer, x);
      auto& out = a[l + 1];
      out.clear();
      for (std::size_t r = 0; r < rows; ++r) out.insert(out.end(), c.begin(), c.end());
      multiply_add(rows, layer.outputs, layer.inputs, {a[l].data(), layer.inputs, 1},
                   transposed[l].data(), layer.outputs, out.data(), layer.outputs);
      if (!is_last(layer))
        for (double& value : out) value = activation_.value(value);
    }
  }

  // As backward, with the gradient of the scores in a[L]; overwrites the activations by deltas.
  void backward_block(std::span<const double> x, std::size_t rows,
                      std::vector<std::vector<double>>& a, std::span<double> gradient_sum) const {
    for (std::size_t l = layers_.size(); l-- > 0;) {
      const auto& layer = layers_[l];
      const auto& delta = a[l + 1];
      const auto dc = biases(layer, gradient_sum);
      for (std::size_t r = 0; r < rows; ++r)
        axpy(1.0, std::span(delta).subspan(r * layer.outputs, layer.outputs), dc);
      multiply_add(layer.outputs, layer.inputs, rows, {delta.data(), 1, layer.outputs}, a[l].data(),
                   layer.inputs, weights(layer, gradient_sum).data(), layer.inputs);
      if (l == 0) break;
      std::vector<double> below(rows * layer.inputs, 0.0);
      multiply_add(rows, layer.inputs, layer.outputs, {delta.data(), layer.outputs, 1},
                   weights(layer, x).data(), layer.inputs, below.data(), layer.inputs);
      for (std::size_t i = 0; i < below.size(); ++i) below[i] *= activation_.slope(a[l][i]);
      a[l] = std::move(below);
    }
  }

  double lambda_;
  Activation activation_;
  std::vector<Layer> layers_;
  std::size_t dim_ = 0;
};

}  // namespace

std::unique_ptr<const Model> make_mlp(const ModelOptions& options, std::size_t features,
                                      std::size_t classes) {
  return std::make_unique<Mlp>(options, features, classes);
}

}  // namespace porter
