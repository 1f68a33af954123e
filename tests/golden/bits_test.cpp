// SPDX-License-Identifier: Apache-2.0
// The same seed gives the same bits on every processor, instruction set, compiler and level of
// optimisation: digests of what is trained, drawn and sent against bits/digests.csv. After a wanted
// change: PORTER_UPDATE_GOLDEN=1 build/dev/tests/test_golden, and review the diff.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "audit/audit.hpp"
#include "compress_cases.hpp"
#include "core/normal_noise.hpp"
#include "data/dirichlet.hpp"
#include "every_simd_target.hpp"
#include "io/file.hpp"
#include "paths.hpp"
#include "porter/data/image.hpp"
#include "porter/graph/mixing.hpp"
#include "porter/privacy/accountant.hpp"
#include "porter/train/train.hpp"
#include "privacy/paper.hpp"
#include "temp_dir.hpp"
#include "train/start.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

const fs::path kGoldenFolder = fs::path(source_dir()) / "tests/golden";
const fs::path kFile = kGoldenFolder / "bits/digests.csv";

// FNV-1a, of the bytes in the order of memory.
class Digest {
 public:
  template <class T>
  void add(std::span<const T> values) {
    for (const auto byte : std::as_bytes(values))
      value_ = (value_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  }
  std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

using Digests = std::map<std::string, std::string>;

// Where the agents of every golden case are at its end.
void add_runs(Digests& digests) {
  for (const auto& entry : fs::directory_iterator(kGoldenFolder)) {
    if (entry.path().extension() != ".toml") continue;
    Trainer trainer(assemble(load_config(entry.path())));
    while (!trainer.finished()) trainer.step();
    Digest digest;
    const auto& X = trainer.algorithm().iterates();
    for (std::size_t agent = 0; agent < X.agents(); ++agent) digest.add(X.row(agent));
    digests["run " + entry.path().stem().string()] = digest.text();
  }
}

void add_noise(Digests& digests) {
  std::vector<float> normals(100'003);
  NormalNoise(7, 3, 11).fill(64, normals);
  Digest digest;
  digest.add(std::span<const float>(normals));
  digests["noise"] = digest.text();
}

void add_messages(Digests& digests) {
  for (const auto& info : compressor_table()) {
    const auto compressor = make_compressor(info.example);
    Digest digest;
    for (const std::size_t dim : {1, 47, 1000, 50'890}) {
      std::vector<float> x(dim);
      NormalNoise(9, 1, static_cast<std::uint32_t>(dim)).fill(0, x);
      const auto payload = encode(*compressor, x);
      digest.add(std::span<const std::byte>(payload));
    }
    digests["message " + info.name] = digest.text();
  }
}

void add_weights(Digests& digests) {
  for (const auto& info : mixing_table()) {
    if (info.name == "average" || info.name.starts_with("file")) continue;
    Digest digest;
    for (const auto& [graph, agents] : {std::pair("erdos-renyi:0.8", 10),
                                        {"erdos-renyi:0.2", 60},
                                        {"ring", 9},
                                        {"grid:4x5", 20},
                                        {"barbell", 12}}) {
      const auto W = make_mixing(info.name, make_graph(graph, static_cast<std::size_t>(agents), 5));
      digest.add(std::span<const double>(W.weights.dense()));
    }
    digests["weights " + info.name] = digest.text();
  }
}

// Of more agents than the dense solver takes: what is known of the spectrum is a formula.
void add_large_weights(Digests& digests) {
  Digest digest;
  for (const char* graph : {"ring", "path", "grid", "torus"})
    for (const std::size_t agents : {616, 625, 660}) {
      const auto W = make_mixing("best-constant", make_graph(graph, agents, 1));
      for (const auto& [i, weight] : W.weights.row(0)) digest.add(std::span(&weight, 1));
    }
  digests["weights of large graphs"] = digest.text();
}

void add_starts(Digests& digests) {
  Digest digest;
  for (const char* start : {"normal:0.3", "numpy:0.3:7"})
    digest.add(std::span<const double>(
        starting_point(parse_config("", "", {std::string("algorithm.start=") + start}), {}, 1001)));
  digests["starts"] = digest.text();
}

void add_splits(Digests& digests) {
  Digest digest;
  for (const double alpha : {1e-6, 0.1, 1.0, 30.0, 1e6})
    for (std::uint32_t agent = 0; agent < 100; ++agent) {
      RngStream rng(3, Draw::split, agent, 1);
      digest.add(std::span<const double>(dirichlet_variate(10, alpha, rng)));
    }
  digests["dirichlet splits"] = digest.text();
}

void add_images(Digests& digests) {
  for (const auto kind : all_choices<TransformKind>()) {
    if (kind == TransformKind::none) continue;
    Digest digest;
    for (const auto& shape : {ImageShape{28, 28}, {13, 37}}) {
      Dataset data;
      data.features = shape.pixels();
      data.values.resize(9 * shape.pixels());
      data.labels.resize(9);
      NormalNoise(5, 2, 1).fill(0, data.values);
      ImageTransform{kind, shape}.apply(data);
      digest.add(std::span<const float>(data.values));
    }
    digests[concat("images ", choice_text(kind))] = digest.text();
  }
}

Dataset three_kinds_of_images(std::size_t rows, const ImageShape& shape) {
  Dataset data;
  data.features = shape.pixels();
  data.values.resize(rows * shape.pixels());
  NormalNoise(5, 2, 1).fill(0, data.values);
  data.classes = {"0", "1", "2"};
  for (std::size_t row = 0; row < rows; ++row) data.labels.push_back(static_cast<float>(row % 3));
  return data;
}

// Clipped batches of networks over images, in both precisions.
void add_image_models(Digests& digests) {
  const std::function<double(double)> clip = [](double norm) { return 1 / (1 + norm); };
  const std::vector<std::uint32_t> rows = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const std::pair<const char*, ModelOptions> models[] = {
      {"cnn", {.name = "cnn", .image = {28, 28}}},
      {"layers",
       {.name = "layers",
        .layers = {"conv:6x3/1+1", "groupnorm:3", "relu", "avgpool:2/1", "conv:3x2", "sigmoid",
                   "dense:7", "tanh"},
        .image = {13, 37}}},
      {"tempered",
       {.name = "layers",
        .layers = {"conv:6x3/2", "tempered:1.58:3:0.71", "dense:7", "tempered:1:4:0.5"},
        .image = {13, 37}}}};
  for (const auto& [name, options] : models) {
    const auto pixels = options.image.pixels();
    const auto data = three_kinds_of_images(rows.size(), options.image);
    const auto model = make_model(options, pixels, 3);
    std::vector<float> x(model->dim()), narrow(model->dim());
    NormalNoise(6, 2, 1).fill(0, x);
    for (float& value : x) value *= 0.1F;
    std::vector<double> wide(model->dim());
    Workspace workspace;
    const BatchRequest batch{data, 0, rows, &clip};
    model->gradient_sum(std::vector<double>(x.begin(), x.end()), batch, wide, workspace);
    model->gradient_sum_in_float(x, batch, narrow, workspace);
    Digest digest;
    digest.add(std::span<const double>(wide));
    digest.add(std::span<const float>(narrow));
    digests[concat("network ", name)] = digest.text();
  }
}

// A golden case with other keys.
Trainer golden(const std::string& name, const std::vector<std::string>& keys) {
  return Trainer(assemble(load_config(kGoldenFolder / (name + ".toml"), keys)));
}

const Rows& iterates(const Trainer& trainer) { return trainer.algorithm().iterates(); }

// At the end.
template <class RowsOf>
std::string end(Trainer&& trainer, const RowsOf& rows_of) {
  while (!trainer.finished()) trainer.step();
  Digest digest;
  const Rows& rows = rows_of(trainer);
  for (std::size_t agent = 0; agent < rows.agents(); ++agent) digest.add(rows.row(agent));
  return digest.text();
}

// What the reference does not know: copies of images, averages of iterates, rounds that differ.
void add_further_runs(Digests& digests) {
  const auto averages = [](Trainer& trainer) -> const Rows& { return trainer.averages(); };
  digests["averages porter_dp_noise"] = end(golden("porter_dp_noise", {"run.ema=0.9"}), averages);
  digests["averages soteriafl_sgd"] =
      end(golden("soteriafl_sgd_random_k", {"run.ema=0.99"}), averages);
  digests["phases of noise"] =
      end(golden("porter_dp_noise", {"privacy.phases=80x1,120x0.5"}), iterates);
  digests["phases of noise and clip"] =
      end(golden("dp_dsgd_gossip", {"privacy.phases=50x1,50x0.7,100x0.7x0.5"}), iterates);
  const auto images = std::make_shared<const Dataset>(three_kinds_of_images(40, {6, 5}));
  for (const std::string kind : {"shift", "shift-flip"}) {
    const auto config = parse_config(
        "", "test",
        {"data.image=6x5", "data.split=contiguous", "model.name=layers",
         "model.layers=[\"conv:2x3\",\"tanh\",\"dense:4\",\"tanh\"]", "network.agents=4",
         "network.graph=ring", "network.mixing=metropolis", "algorithm.name=dp-dsgd",
         "algorithm.rounds=40", "algorithm.step=0.3", "algorithm.batch=3",
         "algorithm.augment=" + kind + ":1x3", "privacy.calibration=sigma", "privacy.sigma=0.05",
         "run.seed=74", "run.evaluate=end"});
    digests["copies of images " + kind] =
        end(Trainer(assemble(config, {.data = RunData{.train = images}})), iterates);
  }
}

// Agents that differ: in how many records they hold, the rate they draw at, or their noise.
void add_unlike_agents(Digests& digests) {
  const std::string sizes = "data.split=sizes:20,16,12,8,4";
  digests["split sizes"] = end(golden("porter_dp_noise", {sizes}), iterates);
  for (const char* alpha : {"2", "30"})
    digests[concat("split quantity:", alpha)] =
        end(golden("porter_dp_noise", {concat("data.split=quantity:", alpha)}), iterates);
  for (const char* sampler : {"fixed", "poisson"})
    digests[concat("agents that count the same ", sampler)] =
        end(golden("sweep_led", {sizes, "data.weigh=agents", concat("privacy.sampler=", sampler)}),
            iterates);
  // What noise a budget needs rests on the C library, and has 20 bits.
  digests["agents with budgets"] =
      end(golden("dsgd", {"algorithm.clip=smooth:0.5", "algorithm.batch=full",
                          "privacy.budgets=[4, 2, 1, 8, 3]"}),
          iterates);
}

void add_changing_networks(Digests& digests) {
  const TempDir dir;
  write_file(dir / "away.csv", "agent,from,to\n3,10,20\n0,15,15\n1,100,190\n4,101,140\n");
  const auto trace = concat("network.dropout=trace:", (dir / "away.csv").string());
  for (const char* name : {"dsgd_dropout", "led_dropout", "dsgt_matching", "push_sum"})
    digests[concat("absences of a trace ", name)] = end(golden(name, {trace}), iterates);
  for (const char* name : {"push_sum", "dp_csgp"}) {
    std::vector<std::string> keys = {"network.schedule=directed-ring"};
    if (name == std::string("push_sum")) keys.emplace_back("network.dropout=0.2");
    digests[concat("directed ring ", name)] = end(golden(name, keys), iterates);
  }
}

// Modelled seconds after every round, with the law of stragglers.
void add_clocks(Digests& digests) {
  for (const char* name : {"porter_dp_noise", "dsgd_dropout", "sweep_led_gossip", "lt_admm"}) {
    auto trainer = golden(name, {"network.latency=0.013", "network.bandwidth=1e4",
                                 "network.compute=0.1", "network.straggling=0.7"});
    Digest digest;
    while (!trainer.finished()) {
      trainer.step();
      const double seconds = trainer.traffic().seconds;
      digest.add(std::span(&seconds, 1));
    }
    digests[concat("seconds ", name)] = digest.text();
  }
}

void add_runs_in_float(Digests& digests) {
  for (const char* name : {"porter_dp_noise", "porter_dp_poisson", "porter_dp_mlp_noise",
                           "porter_dp_sweep_mask", "porter_gc_mlp", "beer_linear_squared"})
    digests[concat("float ", name)] = end(golden(name, {"run.precision=float"}), iterates);
}

void add_paper_noise(Digests& digests) {
  Digest digest;
  for (double delta = 1e-12; delta < 1; delta *= 1.7) {
    const double sigma = paper_sigma(0.7, 1000, delta, 3256, 0.1);
    digest.add(std::span(&sigma, 1));
  }
  digests["sigma of the paper"] = digest.text();
}

Digests make_digests() {
  Digests digests;
  add_runs(digests);
  add_noise(digests);
  add_messages(digests);
  add_weights(digests);
  add_large_weights(digests);
  add_starts(digests);
  add_splits(digests);
  add_images(digests);
  add_image_models(digests);
  add_further_runs(digests);
  add_unlike_agents(digests);
  add_changing_networks(digests);
  add_clocks(digests);
  add_runs_in_float(digests);
  add_paper_noise(digests);
  return digests;
}

std::string to_csv(const Digests& digests) {
  std::string text = "what,digest\n";
  for (const auto& [what, digest] : digests) text += what + ',' + digest + '\n';
  return text;
}

Digests read_digests() {
  std::istringstream lines(read_file(kFile));
  Digests digests;
  std::string line;
  std::getline(lines, line);  // the header
  while (std::getline(lines, line)) {
    const auto comma = line.find(',');
    digests[line.substr(0, comma)] = line.substr(comma + 1);
  }
  return digests;
}

TEST(Bits, AreTheSameOnEveryMachine) {
  if (std::getenv("PORTER_UPDATE_GOLDEN") != nullptr) write_file(kFile, to_csv(make_digests()));
  const auto expected = read_digests();
  for_every_simd_target([&](const std::string&) {
    const auto found = make_digests();
    EXPECT_EQ(found.size(), expected.size());
    for (const auto& [what, digest] : expected) {
      const auto at = found.find(what);
      EXPECT_EQ(at == found.end() ? "missing" : at->second, digest) << what;
    }
  });
}

// What rests on the C library's functions, and so may differ between machines in the last bits.
TEST(Bits, OfAccountantAndAuditAreTheSameOnEveryInstructionSet) {
  std::vector<std::vector<double>> found;
  for_every_simd_target([&](const std::string&) {
    const PrivacyEvent event{.records = 3256, .batch = 7, .noise_multiplier = 0.9, .steps = 1000};
    const auto interval = privacy::epsilon(event, 1e-5);
    const AuditSetting setting{.sampler = {Sampler::fixed, 40, 7},
                               .clip = parse_clip("linear:0.7"),
                               .sigma = 0.05,
                               .rounds = 4,
                               .delta = 1e-3,
                               .claim = std::nullopt};
    ThreadPool pool(2);
    const auto check = audit_mechanism(setting, 2000, pool, [](double) {}).checks.front();
    found.push_back({interval.lower, interval.upper, check.measured, check.limit});
  });
  for (const auto& values : found) EXPECT_EQ(values, found.front());
}

}  // namespace
}  // namespace porter
