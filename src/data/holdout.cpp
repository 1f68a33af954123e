// SPDX-License-Identifier: Apache-2.0
#include "data/holdout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/text.hpp"
#include "data/catalog.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

// Fixed: were it the run's, a run with another seed would train on rows that chose its settings.
constexpr std::uint64_t kHoldoutSeed = 0x686F6C646F7574;

const char* key_of(const DataOptions& options) {
  return options.fold ? "data.fold" : "data.holdout";
}

// A known data set that has a test set of its own.
bool brings_test_set(const DataOptions& options) {
  const bool files = !options.train.empty() || !options.train_images.empty();
  return !files && options.name != kGivenData && known_data(options.name).test_rows > 0;
}

// Whether there is a test set before any file is read.
bool has_test_set(const DataOptions& options) {
  if (!options.test.empty() || !options.test_images.empty()) return true;
  return brings_test_set(options) && !options.without_test;
}

std::vector<std::uint32_t> drawn_order(const Dataset& data) {
  std::vector<std::uint32_t> rows(data.rows());
  std::iota(rows.begin(), rows.end(), 0U);
  RngStream rng(kHoldoutSeed, Draw::holdout, 0, 0);
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[rng.below(i)]);
  if (!data.classes.empty())
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      return data.labels[a] < data.labels[b];
    });
  return rows;
}

bool is_held_out(const DataOptions& options, std::size_t place) {
  if (options.fold) return place % options.fold.of == options.fold.number - 1;
  const auto taken = [&](std::size_t places) {
    return std::floor(options.holdout * static_cast<double>(places) + 0.5);
  };
  return taken(place + 1) > taken(place);
}

}  // namespace

Fold parse_fold(std::string_view text) {
  const auto slash = text.find('/');
  const auto number = parse_number<std::uint32_t>(text.substr(0, slash));
  const auto of =
      slash == text.npos ? std::nullopt : parse_number<std::uint32_t>(text.substr(slash + 1));
  require(number && of && *number >= 1 && *number <= *of && *of >= 2 && *of <= kMaxFolds,
          ErrorKind::usage, "expected I/K with I from 1 to K and K from 2 to ", kMaxFolds,
          ", such as 2/5, found \"", text, "\"");
  return {*number, *of};
}

std::string to_string(const Fold& fold) { return concat(fold.number, '/', fold.of); }

void check_without_test(const DataOptions& options, std::string_view place) {
  require(!options.without_test || brings_test_set(options), ErrorKind::usage, place,
          "expected a known data set with a test set to leave out; files have none without "
          "data.test");
}

void check_holdout(const DataOptions& options, std::string_view place) {
  if (!options.holds_out()) return;
  require(options.holdout == 0 || !options.fold, ErrorKind::usage, place,
          "expected data.holdout or data.fold, found both");
  require(options.holdout >= 0 && options.holdout < 1, ErrorKind::usage, place,
          "expected a number strictly between 0 and 1, found ", options.holdout);
  require(!options.guarantee, ErrorKind::privacy, place,
          "rows that are held out are private records like the others, and no epsilon covers "
          "exact figures of them; with secret noise a test set must be public (data.test), or "
          "there is none");
  require(
      options.test_instead || !has_test_set(options), ErrorKind::usage, place,
      "nothing is held out where there is a test set, and this data has one; remove the key or ",
      brings_test_set(options) ? "leave that out (data.without_test = true)" : "the test files");
}

std::vector<std::uint32_t> held_out_rows(const Dataset& data, const DataOptions& options) {
  const auto order = drawn_order(data);
  std::vector<std::uint32_t> rows;
  for (std::size_t place = 0; place < order.size(); ++place)
    if (is_held_out(options, place)) rows.push_back(order[place]);
  require(!rows.empty() && rows.size() < data.rows(), ErrorKind::usage, key_of(options),
          ": expected rows for training and for the test set, found ", data.rows() - rows.size(),
          " and ", rows.size());
  std::sort(rows.begin(), rows.end());
  return rows;
}

void hold_out(const DataOptions& options, DataPair& pair) {
  if (!options.holds_out()) return;
  const auto all = pair.train.rows();
  const auto out = held_out_rows(pair.train, options);
  std::vector<std::uint32_t> kept;
  for (std::uint32_t row = 0; row < all; ++row)
    if (!std::binary_search(out.begin(), out.end(), row)) kept.push_back(row);
  if (!options.test_instead) pair.test = select_rows(pair.train, out);
  pair.train = select_rows(pair.train, kept);
  pair.source += concat("; ", out.size(), " of its ", all, " rows held out",
                        options.test_instead ? "" : " as the test set", " (", key_of(options),
                        " = ", options.fold ? to_string(options.fold) : shortest(options.holdout),
                        pair.train.classes.empty() ? ")" : ", classes in proportion)");
}

}  // namespace porter
