// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/text.hpp"
#include "core/vector_math.hpp"
#include "porter/core/error.hpp"
#include "porter/data/load.hpp"
#include "porter/io/npy.hpp"
#include "target.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRecords = 60, kColumns = 5;
constexpr std::uint32_t kRounds = 12;  // compared per pair of files
constexpr std::string_view kSeveralTargets = "targets.npz";

/// A folder that nobody else can read, gone with the object.
class PrivateFolder {
 public:
  PrivateFolder() {
    std::string name = (fs::temp_directory_path() / "porter-audit-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, ErrorKind::io, "cannot create a folder ", name);
    path_ = name;
  }
  ~PrivateFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// A record as text, so that it can hold what is no number.
struct Record {
  std::string label;
  std::vector<std::string> features;
};

Record ordinary(RngStream& rng) {
  Record record{std::to_string(1 + rng.below(2)), {}};
  for (std::size_t j = 0; j < kColumns; ++j)
    record.features.push_back(fmt::format("{:.3f}", rng.normal()));
  return record;
}

// What the record that differs may be. Nobody else has the labels 0 and 3.
std::vector<Record> alternatives(RngStream& rng) {
  const auto base = ordinary(rng);
  std::vector<Record> all = {base};
  for (const char* label : {"0", "3", "-7", "9", "1.5", "nan", "1e999", "x", ""}) {
    all.push_back(base);
    all.back().label = label;
  }
  for (const char* feature : {"nan", "-inf", "1e999", "3e38", "x", "", "0"}) {
    all.push_back(base);
    all.back().features[rng.below(kColumns)] = feature;
  }
  all.push_back(base);
  all.back().features.push_back("1");  // a column more
  all.push_back(base);
  all.back().features.pop_back();
  all.push_back({"1", std::vector<std::string>(kColumns, "0")});
  all.push_back({"2", std::vector<std::string>(3 * kColumns, "1e30")});
  return all;
}

std::string libsvm_line(const Record& record) {
  std::string line = record.label.empty() ? "?" : record.label;  // without a word it is no record
  for (std::size_t j = 0; j < record.features.size(); ++j)
    if (record.features[j] != "0") line += fmt::format(" {}:{}", j + 1, record.features[j]);
  return line + "\n";
}

std::string csv_line(const Record& record) {
  std::string line;
  for (const auto& feature : record.features) line += feature + ",";
  return line + record.label + "\n";
}

// An array has room for numbers only, and for as many as the other rows have. The label is the last
// of the targets.
std::string npz_bytes(const std::vector<Record>& records, std::size_t targets) {
  NpyArray X{{records.size(), kColumns}, {}}, y{{records.size(), targets}, {}};
  const auto number = [](const std::string& text) {
    return parse_number<double>(text).value_or(std::nan(""));
  };
  for (const auto& record : records) {
    for (std::size_t j = 0; j < kColumns; ++j)
      X.values.push_back(j < record.features.size() ? number(record.features[j]) : std::nan(""));
    for (std::size_t o = 1; o < targets; ++o) y.values.push_back(X.values.back());
    y.values.push_back(number(record.label));
  }
  return encode_npz({{"X", std::move(X)}, {"y", std::move(y)}});
}

std::string file_bytes(std::string_view format, const std::vector<Record>& records) {
  if (format == "npz") return npz_bytes(records, 1);
  if (format == kSeveralTargets) return npz_bytes(records, 3);
  std::string text;
  for (const auto& record : records)
    text += format == "csv" ? csv_line(record) : libsvm_line(record);
  return text;
}

struct Loaded {
  Dataset data;
  std::unique_ptr<const Model> model;
};

// As an agent reads its own file; nothing where it refuses to start.
std::optional<Loaded> load(const AuditSetting& setting, const fs::path& file, bool regression) {
  DataOptions options{.train = file.string(), .regression = regression, .cache = false};
  if (setting.fault != Fault::labels_from_data) {
    options.features = kColumns;
    if (!regression) options.classes = {0, 1, 2, 3};
    options.guarantee = true;
  }
  try {
    auto data = load_data(options).train;
    auto model = make_model({.name = regression ? "linear" : "softmax"}, data.features,
                            data.classes.size(), data.outputs);
    return Loaded{std::move(data), std::move(model)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// What two neighbouring files may not differ in, over all pairs.
struct Differences {
  double pairs = 0, refusals = 0, models = 0, batches = 0, sizes = 0;
  double drawn = 0, not_drawn = 0;  // the largest distances, by whether the record was in the batch
};

class LoaderAudit {
 public:
  explicit LoaderAudit(const AuditSetting& setting)
      : setting_(setting), options_(seeded_options(setting)), bare_(setting) {
    const auto kind = setting.sampler.kind();
    const auto batch = kind == Sampler::full ? kRecords : setting.sampler.batch();
    options_.sampler = BatchSampler(kind, kRecords, std::min(batch, kRecords));
    options_.noise_stddev = 0;
    options_.augment = {};  // its files hold no images
  }

  const BatchSampler& sampler() const { return options_.sampler; }
  const Differences& found() const { return found_; }

  void compare_files(std::string_view format, bool regression, std::uint32_t trial) {
    RngStream rng(setting_.seed, Draw::test, 5, trial);
    options_.seed = rng.next_u64();
    std::vector<Record> records;
    for (std::size_t i = 0; i < kRecords; ++i) records.push_back(ordinary(rng));
    const std::size_t differing = rng.below(kRecords);
    std::optional<Loaded> usual, previous;
    for (const auto& record : alternatives(rng)) {
      records[differing] = record;
      const auto file = folder_.path() / fmt::format("own.{}", format);
      std::ofstream(file, std::ios::binary) << file_bytes(format, records);
      auto loaded = load(setting_, file, regression);
      if (usual) compare(*usual, loaded, differing);
      if (previous && loaded) compare(*previous, loaded, differing);
      (usual ? previous : usual) = std::move(loaded);
    }
  }

 private:
  void compare(const Loaded& usual, const std::optional<Loaded>& other, std::size_t differing) {
    ++found_.pairs;
    if (!other) {
      ++found_.refusals;
      return;
    }
    found_.sizes += message_sizes(usual) != message_sizes(*other);
    if (usual.model->dim() != other->model->dim() || usual.data.rows() != other->data.rows()) {
      ++found_.models;
      return;
    }
    GradientEstimator one({*usual.model, usual.data, 1}, options_, pool_);
    GradientEstimator another({*other->model, other->data, 1}, options_, pool_);
    for (std::uint32_t round = 1; round <= kRounds; ++round)
      compare_round(one, another, usual.model->dim(), differing, round);
  }

  void compare_round(GradientEstimator& one, GradientEstimator& other, std::size_t dim,
                     std::size_t differing, std::uint32_t round) {
    const auto batch = one.draw_batch(0, round);
    found_.batches += batch != other.draw_batch(0, round);
    Rows X(1, dim), G(X), H(X);
    if (round % 3 != 0) RngStream(setting_.seed, Draw::test, 6, round).fill_normal(X.row(0));
    one.estimate(X, round, G);
    other.estimate(X, round, H);
    const bool drawn = std::binary_search(batch.begin(), batch.end(), differing);
    auto& largest = drawn ? found_.drawn : found_.not_drawn;
    const double distance = std::sqrt(squared_distance(G.row(0), H.row(0)));
    largest = std::isfinite(distance) ? std::max(largest, distance) : INFINITY;
  }

  // Every agent has the file, uncompressed messages.
  std::vector<std::uint64_t> message_sizes(const Loaded& loaded) {
    const auto subject = bare_.subject();
    std::vector<std::uint32_t> rows;
    for (std::size_t agent = 0; agent < subject.problem.agents; ++agent)
      for (std::size_t row = 0; row < loaded.data.rows(); ++row)
        rows.push_back(static_cast<std::uint32_t>(row));
    auto options = options_;
    options.noise_stddev = setting_.sigma;
    return message_bytes(subject, *loaded.model, select_rows(loaded.data, rows), options, pool_);
  }

  const AuditSetting& setting_;
  GradientOptions options_;
  BareSubject bare_;
  ThreadPool pool_{1};
  PrivateFolder folder_;
  Differences found_;
};

}  // namespace

AuditRung audit_loader(const AuditSetting& setting, const AuditProgress& progress) {
  return climb_rung(setting, 5, "loader", [&] {
    LoaderAudit audit(setting);
    constexpr std::uint32_t kTrials = 4;
    for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
      for (const char* format : {"libsvm", "csv", "npz"})
        for (const bool regression : {false, true}) audit.compare_files(format, regression, trial);
      audit.compare_files(kSeveralTargets, true, trial);
      progress((trial + 1.0) / kTrials);
    }
    const auto& found = audit.found();
    // Replacing is what happens to a file, whichever neighbours the promise is about.
    const double limit = audit.sampler().sensitivity(Adjacency::replace, setting.clip.tau);
    std::vector<AuditCheck> checks;
    const auto add = [&](const char* name, double measured, double most, std::string note = "") {
      checks.push_back({name, measured, most, !(measured <= most), std::move(note)});
    };
    add("distance before the noise", found.drawn, limit,
        fmt::format("{} pairs of files that differ in a record", found.pairs));
    add("distance where the record was not drawn", found.not_drawn, 0);
    add("files refused for one record", found.refusals, 0);
    add("models of another size for one record", found.models, 0);
    add("batches that differ", found.batches, 0);
    add("messages whose sizes differ", found.sizes, 0);
    return checks;
  });
}

}  // namespace porter
