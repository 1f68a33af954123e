// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/statement.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
constexpr std::string_view kNoNoise = "none";

// The keys of one statement, each checked as it is taken.
class Fields {
 public:
  Fields(const Json& json, const std::string& source) : json_(json), source_(source) {
    require(json.is_object(), ErrorKind::io, source, ": expected a JSON object");
  }

  void check(bool good, const char* key, const char* expected) const {
    require(good, ErrorKind::io, source_, ": key '", key, "': expected ", expected);
  }
  // Null where the key is absent, too.
  const Json& get(const char* key) const {
    static const Json kNull;
    const auto found = json_.find(key);
    return found == json_.end() ? kNull : *found;
  }
  std::string text(const char* key) const {
    check(get(key).is_string(), key, "a text");
    return without_controls(get(key).get<std::string>());
  }
  std::string text_or_empty(const char* key) const { return get(key).is_null() ? "" : text(key); }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> list;
    check(get(key).is_array(), key, "a list of texts");
    for (const auto& item : get(key)) {
      check(item.is_string(), key, "a list of texts");
      list.push_back(without_controls(item.get<std::string>()));
    }
    return list;
  }
  template <class Count>
  Count count(const char* key) const {
    const auto value = whole_number<Count>(get(key));
    check(value.has_value(), key, "a whole number");
    return *value;
  }
  std::optional<double> number(const char* key) const {
    if (get(key).is_null()) return std::nullopt;
    check(get(key).is_number(), key, "a number");
    return get(key).get<double>();
  }
  template <class Enum>
  Enum choice(const char* key) const {
    const auto value = find_choice<Enum>(text(key));
    check(value.has_value(), key, "a word that is known");
    return *value;
  }

 private:
  const Json& json_;
  const std::string& source_;
};

// JSON has no infinity: it is written as null.
std::optional<EpsilonInterval> read_epsilon(const Fields& fields) {
  const auto& bounds = fields.get("epsilon");
  if (bounds.is_null()) return std::nullopt;
  const auto good = [](const Json& bound) { return bound.is_number() || bound.is_null(); };
  fields.check(bounds.is_array() && bounds.size() == 2 && good(bounds[0]) && good(bounds[1]),
               "epsilon", "[lower, upper] or null");
  const auto value = [](const Json& bound) {
    return bound.is_null() ? std::numeric_limits<double>::infinity() : bound.get<double>();
  };
  return EpsilonInterval{.lower = value(bounds[0]),
                         .upper = value(bounds[1]),
                         .method = fields.text_or_empty("accountant")};
}

std::optional<PrivacyStatement::Parts> read_parts(const Fields& fields) {
  const auto& parts = fields.get("parts");
  if (parts.is_null()) return std::nullopt;
  const auto number = [&](const char* part, const char* key) {
    const auto inner = parts.is_object() ? parts.value(part, Json()) : Json();
    const auto value = inner.is_object() ? inner.value(key, Json()) : Json();
    fields.check(value.is_number() && value.get<double>() >= 0, "parts",
                 "what statistics and training cost");
    return value.get<double>();
  };
  return PrivacyStatement::Parts{
      .statistics = static_cast<std::uint64_t>(number("statistics", "releases")),
      .statistics_sigma = number("statistics", "sigma"),
      .statistics_epsilon = number("statistics", "epsilon"),
      .training_epsilon = number("training", "epsilon")};
}

constexpr const char* kSharedNoise = "shared_noise";
constexpr std::string_view kAllSets = "all sets of colluders", kDegrees = "degrees";

Json shared_json(const PrivacyStatement::Shared& shared) {
  return {{"shape", choice_text(shared.shape)},
          {"colluders", shared.colluders},
          {"own_sigma", shared.own_sigma},
          {"pair_sigma", shared.pair_sigma},
          {"bound", shared.enumerated ? kAllSets : kDegrees}};
}

