// SPDX-License-Identifier: Apache-2.0
#include "porter/train/assemble.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "data/measure.hpp"
#include "model_start.hpp"
#include "porter/algo/algorithm.hpp"
#include "porter/core/error.hpp"
#include "porter/privacy/clip.hpp"
#include "privacy/paper.hpp"
#include "privacy/secure_noise.hpp"
#include "report/text.hpp"
#include "svrg_privacy.hpp"
#include "train/accountant_cache.hpp"

namespace porter {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

bool has_aggregator(const Config& config) {
  return find_algorithm(config.algorithm.name).meeting == AlgorithmInfo::Meeting::aggregator;
}

// A secure aggregation adds the noise once, to the mean of all agents, which one record moves by so
// much less.
double noise_shared_by(const Config& config) {
  return has_aggregator(config) ? static_cast<double>(config.network.agents) : 1.0;
}

// Of the noise of all statistics, as SecureNoise has it for each entry.
double statistics_distance(const Config& config) {
  if (!measures_statistics(config)) return 0;
  const auto& schema = *config.data.schema;
  double entries = 0;
  for (const auto statistic : statistics_of(schema))
    entries +=
        1 + static_cast<double>(statistic_size(statistic, statistic_columns(schema, statistic)));
  return entries * 0x1.0001p-96;
}

using SecureNoises = std::vector<std::shared_ptr<const SecureNoise>>;

// Of a round in any phase.
double largest_distance(const std::shared_ptr<const SecureNoise>& one, const SecureNoises& phases) {
  double largest = one->statistical_distance();
  for (const auto& noise : phases) largest = std::max(largest, noise->statistical_distance());
  return largest;
}

}  // namespace

struct RunPrivacy::Intervals : Memo<std::uint64_t, EpsilonInterval> {};

RunPrivacy::RunPrivacy(const Config& config, const BatchSampler& sampler, std::size_t dim,
                       std::shared_ptr<AccountantCache> cache, std::optional<SharedNoise> shared)
    : config_(config),
      sampler_(sampler),
      tau_(config.algorithm.clip.tau / noise_shared_by(config)),
      shared_(std::move(shared)),
      cache_(cache ? std::move(cache) : std::make_shared<AccountantCache>()),
      most_releases_(kUnlimited),
      intervals_(std::make_unique<Intervals>()) {
  if (!config_.privacy) return;
  check_delta();
  calibrate_statistics();
  calibrate();
  make_secure(dim);
  note_shape();
  if (tau_ == 0) notes_.push_back("algorithm.clip: noise without clipping protects nobody");
  if (config_.algorithm.clip_target == ClipTarget::batch && tau_ > 0)
    notes_.push_back(
        "algorithm.clip_target: clipping the batch mean gives no guarantee for a record");
  const bool certifiable =
      sigma_ > 0 && tau_ > 0 && config_.algorithm.clip_target == ClipTarget::sample;
  require(certifiable || !claims_guarantee(config_), ErrorKind::privacy,
          "privacy.noise = \"secure\" needs sigma > 0 and the clipping of each sample");
  require((!has_aggregator(config_) && !two_gradients()) || !claims_guarantee(config_),
          ErrorKind::privacy, "privacy.noise = \"secure\" is not there for ",
          config_.algorithm.name, ": choose an algorithm whose agents add their own noise to one ",
          "gradient");
  if (certifiable) account();
}

RunPrivacy::~RunPrivacy() = default;

void RunPrivacy::check_delta() {
  const auto& privacy = *config_.privacy;
  const double m = static_cast<double>(sampler_.records());
  const bool binding = privacy.calibration == Calibration::accountant || claims_guarantee(config_);
  const auto concern = delta_concern(privacy.delta, m);
  require(!allows_publishing(privacy.delta, m) || privacy.allow_large_delta || !binding,
          ErrorKind::usage, "privacy.", concern,
          "; choose a smaller one, or set privacy.allow_large_delta = true");
  if (!concern.empty()) notes_.push_back("privacy." + concern);
}

