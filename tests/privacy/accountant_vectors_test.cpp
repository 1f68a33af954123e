// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "porter/privacy/accountant.hpp"
#include "privacy/loss_pair.hpp"
#include "privacy/renyi.hpp"
#include "vectors.hpp"

namespace porter {
namespace {

using privacy::delta, privacy::epsilon;

PrivacyEvent event_of(const VectorRow& row) {
  PrivacyEvent event;
  const auto& sampling = row.text("sampling");
  if (sampling == "none") event.sampler = Sampler::full;
  if (sampling == "poisson") event.sampler = Sampler::poisson;
  if (row.text("neighbouring") != "replace_one") event.adjacency = Adjacency::add_remove;
  if (event.sampler == Sampler::poisson) event.rate = row.number("q");
  if (row.has("m")) event.records = static_cast<std::size_t>(row.number("m"));
  if (row.has("b")) event.batch = static_cast<std::size_t>(row.number("b"));
  event.noise_multiplier = row.number("z_sigma_over_record_contribution");
  event.steps = static_cast<std::uint64_t>(row.number("steps"));
  if (sampling == "fixed_size_with_replacement") {
    // No amplification, and a record may fill the whole batch.
    event.sampler = Sampler::full;
    event.noise_multiplier /= row.number("b");
  }
  return event;
}

bool starts_with(const std::string& text, std::string_view begin) {
  return text.rfind(begin, 0) == 0;
}

// References are themselves upper bounds, or exact to 1e-9 where they say so.
constexpr double kTolerance = 1e-3, kAsExact = 1e-8;

// Several rows ask for the same setting.
EpsilonInterval epsilon_of(const VectorRow& row, const PrivacyEvent& event) {
  static std::map<std::string, EpsilonInterval> known;
  std::string key;
  for (const char* column : {"sampling", "neighbouring", "m", "b", "q",
                             "z_sigma_over_record_contribution", "steps", "delta"})
    key += row.text(column) + ' ';
  const auto [place, is_new] = known.try_emplace(key);
  if (is_new) place->second = epsilon(event, row.number("delta"));
  return place->second;
}

void expect_agreement(const VectorRow& row) {
  const auto& type = row.text("bound_type");
  const bool lower_row = type.find("LOWER") != std::string::npos;
  const double given = row.number("epsilon");
  const double reference =
      row.has("independent_epsilon") ? row.number("independent_epsilon") : given;
  const auto event = event_of(row);
  const double delta = row.number("delta");
  const auto ours = epsilon_of(row, event);
  EXPECT_LE(ours.lower, ours.upper);
  if (row.has("independent_epsilon") && !lower_row) {
    EXPECT_LE(ours.lower, reference * (1 + 1e-5)) << "the references are good to 1e-5";
  }

  if (starts_with(type, "RDP") || starts_with(type, "PRV")) {
    EXPECT_LE(ours.upper, given);
  }
  if (starts_with(type, "GDP")) {
    EXPECT_GT(ours.upper, given);
  }
  if (lower_row) {
    EXPECT_GE(ours.upper, given);
  }
  if (starts_with(type, "PLD LOWER") || starts_with(type, "LOWER numerical")) {
    EXPECT_NEAR(ours.lower, reference, kTolerance * reference);
  } else if (starts_with(type, "PLD upper") || starts_with(type, "tight upper") ||
             starts_with(type, "exact") || starts_with(type, "numerical") ||
             row.has("independent_epsilon")) {
    EXPECT_NEAR(ours.upper, reference, kTolerance * reference);
  }
  if (type == "exact") {
    EXPECT_NEAR(ours.upper, reference, 1e-10 * reference);
  }
  if (type.find("numerical") != std::string::npos) {
    EXPECT_LE(ours.lower, given * (1 + kAsExact));
    if (!lower_row) {
      EXPECT_GE(ours.upper, given * (1 - kAsExact));
    }
  }
  if (event.sampler == Sampler::poisson && event.adjacency == Adjacency::add_remove) {
    EXPECT_LE(ours.upper, renyi_epsilon(std::span(&event, 1), delta));
  }
}

TEST(AccountantVectors, AgreeWithOtherAccountants) {
  const auto folder = vectors_folder();
  if (!folder) GTEST_SKIP() << kNoVectors;
  const auto rows = read_vectors(*folder / "accountant.csv");
  EXPECT_GT(rows.size(), 100U);
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text("id") + " " + row.text("sampling") + " " + row.text("neighbouring") +
                 " " + row.text("bound_type"));
    expect_agreement(row);
  }
}

double high_precision_value(const VectorRow& row) {
  const auto& quantity = row.text("quantity");
  const double q = row.number("q"), z = row.number("z_sigma_over_record_contribution");
  if (quantity == "rdp_poisson_add_remove")
    return renyi_sampled_gaussian(q, z, static_cast<int>(row.number("order")));
  const double e = row.number("epsilon");
  if (quantity == "delta_poisson_remove")
    return LossPair{LossPair::Kind::remove, q, 1 / z}.delta(e).above;
  if (quantity == "delta_poisson_add") {
    const double g = q - std::expm1(e) * (1 - q);
    return g > 0 ? g * gaussian_delta(e + std::log(q / g), 1 / z) : 0;
  }
  if (quantity == "delta_poisson_replace")
    return LossPair{LossPair::Kind::replace, q, 1 / z}.delta(e).above;
  require(quantity == "delta_wor_replace", ErrorKind::io, "unknown quantity ", quantity);
  return LossPair{LossPair::Kind::remove, q, 2 / z}.delta(e).above;
}

TEST(AccountantVectors, AgreeWithFiftyDigits) {
  const auto folder = vectors_folder();
  if (!folder) GTEST_SKIP() << kNoVectors;
  int compared = 0;
  for (const auto& row : read_vectors(*folder / "accountant_highprec.csv")) {
    SCOPED_TRACE(row.text("quantity") + " q=" + row.text("q") +
                 " z=" + row.text("z_sigma_over_record_contribution") +
                 " order=" + row.text("order") + " epsilon=" + row.text("epsilon"));
    const double value = row.number("value");
    if (row.has("order") && row.number("order") != std::floor(row.number("order"))) {
      // The accountant uses integer orders only; the divergence grows with the order.
      const double q = row.number("q"), z = row.number("z_sigma_over_record_contribution");
      const int below = static_cast<int>(row.number("order"));
      EXPECT_LE(value, renyi_sampled_gaussian(q, z, below + 1));
      if (below >= 2) {
        EXPECT_GE(value, renyi_sampled_gaussian(q, z, below));
      }
      continue;
    }
    EXPECT_NEAR(high_precision_value(row), value, 1e-10 * value);
    ++compared;
  }
  EXPECT_GT(compared, 30);
}

}  // namespace
}  // namespace porter
