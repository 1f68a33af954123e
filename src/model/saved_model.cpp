// SPDX-License-Identifier: Apache-2.0
#include "porter/model/saved_model.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "core/vector_math.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

fs::path model_file(const fs::path& path) {
  require(fs::exists(path), ErrorKind::io, path.string(),
          ": no such folder or file; expected a run's or agent's folder, or its model.npz");
  if (!fs::is_directory(path)) return path;
  require(fs::exists(path / "model.npz"), ErrorKind::io, path.string(),
          ": expected the folder of a finished run or agent, found no model.npz in it");
  return path / "model.npz";
}

ModelCard read_card(const Npz& arrays, const std::string& source) {
  const auto about = arrays.find("about");
  require(about != arrays.end() && !about->second.bytes.empty(), ErrorKind::io, source,
          ": it has no card (the array 'about'): written by porter 0.1, or by something else. "
          "Train again, or use `porter eval` on its folder");
  const auto& bytes = about->second.bytes;
  return parse_card({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, source);
}

}  // namespace

SavedModel load_model(const fs::path& path) {
  const auto file = model_file(path);
  auto arrays = load_npz(file, ByteArrays::bytes);
  SavedModel model{.source = file.string(), .card = read_card(arrays, file.string())};
  arrays.erase("about");
  const auto dim = model.card.make()->dim();
  for (auto& [name, array] : arrays) {
    const bool rows = array.shape.size() == 2, vector = array.shape.size() == 1;
    require((rows || vector) && array.shape.back() == dim && array.bytes.empty(), ErrorKind::io,
            file.string(), ": '", name, "': expected ", dim, " parameters as its card says");
    if (vector) {
      model.vectors[name] = std::move(array.values);
      continue;
    }
    for (std::size_t i = 0; i < array.shape[0]; ++i) {
      const auto begin = array.values.begin() + static_cast<std::ptrdiff_t>(i * dim);
      model.agents.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(dim));
    }
  }
  require(model.vectors.contains("x_mean"), ErrorKind::io, file.string(), ": it has no x_mean");
  return model;
}

std::span<const double> SavedModel::parameters(const std::string& which) const {
  const auto finite = [&](const std::vector<double>& x) -> std::span<const double> {
    require(all_finite(x), ErrorKind::io, source, ": ", which,
            " holds numbers that are not finite");
    return x;
  };
  const auto spec = split_spec(which);
  const auto agent = spec.number<std::size_t>();
  if (spec.name == "agent" && agent && *agent < agents.size()) return finite(agents[*agent]);
  if (const auto found = vectors.find(which); found != vectors.end()) return finite(found->second);
  std::string names;
  for (const auto& [name, unused] : vectors) names += name + ", ";
  fail(ErrorKind::usage, source, " has ", names, "and agent:I with I below ", agents.size(),
       "; found \"", which, "\"");
}

}  // namespace porter