std::optional<PrivacyStatement::Shared> read_shared(const Fields& outer,
                                                    const std::string& source) {
  const auto& json = outer.get(kSharedNoise);
  if (json.is_null()) return std::nullopt;
  const Fields fields(json, source + ": " + kSharedNoise);
  PrivacyStatement::Shared shared;
  shared.shape = fields.choice<NoiseShape>("shape");
  shared.colluders = fields.count<std::size_t>("colluders");
  shared.own_sigma = fields.number("own_sigma").value_or(0);
  shared.pair_sigma = fields.number("pair_sigma").value_or(0);
  shared.enumerated = fields.text("bound") == kAllSets;
  fields.check(shared.shape != NoiseShape::independent, "shape", "a shape that shares noise");
  fields.check(shared.own_sigma > 0, "own_sigma", "a number above 0");
  fields.check(shared.pair_sigma > 0, "pair_sigma", "a number above 0");
  return shared;
}

constexpr const char* kAgents = "agents";
constexpr const char* kPhases = "phases";

Json agents_json(const std::vector<PrivacyStatement::Agent>& agents) {
  Json list = Json::array();
  for (std::size_t i = 0; i < agents.size(); ++i) {
    const auto& own = agents[i];
    list.push_back({{"agent", i},
                    {"m", own.records},
                    {"batch", own.batch},
                    {"sigma", own.sigma},
                    {"target_epsilon", own.budget},
                    {"epsilon", own.epsilon ? Json(*own.epsilon) : Json(nullptr)}});
  }
  return list;
}

// The worst of them is what the statement promises.
std::vector<PrivacyStatement::Agent> read_agents(const Fields& outer, const std::string& source,
                                                 const std::optional<EpsilonInterval>& worst) {
  std::vector<PrivacyStatement::Agent> agents;
  const auto& list = outer.get(kAgents);
  if (list.is_null()) return agents;
  outer.check(list.is_array(), kAgents, "a list");
  for (const auto& item : list) {
    const Fields fields(item, source + ": " + kAgents);
    agents.push_back({.records = fields.count<std::size_t>("m"),
                      .batch = fields.count<std::size_t>("batch"),
                      .sigma = fields.number("sigma").value_or(0),
                      .budget = fields.number("target_epsilon").value_or(0),
                      .epsilon = fields.number("epsilon")});
    const auto& own = agents.back().epsilon;
    outer.check(worst ? !own || *own <= worst->upper : !own, kAgents,
                "no epsilon above that of the worst agent, which stands beside it");
    outer.check(!worst || own || !std::isfinite(worst->upper), kAgents, "an epsilon of each");
  }
  return agents;
}

Json phases_json(const std::vector<PrivacyStatement::Phase>& phases) {
  Json list = Json::array();
  for (const auto& phase : phases)
    list.push_back({{"rounds", phase.rounds}, {"sigma", phase.sigma}, {"clip", phase.clip}});
  return list;
}

std::vector<PrivacyStatement::Phase> read_phases(const Fields& outer, const std::string& source) {
  std::vector<PrivacyStatement::Phase> phases;
  const auto& list = outer.get(kPhases);
  if (list.is_null()) return phases;
  outer.check(list.is_array(), kPhases, "a list");
  for (const auto& item : list) {
    const Fields fields(item, source + ": " + kPhases);
    phases.push_back({.rounds = fields.count<std::uint32_t>("rounds"),
                      .sigma = fields.number("sigma").value_or(0),
                      .clip = fields.number("clip").value_or(0)});
  }
  return phases;
}

// Against whom the promise holds.
std::string adversary(const PrivacyStatement& statement) {
  if (!statement.shared) return "everybody else together, for everything that leaves the agent";
  return concat("an eavesdropper of all messages of all agents together with up to ",
                statement.shared->colluders, " colluding agents; not against all others together");
}

bool clips(const std::string& spec) {
  try {
    return parse_clip(spec).kind != Clip::Kind::none;
  } catch (const Error&) {
    return false;
  }
}

// A claim that its own facts do not carry is no claim that anybody may act on.
bool read_guarantee(const Fields& fields, const PrivacyStatement& facts) {
  const auto& claim = fields.get("guarantee");
  if (claim.is_null()) return false;
  fields.check(claim.is_object(), "guarantee", "{epsilon, delta} or null");
  fields.check(
      facts.noise == NoiseSource::secret && facts.sigma > 0 && clips(facts.clip) &&
          facts.clip_target == ClipTarget::sample && facts.delta && *facts.delta > 0 &&
          *facts.delta < 1 && facts.epsilon && facts.epsilon->upper >= 0 &&
          std::isfinite(facts.epsilon->upper) &&
          claim.value("epsilon", Json()) == facts.epsilon->upper &&
          claim.value("delta", Json()) == *facts.delta,
      "guarantee",
      "null, or secret noise, clipping of each sample, and the epsilon and delta beside it");
  return true;
}

}  // namespace

