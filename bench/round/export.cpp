// SPDX-License-Identifier: Apache-2.0
#include "export.hpp"

#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>

#include "algo/message.hpp"
#include "core/normal_noise.hpp"
#include "porter/core/error.hpp"

namespace porter::bench {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are written as they lie");

template <class T>
void write(const std::filesystem::path& file, std::span<const T> values) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size_bytes()));
  require(out.good(), ErrorKind::io, file.string(), ": cannot be written");
}

std::vector<float> dense_features(const Dataset& data) {
  std::vector<float> out(data.rows() * data.features, 0.0F);
  for (std::size_t row = 0; row < data.rows(); ++row) {
    const Sample sample = data[row];
    for (std::size_t i = 0; i < sample.values.size(); ++i)
      out[row * data.features + (sample.sparse ? sample.columns[i] : i)] = sample.values[i];
  }
  return out;
}

void export_batches(Setting& setting, std::uint32_t rounds, const std::filesystem::path& file) {
  GradientEstimator estimator(setting.problem(), setting.gradients(), setting.pool());
  std::vector<std::uint32_t> out;
  for (std::uint32_t round = 1; round <= rounds; ++round)
    for (std::size_t agent = 0; agent < setting.agents(); ++agent) {
      const auto batch = estimator.draw_batch(agent, round);
      out.insert(out.end(), batch.begin(), batch.end());
    }
  write<std::uint32_t>(file, out);
}

// What travels tells which entries were chosen.
void export_masks(Setting& setting, std::uint32_t rounds, const std::filesystem::path& file) {
  const std::vector<double> ones(setting.dim(), 1.0), zeros(setting.dim(), 0.0);
  Message message;
  std::vector<std::uint32_t> out;
  for (std::uint32_t round = 1; round <= rounds; ++round)
    for (const auto use : {Draw::compress_v, Draw::compress_x})
      for (std::uint32_t agent = 0; agent < setting.agents(); ++agent) {
        const RngStream rng(setting.config().run.seed, use, agent, round);
        compress_difference(setting.compressor(), ones, zeros, rng, message);
        out.insert(out.end(), message.decoded.indices.begin(), message.decoded.indices.end());
      }
  write<std::uint32_t>(file, out);
}

void export_noise(Setting& setting, std::uint32_t rounds, const std::filesystem::path& file) {
  std::vector<float> out(rounds * setting.agents() * setting.dim());
  auto rest = std::span(out);
  for (std::uint32_t round = 1; round <= rounds; ++round)
    for (std::uint32_t agent = 0; agent < setting.agents(); ++agent) {
      NormalNoise(setting.config().run.seed, agent, round).fill(0, rest.first(setting.dim()));
      rest = rest.subspan(setting.dim());
    }
  write<float>(file, out);
}

}  // namespace

void export_setting(Setting& setting, std::uint32_t rounds, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const auto setup = setting.algorithm();
  const auto& train = setup.problem.train;
  write<float>(folder / "features.f32", dense_features(train));
  write<float>(folder / "labels.f32", train.labels);
  write<double>(folder / "mixing.f64", setting.network().mixing.weights.dense());
  write<double>(folder / "start.f64", setup.start);
  export_batches(setting, rounds, folder / "batches.u32");
  export_masks(setting, rounds, folder / "masks.u32");
  export_noise(setting, rounds, folder / "noise.f32");
  const nlohmann::json problem = {{"model", setting.config().model.name},
                                  {"hidden", setting.config().model.hidden},
                                  {"regulariser", setting.config().model.lambda},
                                  {"agents", setting.agents()},
                                  {"samples", setup.problem.samples_per_agent()},
                                  {"features", train.features},
                                  {"classes", train.classes.size()},
                                  {"dim", setting.dim()},
                                  {"kept", setting.kept()},
                                  {"batch", setting.batch()},
                                  {"rounds", rounds},
                                  {"step", setup.eta},
                                  {"consensus", setup.gamma},
                                  {"clip", setup.gradients.clip.tau},
                                  {"sigma", setup.gradients.noise_stddev}};
  std::ofstream(folder / "problem.json") << problem.dump(2) << '\n';
}

void export_rows(const Rows& rows, const std::filesystem::path& file) {
  write<double>(file, rows.flat());
}

}  // namespace porter::bench
