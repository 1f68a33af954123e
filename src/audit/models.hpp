// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "porter/algo/gradients.hpp"

namespace porter {

/// The gradient is the record: its one feature in the first coordinate, zero in the others,
/// wherever the model stands.
class FeatureModel final : public Model {
 public:
  explicit FeatureModel(std::size_t dim) : dim_(dim) {}
  std::size_t dim() const override { return dim_; }
  double loss(std::span<const double>, const Sample& sample,
              std::span<double> gradient) const override {
    if (gradient.empty()) return 0;
    std::fill(gradient.begin(), gradient.end(), 0.0);
    gradient[0] = double{sample.values[0]};
    return 0;
  }
  double predict(std::span<const double>, const Sample&) const override { return 0; }

 private:
  std::size_t dim_;
};

/// Another model with phantom parameters behind its own: they change no loss, so their gradient is
/// zero, and what is seen on them is noise.
class PaddedModel final : public Model {
 public:
  PaddedModel(const Model& inner, std::size_t phantoms) : inner_(inner), phantoms_(phantoms) {}
  std::size_t dim() const override { return inner_.dim() + phantoms_; }
  double loss(std::span<const double> x, const Sample& sample,
              std::span<double> gradient) const override {
    const auto own = inner_.dim();
    if (gradient.empty()) return inner_.loss(x.first(own), sample, gradient);
    const auto dead = gradient.subspan(own);
    std::fill(dead.begin(), dead.end(), 0.0);
    return inner_.loss(x.first(own), sample, gradient.first(own));
  }
  double predict(std::span<const double> x, const Sample& sample) const override {
    return inner_.predict(x.first(inner_.dim()), sample);
  }

 private:
  const Model& inner_;
  std::size_t phantoms_;
};

/// The gradients of a problem's records from row `first` on, found by the number that a sample's
/// label holds, with the gradient of one record put in by hand: two of these are neighbouring data
/// sets without a copy of the data.
class SubstitutedModel final : public Model {
 public:
  SubstitutedModel(const Problem& problem, std::size_t first, std::size_t record,
                   std::vector<double> substitute)
      : problem_(problem), first_(first), record_(record), substitute_(std::move(substitute)) {}

  /// The data that go with it.
  static Dataset numbers(std::size_t records) {
    Dataset data;
    for (std::size_t i = 0; i < records; ++i) data.labels.push_back(static_cast<float>(i));
    return data;
  }

  /// The same with the records' images, for gradients at copies of these.
  static Dataset numbered_images(const Problem& problem, std::size_t first, std::size_t records) {
    auto data = numbers(records);
    data.features = problem.train.features;
    data.values.resize(records * data.features);
    for (std::size_t i = 0; i < records; ++i)
      write_features(problem.train[first + i],
                     std::span(data.values).subspan(i * data.features, data.features));
    return data;
  }

  std::size_t dim() const override { return problem_.model.dim(); }
  double loss(std::span<const double> x, const Sample& sample,
              std::span<double> gradient) const override {
    const auto record = static_cast<std::size_t>(sample.label);
    if (record != record_ || gradient.empty()) {
      auto own = problem_.train[first_ + record];
      if (!sample.values.empty()) {  // a copy that may have moved
        own.sparse = false;
        own.values = sample.values;
      }
      return weighted_loss(problem_.model, x, own, gradient);
    }
    std::copy(substitute_.begin(), substitute_.end(), gradient.begin());
    return 0;
  }
  double predict(std::span<const double>, const Sample&) const override { return 0; }

 private:
  Problem problem_;
  std::size_t first_, record_;
  std::vector<double> substitute_;
};

}  // namespace porter
