// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <limits>
#include <vector>

#include "audit/models.hpp"
#include "porter/core/error.hpp"
#include "settings.hpp"

namespace porter {
namespace {

const AuditProgress kQuiet = [](double) {};

AuditSetting small_setting() {
  return {.sampler = {Sampler::fixed, 30, 5},
          .clip = parse_clip("smooth:1"),
          .sigma = 0.3,
          .rounds = 10,
          .delta = 1e-3,
          .claim = std::nullopt};
}

AuditRung replay(const AuditSetting& setting, std::size_t trials = 300) {
  const BareSubject bare(setting);
  return audit_replay(setting, bare.subject(), trials, kQuiet);
}

AuditRung noise(const AuditSetting& setting) {
  ThreadPool pool(2);
  const BareSubject bare(setting);
  return audit_noise(setting, bare.subject(), pool, kQuiet);
}

AuditRung end_to_end(const AuditSetting& setting, std::size_t runs) {
  ThreadPool pool(2);
  const BareSubject bare(setting);
  return audit_end_to_end(setting, bare.subject(), runs, pool, kQuiet);
}

std::string caught_names(const AuditRung& rung) {
  std::string names;
  for (const auto& check : rung.checks)
    if (check.caught) names += check.name + "; ";
  return names;
}

TEST(Replay, PassesHonestSettingsAndReachesTheBound) {
  for (const auto kind : {Sampler::fixed, Sampler::poisson, Sampler::full})
    for (const auto adjacency : {Adjacency::replace, Adjacency::add_remove})
      for (const char* clip : {"smooth:0.5", "linear:2"}) {
        if (kind == Sampler::fixed && adjacency == Adjacency::add_remove) continue;
        auto setting = small_setting();
        setting.sampler = {kind, 30, kind == Sampler::full ? 30U : 5U};
        setting.adjacency = adjacency;
        setting.clip = parse_clip(clip);
        const auto rung = replay(setting, 150);
        SCOPED_TRACE(concat(int(kind), " ", int(adjacency), " ", clip));
        EXPECT_FALSE(rung.caught()) << caught_names(rung);
        EXPECT_GT(rung.checks[0].measured, 0.999 * rung.checks[0].limit);
      }
}

TEST(Replay, CatchesBatchClipping) {
  auto setting = small_setting();
  setting.fault = Fault::batch_clip;
  const auto rung = replay(setting);
  EXPECT_EQ(caught_names(rung), "distance before the noise; ");
  EXPECT_GT(rung.checks[0].measured, 1.9);  // 2 tau, promised 2 tau / 5
}

TEST(Replay, CatchesAConfigThatClipsTheBatch) {
  auto setting = small_setting();
  setting.clip_target = ClipTarget::batch;
  EXPECT_TRUE(replay(setting).caught());
}

TEST(Replay, CatchesMessagesWhoseSizeTellsTheRecord) {
  // Dense floats, and one byte more where the lowest bit of the first is set: rare enough to look
  // like a fixed size until two trainings are compared.
  class Chatty final : public Compressor {
   public:
    std::optional<double> rho(std::size_t) const override { return 1; }
    std::optional<double> omega(std::size_t) const override { return 0; }

   protected:
    void encode_body(RngStream, Decoded& x, Payload& payload) const override {
      const auto bytes = std::as_bytes(std::span(x.values));
      payload.assign(bytes.begin(), bytes.end());
      if ((std::bit_cast<std::uint32_t>(x.values[0]) & 1) != 0) payload.push_back(std::byte{0});
    }
    void decode_body(ByteReader& body, std::size_t dim, RngStream, Decoded& out) const override {
      out.dense = true;
      out.indices.clear();
      out.values.resize(dim);
      for (float& value : out.values) value = body.get<float>();
      body.take(body.left());
    }
  };
  const auto setting = small_setting();
  const BareSubject bare(setting);
  const auto subject = bare.subject();
  const Chatty chatty;
  const auto rung = audit_replay(
      setting, {.problem = subject.problem, .network = subject.network, .compressor = chatty}, 10,
      kQuiet);
  EXPECT_EQ(caught_names(rung), "messages whose sizes differ; ");
}

TEST(NoiseCheck, PassesSimulatedNoiseAndSaysThatItRepeats) {
  const auto rung = noise(small_setting());
  EXPECT_FALSE(rung.caught()) << caught_names(rung);
  ASSERT_EQ(rung.checks.size(), 5U);
  EXPECT_GT(rung.checks[4].measured, 100);
  EXPECT_NE(rung.checks[4].note.find("by design"), std::string::npos);
}

TEST(NoiseCheck, CatchesEachFaultOfTheNoiseByName) {
  auto setting = small_setting();
  setting.fault = Fault::sigma_over_b;
  EXPECT_EQ(caught_names(noise(setting)), "noise level off by (deviations); ");
  setting.fault = Fault::variance;
  EXPECT_EQ(caught_names(noise(setting)), "noise level off by (deviations); ");
  setting.fault = Fault::shared_noise;
  EXPECT_EQ(caught_names(noise(setting)), "correlation between agents (deviations); ");
  setting.fault = Fault::reused_noise;
  setting.secure = true;
  EXPECT_EQ(caught_names(noise(setting)),
            "correlation with the rounds after a restart (deviations); ");
}

TEST(NoiseCheck, SecretNoiseIsFreshAfterARestart) {
  auto setting = small_setting();
  setting.secure = true;
  // Secret noise cannot be repeated, so the test looks at a limit far beyond chance: at 8
  // deviations it fails once in 1e15.
  for (const auto& check : noise(setting).checks) EXPECT_LT(check.measured, 8) << check.name;
}

TEST(EndToEnd, StaysBelowThePromiseAndSeesAGoodPartOfIt) {
  auto setting = tight_setting();
  const auto check = end_to_end(setting, 10'000).checks.front();
  EXPECT_FALSE(check.caught);
  EXPECT_GT(check.measured, 0.4 * check.limit);
}

TEST(EndToEnd, CatchesWeakNoiseThroughTheMessages) {
  auto setting = tight_setting();
  for (const auto fault : {Fault::variance, Fault::sigma_over_b, Fault::batch_clip}) {
    setting.fault = fault;
    EXPECT_TRUE(end_to_end(setting, 600).caught()) << int(fault);
  }
  setting.fault = Fault::none;
  setting.claim = 0.1;
  EXPECT_TRUE(end_to_end(setting, 2000).caught());
}

TEST(EndToEnd, HearsLessWhereMessagesAreCompressedAndNeighboursHidden) {
  const auto setting = tight_setting();
  const BareSubject bare(setting);
  auto graph = make_graph("ring", 5, 1);
  auto mixing = make_mixing("metropolis", graph);
  const Network ring{std::move(graph), std::move(mixing)};
  const auto compressor = make_compressor("random_k:0.5");
  ThreadPool pool(2);
  const FeatureModel model(4);
  const Dataset data;
  const auto rung = audit_end_to_end(
      setting, {.problem = {model, data, 5}, .network = &ring, .compressor = *compressor}, 4000,
      pool, kQuiet);
  EXPECT_FALSE(rung.caught());
  EXPECT_GT(rung.checks[0].measured, 0.1);
}

TEST(LoaderAudit, OneRecordOfAFileMovesNothingElse) {
  for (const auto kind : {Sampler::fixed, Sampler::poisson, Sampler::full})
    for (const std::size_t batch : {1, 20}) {
      auto setting = small_setting();
      setting.sampler = {kind, 30, kind == Sampler::full ? 30 : batch};
      const auto rung = audit_loader(setting, kQuiet);
      SCOPED_TRACE(concat(int(kind), " ", batch));
      EXPECT_FALSE(rung.caught()) << caught_names(rung);
      EXPECT_GT(rung.checks[0].measured, 0.5 * rung.checks[0].limit);
    }
}

TEST(LoaderAudit, CatchesClassesAndWidthThatAreFoundInTheRecords) {
  auto setting = small_setting();
  setting.fault = Fault::labels_from_data;
  EXPECT_EQ(caught_names(audit_loader(setting, kQuiet)),
            "distance before the noise; distance where the record was not drawn; files refused for "
            "one record; models of another size for one record; messages whose sizes differ; ");
}

// The gradient is the first pixel; counts the images that are not as they were in the data, where
// each has six pixels that count on from a multiple of six.
class CountsMovedImages final : public Model {
 public:
  static constexpr ImageShape kShape{2, 3};
  static Dataset images(std::size_t records) {
    Dataset data;
    data.features = kShape.pixels();
    for (std::size_t i = 0; i < records * data.features; ++i)
      data.values.push_back(static_cast<float>(i));
    data.labels.assign(records, 0.0F);
    return data;
  }

  std::size_t dim() const override { return 3; }
  double loss(std::span<const double>, const Sample& sample, std::span<double> g) const override {
    if (static_cast<std::size_t>(sample.values[0]) % kShape.pixels() != 0) ++moved;
    if (!g.empty()) std::ranges::fill(g, double{sample.values[0]});
    return 0;
  }
  double predict(std::span<const double>, const Sample&) const override { return 0; }

  mutable std::atomic<std::size_t> moved = 0;
};

TEST(Audit, OfCopiesTakesTheGradientsOfATraining) {
  auto setting = small_setting();
  const CountsMovedImages model;
  const auto data = CountsMovedImages::images(3 * setting.sampler.records());
  const BareSubject bare(setting);
  const auto made_up = bare.subject();
  const AuditSubject subject{
      .problem = {model, data, 3}, .network = made_up.network, .compressor = made_up.compressor};
  ThreadPool pool(2);
  const std::vector<std::function<AuditRung()>> rungs = {
      [&] { return audit_replay(setting, subject, 100, kQuiet); },
      [&] { return audit_noise(setting, subject, pool, kQuiet); }};
  for (const auto& climb : rungs)
    for (const bool copies : {false, true}) {
      setting.augment = copies ? parse_augmentation("shift-flip:1x3") : Augmentation{};
      setting.image = CountsMovedImages::kShape;
      model.moved = 0;
      const auto rung = climb();
      SCOPED_TRACE(concat(rung.title, " copies ", copies));
      EXPECT_FALSE(rung.caught()) << caught_names(rung);
      EXPECT_EQ(model.moved > 0, copies);
    }
}

// The others make data of their own, on which copies change nothing.
TEST(Audit, OfCopiesOnWorstDataIsAsTightAsWithout) {
  auto setting = tight_setting();
  const auto end = end_to_end(setting, 1000).checks.front();
  EXPECT_GT(end.measured, 0);
  setting.augment = parse_augmentation("shift:2x4");
  setting.image = {8, 8};
  EXPECT_EQ(end_to_end(setting, 1000).checks.front().measured, end.measured);
  EXPECT_FALSE(audit_loader(setting, kQuiet).caught());
}

TEST(Audit, VerdictNamesWhatWasCaught) {
  auto setting = small_setting();
  const AuditRung good{1, "replay", {{"distance", 0.4, 0.4, false, ""}}, 0};
  const AuditRung bad{3, "mechanism", {{"epsilon at least", 7.3, 0.1, true, ""}}, 0};
  EXPECT_EQ(audit_verdict(setting, {good}), "passed: nothing caught on rung 1");
  EXPECT_EQ(audit_verdict(setting, {good, bad}),
            "CAUGHT: rung 3 (mechanism): epsilon at least 7.3, at most 0.1 is promised");
  setting.claim = 0.1;
  EXPECT_EQ(audit_verdict(setting, {good, bad}),
            "CAUGHT: rung 3 (mechanism): epsilon at least 7.3, at most 0.1 was claimed");
}

TEST(Audit, RefusesSettingsThatPromiseNothing) {
  const auto refused = [](auto change) {
    auto setting = small_setting();
    change(setting);
    EXPECT_THROW(certified_epsilon(setting), Error);
  };
  refused([](AuditSetting& s) { s.sigma = 0; });
  refused([](AuditSetting& s) { s.sigma = -1; });
  refused([](AuditSetting& s) { s.sigma = std::numeric_limits<double>::quiet_NaN(); });
  refused([](AuditSetting& s) { s.clip = {}; });
  refused([](AuditSetting& s) { s.delta = 0; });
  refused([](AuditSetting& s) { s.delta = 1; });
  refused([](AuditSetting& s) { s.rounds = 0; });
  refused([](AuditSetting& s) { s.claim = -0.1; });
  refused([](AuditSetting& s) { s.adjacency = Adjacency::add_remove; });
}

TEST(Audit, KnowsItsFaultsByName) {
  for (const auto& row : fault_table()) EXPECT_EQ(parse_fault(row.name), row.fault);
  EXPECT_THROW(parse_fault("batchclip"), Error);
}

}  // namespace
}  // namespace porter
