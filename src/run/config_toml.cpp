// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <sstream>

#include "porter/core/text.hpp"
#include "porter/run/config.hpp"

namespace porter {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// -1 and not -1.0, as data files have it.
std::string label_text(double label) {
  const bool whole = label == std::floor(label) && std::abs(label) <= 1e9;
  return whole ? std::to_string(static_cast<std::int64_t>(label)) : shortest(label);
}

// As a range where it is one: neighbours compare the text, and show it where it differs.
std::string labels_text(const std::vector<double>& labels) {
  constexpr std::size_t kWorthARange = 4;
  bool range =
      labels.size() >= kWorthARange && label_text(labels[0]).find('.') == std::string::npos;
  std::string list;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    range = range && labels[i] == labels[0] + static_cast<double>(i);
    list += (i == 0 ? "" : ", ") + label_text(labels[i]);
  }
  if (range) return quoted(label_text(labels.front()) + ".." + label_text(labels.back()));
  return "[" + list + "]";
}

void write_data(std::ostream& out, const Config& config) {
  const auto& data = config.data;
  out << "[data]\n";
  const bool files = !data.train.empty() || !data.train_images.empty();
  if (!files) out << "name = " << quoted(data.name) << '\n';
  const std::pair<const char*, const std::string*> paths[] = {{"train", &data.train},
                                                              {"test", &data.test},
                                                              {"train_images", &data.train_images},
                                                              {"train_labels", &data.train_labels},
                                                              {"test_images", &data.test_images},
                                                              {"test_labels", &data.test_labels}};
  for (const auto& [key, path] : paths)
    if (!path->empty()) out << key << " = " << quoted(*path) << '\n';
  if (data.features > 0) out << "features = " << data.features << '\n';
  if (!data.classes.empty()) out << "classes = " << labels_text(data.classes) << '\n';
  out << "split = " << quoted(config.split) << "\nscale = " << quoted(data.scale);
  if (data.outliers != "none") out << "\noutliers = " << quoted(data.outliers);
  out << "\nbias = " << (data.bias ? "true" : "false") << "\n\n";
}

void write_model(std::ostream& out, const ModelOptions& model) {
  out << "[model]\nname = " << quoted(model.name) << "\nlambda = " << shortest(model.lambda)
      << '\n';
  if (model.name == "mlp") {
    out << "hidden = [";
    for (std::size_t i = 0; i < model.hidden.size(); ++i) out << (i ? ", " : "") << model.hidden[i];
    out << "]\nactivation = " << quoted(model.activation) << '\n';
  }
  out << '\n';
}

void write_algorithm(std::ostream& out, const Config& config) {
  const auto& algorithm = config.algorithm;
  out << "[algorithm]\nname = " << quoted(algorithm.name) << "\nrounds = " << algorithm.rounds
      << "\nstep = " << shortest(algorithm.step)
      << "\nconsensus = " << shortest(algorithm.consensus) << "\nbatch = ";
  if (algorithm.batch == 0)
    out << "\"full\"";
  else
    out << algorithm.batch;
  out << "\nclip = " << quoted(algorithm.clip)
      << "\nclip_target = " << quoted(algorithm.clip_target)
      << "\ncompressor = " << quoted(algorithm.compressor)
      << "\nunbiased = " << (algorithm.unbiased ? "true" : "false")
      << "\nstart = " << quoted(algorithm.start) << '\n';
  if (algorithm.shift) out << "shift = " << shortest(*algorithm.shift) << '\n';
  if (algorithm.snapshot) out << "snapshot = " << shortest(*algorithm.snapshot) << '\n';
  out << "momentum = " << shortest(algorithm.momentum) << "\ngossip = " << algorithm.gossip
      << "\nmask = " << quoted(algorithm.mask) << '\n';
  out << '\n';
}

void write_privacy(std::ostream& out, const Config::Privacy& privacy) {
  out << "[privacy]\nepsilon = " << shortest(privacy.epsilon)
      << "\ndelta = " << shortest(privacy.delta)
      << "\ncalibration = " << quoted(privacy.calibration) << '\n';
  if (privacy.sigma) out << "sigma = " << shortest(*privacy.sigma) << '\n';
  out << "sampler = " << quoted(privacy.sampler) << "\nadjacency = " << quoted(privacy.adjacency)
      << "\nnoise = " << quoted(privacy.noise)
      << "\nallow_large_delta = " << (privacy.allow_large_delta ? "true" : "false") << "\n\n";
}

}  // namespace

std::string to_toml(const Config& config) {
  std::ostringstream out;
  write_data(out, config);
  write_model(out, config.model);
  out << "[network]\nagents = " << config.network.agents
      << "\ngraph = " << quoted(config.network.graph)
      << "\nmixing = " << quoted(config.network.mixing) << "\n\n";
  write_algorithm(out, config);
  if (config.privacy) write_privacy(out, *config.privacy);
  out << "[run]\nseed = " << config.run.seed << "\nthreads = " << config.run.threads
      << "\nevaluate = " << quoted(to_string(config.run.evaluate))
      << "\nprecision = " << quoted(config.run.precision)
      << "\nengine = " << quoted(config.run.engine) << "\ncheckpoint = ";
  if (config.run.checkpoint_every == 0)
    out << "\"off\"\n";
  else
    out << quoted("every:" + std::to_string(config.run.checkpoint_every)) << '\n';
  return out.str();
}

}  // namespace porter
