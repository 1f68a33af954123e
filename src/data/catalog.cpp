// SPDX-License-Identifier: Apache-2.0
#include "data/catalog.hpp"

#include <cstdlib>

#include "core/registry.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibsvmHome =
    "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/";
// The first home, yann.lecun.com, no longer serves the files; these mirrors hold the same bytes.
constexpr const char* kMnistHomes[] = {"https://storage.googleapis.com/cvdf-datasets/mnist/",
                                       "https://ossci-datasets.s3.amazonaws.com/mnist/"};
constexpr const char* kLibsvmLicence =
    "none known for the LIBSVM conversion; the UCI source is commonly given as CC BY 4.0";

KnownFile libsvm_file(const std::string& name, const std::string& sha256) {
  return {.name = name, .urls = {kLibsvmHome + name}, .sha256 = sha256, .text = true};
}

KnownFile mnist_file(const std::string& name, const std::string& sha256) {
  KnownFile file{.name = "mnist/" + name, .urls = {}, .sha256 = sha256, .text = false};
  for (const auto* home : kMnistHomes) file.urls.push_back(home + name);
  return file;
}

std::vector<KnownData> make_catalog() {
  const std::vector<double> digits = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  return {
      {.name = "synthetic",
       .what = "built in: binary features in 14 groups with a planted signal, like a9a",
       .train_rows = 32560,
       .test_rows = 16281,
       .features = 123,
       .classes = {-1, 1},
       .licence = "Apache-2.0, as porter"},
      {.name = "synthetic-digits",
       .what = "built in: 28 x 28 images of ten digits, drawn by random strokes, like mnist",
       .train_rows = 60000,
       .test_rows = 10000,
       .features = 784,
       .image = {28, 28},
       .classes = digits,
       .licence = "Apache-2.0, as porter"},
      {.name = "a9a",
       .what = "UCI Adult (census income) as binary features",
       .train_rows = 32561,
       .test_rows = 16281,
       .features = 123,
       .classes = {-1, 1},
       .files = {libsvm_file("a9a",
                             "76b604b2c3f738783537bd3b32893eae66af54b8a41aee534fac1ecea45c1535"),
                 libsvm_file("a9a.t",
                             "0c3135eb9b9d83a4fa007d6e1a3b719f029db78884dafd5a46a4d7eeb4c2b018")},
       .licence = kLibsvmLicence,
       .citation = "B. Becker, R. Kohavi: Adult, UCI Machine Learning Repository, 1996"},
      {.name = "mnist",
       .what = "handwritten digits, 28 x 28",
       .train_rows = 60000,
       .test_rows = 10000,
       .features = 784,
       .image = {28, 28},
       .classes = digits,
       .files = {mnist_file("train-images-idx3-ubyte.gz",
                            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
                 mnist_file("train-labels-idx1-ubyte.gz",
                            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
                 mnist_file("t10k-images-idx3-ubyte.gz",
                            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
                 mnist_file("t10k-labels-idx1-ubyte.gz",
                            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2")},
       .licence = "commonly given as CC BY-SA 3.0, copyright Y. LeCun and C. Cortes",
       .citation = "Y. LeCun, L. Bottou, Y. Bengio, P. Haffner: Gradient-based learning applied to "
                   "document recognition, Proceedings of the IEEE, 1998"},
      {.name = "mushrooms",
       .what = "UCI Mushroom as binary features; linearly separable",
       .train_rows = 8124,
       .test_rows = 0,
       .features = 112,
       .classes = {1, 2},
       .files = {libsvm_file("mushrooms",
                             "03115cabe65c7634b8e4f1a5581a35cf9c4d1eade64ecfe33620c0efb5891cb9")},
       .licence = kLibsvmLicence,
       .citation = "J. Schlimmer: Mushroom, UCI Machine Learning Repository, 1987"},
      {.name = "phishing",
       .what = "UCI Phishing Websites as binary features, rows of unit length",
       .train_rows = 11055,
       .test_rows = 0,
       .features = 68,
       .classes = {0, 1},
       .files = {libsvm_file("phishing",
                             "0cf66ef36604c393da9359b2e5d894a2df8aee31fd184633cefa138add2ef08a")},
       .licence = kLibsvmLicence,
       .citation =
           "R. Mohammad, L. McCluskey: Phishing Websites, UCI Machine Learning Repository, 2015"},
  };
}

std::optional<fs::path> environment_path(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace

const std::vector<KnownData>& known_data() {
  static const auto catalog = make_catalog();
  return catalog;
}

const KnownData& known_data(std::string_view name) {
  return find_named(known_data(), name, "data.name");
}

DataFolders data_folders() {
  auto cache = environment_path("XDG_CACHE_HOME");
  // The XDG rules say that a relative path is to be ignored.
  if (!cache || cache->is_relative()) {
    cache = environment_path("HOME");
    if (cache) *cache /= ".cache";
  }
  if (cache) *cache = *cache / "porter" / "data";
  return {.given = environment_path("PORTER_DATA"), .cache = cache};
}

std::optional<fs::path> find_data_file(const KnownFile& file, const DataFolders& folders) {
  const fs::path below = fs::path(file.name).replace_extension(
      file.name.ends_with(".gz") ? fs::path() : fs::path(file.name).extension());
  for (const auto& folder : {folders.given, folders.cache}) {
    if (!folder) continue;
    for (const auto& plain : {below, below.filename()})
      for (const auto* ending : {"", ".gz"}) {
        auto path = *folder / plain;
        path += ending;
        std::error_code ignored;
        if (fs::is_regular_file(path, ignored)) return path;
      }
  }
  return std::nullopt;
}

std::string describe(const DataFolders& folders) {
  return "PORTER_DATA (" + (folders.given ? folders.given->string() : "unset") + ") or " +
         (folders.cache ? folders.cache->string()
                        : "the cache folder (neither XDG_CACHE_HOME nor HOME is set)");
}

}  // namespace porter