std::string statement_json(const PrivacyStatement& statement) {
  Json json = {
      {"statement", statement.sentence},
      {"guarantee", nullptr},
      {"noise", statement.noise ? choice_text(*statement.noise) : kNoNoise},
      {"level", choice_text(PrivacyLevel::record)},
      {"against", adversary(statement)},
      {"sigma", statement.sigma},
      {"clip", statement.clip},
      {"clip_target", choice_text(statement.clip_target)},
      {"batch", statement.batch},
      {"m", statement.records},
      {"rounds", statement.rounds},
      {"releases", statement.releases},
  };
  if (statement.guaranteed)
    json["guarantee"] = {{"epsilon", statement.epsilon->upper}, {"delta", *statement.delta}};
  if (statement.delta) json["delta"] = *statement.delta;
  if (statement.sampler) json["sampler"] = choice_text(*statement.sampler);
  if (!statement.relation.empty()) json["relation"] = statement.relation;
  if (!statement.calibration.empty()) json["calibration"] = statement.calibration;
  if (statement.target_epsilon) json["target_epsilon"] = *statement.target_epsilon;
  json["epsilon"] = json["accountant"] = nullptr;
  if (const auto& bounds = statement.epsilon) {
    json["epsilon"] = {bounds->lower, bounds->upper};
    json["accountant"] = bounds->method;
  }
  if (const auto& parts = statement.parts)
    json["parts"] = {{"statistics",
                      {{"releases", parts->statistics},
                       {"sigma", parts->statistics_sigma},
                       {"epsilon", parts->statistics_epsilon}}},
                     {"training", {{"epsilon", parts->training_epsilon}}}};
  if (statement.shared) json[kSharedNoise] = shared_json(*statement.shared);
  if (!statement.agents.empty()) json[kAgents] = agents_json(statement.agents);
  if (!statement.phases.empty()) json[kPhases] = phases_json(statement.phases);
  json["not_covered"] = statement.not_covered;
  json["warnings"] = statement.warnings;
  return json_text(json, 2) + "\n";
}

PrivacyStatement parse_statement(std::string_view json, const std::string& source) {
  const auto object = Json::parse(json, nullptr, false);
  const Fields fields(object, source);
  PrivacyStatement out;
  out.sentence = fields.text("statement");
  if (fields.text("noise") != kNoNoise) out.noise = fields.choice<NoiseSource>("noise");
  fields.check(fields.choice<PrivacyLevel>("level") == PrivacyLevel::record, "level", "record");
  out.sigma = fields.number("sigma").value_or(0);
  out.clip = fields.text("clip");
  out.clip_target = fields.choice<ClipTarget>("clip_target");
  out.batch = fields.count<std::size_t>("batch");
  out.records = fields.count<std::size_t>("m");
  out.rounds = fields.count<std::uint32_t>("rounds");
  out.releases = fields.count<std::uint64_t>("releases");
  out.delta = fields.number("delta");
  if (!fields.get("sampler").is_null()) out.sampler = fields.choice<Sampler>("sampler");
  out.relation = fields.text_or_empty("relation");
  out.calibration = fields.text_or_empty("calibration");
  out.target_epsilon = fields.number("target_epsilon");
  out.epsilon = read_epsilon(fields);
  out.parts = read_parts(fields);
  out.shared = read_shared(fields, source);
  out.agents = read_agents(fields, source, out.epsilon);
  out.phases = read_phases(fields, source);
  out.not_covered = fields.texts("not_covered");
  out.warnings = fields.texts("warnings");
  out.guaranteed = read_guarantee(fields, out);
  return out;
}

std::optional<PrivacyStatement> load_statement(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  return parse_statement(read_file(file, kMaxBytes), file.string());
}

}  // namespace porter