// A last bit more than sigma / gain, so that what it is worth is not below sigma.
double RunPrivacy::own_sigma() const {
  return shared_ ? sigma_ / shared_->worth.gain * (1 + 0x1p-50) : sigma_;
}

double RunPrivacy::pair_sigma() const { return shared_ ? shared_->ratio * own_sigma() : 0; }

std::shared_ptr<const NoisePairs> RunPrivacy::pairs() const {
  return shared_ && sigma_ > 0 ? shared_->pairs : nullptr;
}

void RunPrivacy::note_shape() {
  if (!shares_noise(config_) || sigma_ == 0) return;
  if (!shared_)
    notes_.push_back(
        "privacy.shape: noise that neighbours share does not pay here; it is independent");
  else if (shared_->worth.gain == 1)
    notes_.push_back(concat("privacy.shape: noise that neighbours share protects nobody here: ",
                            config_.privacy->colluders, " colluders can be all neighbours of an ",
                            "agent"));
}

void RunPrivacy::calibrate() {
  const auto& privacy = *config_.privacy;
  const auto rounds = config_.algorithm.rounds;
  if (privacy.calibration == Calibration::sigma) {
    sigma_ = *privacy.sigma;
  } else if (privacy.calibration == Calibration::paper) {
    sigma_ = paper_sigma(tau_, rounds, privacy.delta, static_cast<double>(sampler_.records()),
                         privacy.epsilon);
  } else if (two_gradients()) {
    sigma_ =
        svrg_sigma(sampler_, privacy.adjacency, tau_, rounds, privacy.epsilon, accounted_delta_);
  } else {
    sigma_ = calibrated_sigma(sampler_, privacy.epsilon, rounds);
  }
}

double RunPrivacy::own_sigma(std::size_t phase) const {
  if (!config_.privacy || config_.privacy->phases.empty()) return own_sigma();
  const auto& factors = config_.privacy->phases[phase];
  return own_sigma() * factors.noise * factors.clip;
}

const std::shared_ptr<const SecureNoise>& RunPrivacy::secure(std::size_t phase) const {
  return secure_phases_.empty() ? secure_ : secure_phases_[phase];
}

double RunPrivacy::least_charged_sigma() const {
  double least = 1;
  const auto& phases = config_.privacy->phases;
  if (!phases.empty()) least = std::ranges::min(phases, {}, &NoisePhase::noise).noise;
  return sigma_ * least;
}

double RunPrivacy::charged_sigma(std::uint64_t round) const {
  const auto& phases = config_.privacy->phases;
  return phases.empty() ? sigma_ : sigma_ * phases[phase_of(phases, round)].noise;
}

void RunPrivacy::make_secure(std::size_t dim) {
  if (!claims_guarantee(config_) || sigma_ == 0 || tau_ == 0) return;
  SecureNoise::Shared shared;
  if (shared_)
    shared = {.stddev = pair_sigma(),
              .most_pairs = most_pairs(*shared_->pairs),
              .vectors = shared_->pairs->agents + shared_->pairs->pairs.size()};
  const auto made = [&](double stddev, double tau) {
    return std::make_shared<const SecureNoise>(
        stddev, sampler_.sensitivity(config_.privacy->adjacency, tau), dim, shared);
  };
  secure_ = made(own_sigma(), tau_);
  const auto& phases = config_.privacy->phases;
  for (std::size_t i = 0; i < phases.size(); ++i)
    secure_phases_.push_back(made(own_sigma(i), tau_ * phases[i].clip));
}

// The statistics come before, where there are any.
double RunPrivacy::calibrated_sigma(const BatchSampler& sampler, double target,
                                    std::uint64_t steps) const {
  const auto unit = sampler.event(config_.privacy->adjacency, 1.0, tau_, steps);
  const auto phases = like_rounds(config_.privacy->phases, steps);
  std::vector<PrivacyEvent> events(phases.size(), unit);
  for (std::size_t i = 0; i < phases.size(); ++i)
    std::tie(events[i].steps, events[i].noise_multiplier) =
        std::tuple(phases[i].steps, phases[i].noise);
  const double z = events.size() == 1 && events.front().noise_multiplier == 1
                       ? cache_->noise_multiplier(unit, target, accounted_delta_, before_)
                       : cache_->noise_scale(events, target, accounted_delta_, before_);
  const double sigma = z * tau_ / static_cast<double>(sampler.batch());
  // Rounding to the grid raises the sensitivity by at most 1e-3.
  return claims_guarantee(config_) ? sigma * (1 + 2e-3) : sigma;
}

double RunPrivacy::statistic_epsilon(const Config& config) {
  const auto& schema = *config.data.schema;
  const int releases = int{schema.measures_range()} + int{schema.measures_moments()};
  return config.privacy->statistics * config.privacy->epsilon / releases;
}

// Noise where the gradients have some; each statistic is the mean over all records.
void RunPrivacy::calibrate_statistics() {
  const auto& privacy = *config_.privacy;
  accounted_delta_ = claims_guarantee(config_) ? secure_delta(privacy.delta) : privacy.delta;
  if (!measures_statistics(config_)) return;
  const auto& schema = *config_.data.schema;
  statistics_.releases = std::uint64_t{schema.measures_range()} + schema.measures_moments();
  if (privacy.sigma == 0.0 || tau_ == 0) return;
  const BatchSampler all(Sampler::full, sampler_.records(), sampler_.records());
  statistics_.sigma = calibrated_sigma(all, statistic_epsilon(config_), 1);
  const auto event = claims_guarantee(config_) ? &BatchSampler::secure_event : &BatchSampler::event;
  before_ = {(all.*event)(privacy.adjacency, statistics_.sigma, tau_, statistics_.releases)};
}

bool RunPrivacy::two_gradients() const {
  return find_algorithm(config_.algorithm.name).two_gradients;
}

// Steps with the noise multiplier that is this factor of the run's.
PrivacyEvent RunPrivacy::event(std::uint64_t steps, double noise) const {
  const auto made = secure_ ? &BatchSampler::secure_event : &BatchSampler::event;
  return (sampler_.*made)(config_.privacy->adjacency, sigma_ * noise, tau_, steps);
}

// That of a phase must not cost more than is charged for it.
void RunPrivacy::check_grid(std::size_t phase) const {
  const auto& phases = config_.privacy->phases;
  const auto charged = event(1, phases.empty() ? 1 : phases[phase].noise).noise_multiplier;
  const auto& noise = *secure(phase);
  // The grid costs an agent's own noise, and the whole is worth as many times as much.
  const double gain = shared_ ? shared_->worth.gain : 1;
  const double multiplier = gain * noise.accounted_stddev() *
                            records_moved(config_.privacy->adjacency) /
                            noise.accounted_sensitivity();
  require(charged <= multiplier, ErrorKind::privacy,
          "the grid of the secure noise costs more than is charged for it: noise multiplier ",
          multiplier, ", expected at least ", charged);
}

// So many releases; what is repeated counts as one more of a later phase.
std::vector<PrivacyEvent> RunPrivacy::events(std::uint64_t releases) const {
  std::vector<PrivacyEvent> list;
  for (const auto& [steps, noise] : like_rounds(config_.privacy->phases, releases))
    list.push_back(event(steps, noise));
  return list;
}

void RunPrivacy::account() {
  accounted_ = true;
  const std::uint64_t rounds = config_.algorithm.rounds;
  if (two_gradients()) return;
  auto before = before_;
  std::uint64_t start = 0;
  for (const auto& stretch : events(rounds)) {
    stretches_.push_back({start, cache_->curve(stretch, accounted_delta_, before)});
    before.push_back(stretch);
    start += stretch.steps;
  }
  if (!secure_) return;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, secure_phases_.size()); ++i) check_grid(i);
  const double budget = config_.privacy->epsilon;
  const double distance = static_cast<double>(rounds) * largest_distance(secure_, secure_phases_) +
                          statistics_distance(config_);
  const double end = exact_epsilon(rounds);
  require((1 + std::exp(std::min(budget, end))) * distance <= kSecureShare * config_.privacy->delta,
          ErrorKind::privacy, "privacy.delta: ", config_.privacy->delta,
          " is too small for the precision of the secure noise over ", rounds, " rounds");
  // The largest count within the budget; mostly all rounds, as sigma was made for them.
  std::uint64_t allowed = end <= budget ? rounds : 0, refused = rounds + 1;
  while (refused - allowed > 1) {
    const auto middle = allowed + (refused - allowed) / 2;
    (exact_epsilon(middle) <= budget ? allowed : refused) = middle;
  }
  most_releases_ = allowed;
}

// The one that the last of so many releases belongs to.
const RunPrivacy::Stretch& RunPrivacy::stretch_at(std::uint64_t releases) const {
  auto at = stretches_.size() - 1;
  while (at > 0 && stretches_[at].start >= releases) --at;
  return stretches_[at];
}

// Up to the config's rounds.
double RunPrivacy::exact_epsilon(std::uint64_t releases) const {
  const auto& [start, curve] = stretch_at(releases);
  return curve->exact(releases - start);
}

bool RunPrivacy::allows(std::uint64_t releases) const {
  if (agents_differ())
    return std::ranges::all_of(agents_, [&](const auto& own) { return own->allows(releases); });
  if (releases <= most_releases_) return true;
  const auto bounds = interval(releases);
  return bounds && bounds->upper <= config_.privacy->epsilon;
}

std::optional<double> RunPrivacy::epsilon(std::uint64_t releases) const {
  if (agents_differ()) {
    std::optional<double> largest = 0.0;
    for (const auto& own : agents_) {
      const auto cost = own->epsilon(releases);
      if (!cost) return std::nullopt;
      largest = std::max(*largest, *cost);
    }
    return largest;
  }
  if (!accounted_) return std::nullopt;
  if (releases == 0 && before_.empty()) return 0;
  if (stretches_.empty() || releases > config_.algorithm.rounds) return interval(releases)->upper;
  const auto& [start, curve] = stretch_at(releases);
  return curve->upper(releases - start);
}

std::optional<EpsilonInterval> RunPrivacy::interval(std::uint64_t releases) const {
  if (agents_differ()) return worst(releases).interval(releases);
  if (!accounted_) return std::nullopt;
  if (releases == 0 && before_.empty())
    return EpsilonInterval{.lower = 0, .upper = 0, .method = "nothing released"};
  return intervals_->get(releases, [&] { return computed_interval(releases); });
}

EpsilonInterval RunPrivacy::computed_interval(std::uint64_t releases) const {
  if (two_gradients())
    return svrg_epsilon(sampler_, config_.privacy->adjacency, sigma_, tau_, releases,
                        accounted_delta_);
  if (!stretches_.empty() && releases == config_.algorithm.rounds)
    return stretches_.back().curve->interval();
  auto all = before_;
  const auto training = events(releases);
  all.insert(all.end(), training.begin(), training.end());
  return privacy::epsilon(all, accounted_delta_);
}

// Of the statistics alone.
EpsilonInterval RunPrivacy::statistics_interval() const {
  return privacy::epsilon(before_, accounted_delta_);
}

PrivacyStatement RunPrivacy::statement(std::uint64_t releases) const {
  if (agents_differ()) {
    auto out = worst(releases).statement(releases);
    out.sentence = sentence(releases);
    list_agents(releases, out);
    return out;
  }
  PrivacyStatement out;
  out.sentence = sentence(releases);
  if (sigma_ > 0) out.noise = secure_ ? NoiseSource::secret : NoiseSource::simulated;
  out.sigma = sigma_;
  out.clip = to_string(config_.algorithm.clip);
  out.clip_target = config_.algorithm.clip_target;
  out.batch = sampler_.batch();
  out.records = sampler_.records();
  out.releases = releases;
  if (const auto& privacy = config_.privacy) {
    out.delta = privacy->delta;
    out.sampler = sampler_.kind();
    out.relation = relation();
    out.calibration = choice_text(privacy->calibration);
    out.target_epsilon = privacy->epsilon;
  }
  out.epsilon = interval(releases);
  list_phases(out);
  if (accounted_ && !before_.empty())
    out.parts = {.statistics = statistics_.releases,
                 .statistics_sigma = statistics_.sigma,
                 .statistics_epsilon = statistics_interval().upper,
                 .training_epsilon = privacy::epsilon(events(releases), accounted_delta_).upper};
  if (shared_ && sigma_ > 0)
    out.shared = {.shape = config_.privacy->shape,
                  .colluders = config_.privacy->colluders,
                  .own_sigma = own_sigma(),
                  .pair_sigma = pair_sigma(),
                  .enumerated = shared_->worth.enumerated};
  out.guaranteed = secure_ && out.epsilon && std::isfinite(out.epsilon->upper);
  out.not_covered = not_covered();
  return out;
}

std::string RunPrivacy::sentence(std::uint64_t releases) const {
  if (!config_.privacy) return "no noise is added: not private";
  if (agents_differ())
    return concat(worst(releases).sentence(releases), ", of the worst of ", agents_.size(),
                  " agents, each with a rate and noise of its own");
  const auto& privacy = *config_.privacy;
  if (sigma_ == 0) return "sigma = 0, no noise is added: not private";
  const auto bounds = interval(releases);
  const auto worth = [&] {
    const auto measured =
        before_.empty() ? ""
                        : concat(" and ", statistics_.releases, " private statistics before them, ",
                                 "which alone cost ", rounded_up(statistics_interval().upper));
    const auto against =
        shared_ ? concat(", against an eavesdropper of all messages with up to ", privacy.colluders,
                         " colluding agents, not against all others together")
                : "";
    return concat("epsilon in [", rounded_down(bounds->lower), ", ", rounded_up(bounds->upper),
                  "] at delta = ", privacy.delta, " (record level, ", relation(), ", ", releases,
                  " rounds", measured, against, ")");
  };
  if (secure_) return concat("secret noise, sigma = ", sigma_, ": certified ", worth());
  std::string text = concat("simulated noise: not private; sigma = ", sigma_);
  if (privacy.calibration == Calibration::paper)
    text += concat(" is the paper's formula, which claims epsilon = ", privacy.epsilon,
                   " at delta = ", privacy.delta);
  return text + (bounds ? "; were it secret: " + worth() : "; nothing can be certified");
}

// The rate is b / m and sums are divided by b, so m is public and neighbours have the same: what
// add/remove is accounted for is a record that contributes nothing in the place of another.
std::string RunPrivacy::relation() const {
  const auto adjacency = config_.privacy->adjacency;
  return std::string(adjacency == Adjacency::add_remove ? "zero-out" : choice_text(adjacency));
}

std::vector<std::string> RunPrivacy::not_covered() const {
  std::vector<std::string> list = {"choosing settings by looking at results on the same data",
                                   "timing and other side channels of the machine"};
  const auto meeting = find_algorithm(config_.algorithm.name).meeting;
  if (meeting == AlgorithmInfo::Meeting::aggregator)
    list.insert(list.begin(), "what the secure aggregation sees: central, not local privacy");
  if (meeting == AlgorithmInfo::Meeting::pooled)
    list.insert(list.begin(), "the place where all data lie: central, not local privacy");
  if (config_.data.measures_scale())
    list.push_back(concat("data.scale = \"", choice_text(config_.data.scale),
                          "\", which is measured on the data"));
  if (measures_statistics(config_) && before_.empty())
    list.push_back("ranges, means and deviations of data.schema, which are measured without noise");
  if (starts_from_model(config_))
    list.push_back("the records that the model of algorithm.start was learned from");
  if (shared_ && sigma_ > 0)
    list.insert(list.begin(), concat("an adversary that knows the secrets of more than ",
                                     config_.privacy->colluders, " agents"));
  if (sigma_ == 0)
    list.push_back("everything: no noise is added");
  else if (!secure_)
    list.push_back("everything: the noise is simulated from the seed");
  return list;
}

}  // namespace porter
