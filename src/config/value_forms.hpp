// SPDX-License-Identifier: Apache-2.0
// Values of a config as TOML has them: their texts, and readers of those that have more than one
// form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/text.hpp"
#include "io/toml.hpp"
#include "io/toml_section.hpp"
#include "porter/config/config.hpp"
#include "porter/core/choice.hpp"

namespace porter {

// --- texts; empty where there is no value

template <class Value>
std::string text_of(const Value& value) {
  if constexpr (std::is_same_v<Value, bool>)
    return value ? "true" : "false";
  else if constexpr (std::is_floating_point_v<Value>)
    return shortest(value);
  else if constexpr (std::is_integral_v<Value>)
    return std::to_string(value);
  else if constexpr (std::is_enum_v<Value>)
    return in_quotes(choice_text(value));
  else if constexpr (std::is_same_v<Value, std::string>)
    return in_quotes(value);
  else
    return in_quotes(to_string(value));
}
std::string text_of(const std::optional<double>& value);
std::string text_of(const std::optional<LossKind>& value);
std::string text_of(const std::optional<FeatureMoments>& moments);
std::string text_of(const std::vector<std::size_t>& widths);
std::string text_of(const std::vector<std::string>& texts);
std::string text_of(const std::vector<double>& labels);

std::string batch_text(const Config& config);
std::string dense_text(const Config& config);
std::string budgets_text(const Config& config);
std::string checkpoint_text(const Config& config);

// --- readers of one key; they leave the value alone where the section does not have it

void read_schema(TomlSection& section, Config& config);
void read_classes(TomlSection& section, const std::string& name, std::vector<double>& classes);
void read_moments(TomlSection& section, const std::string& name,
                  std::optional<FeatureMoments>& moments);
void read_hidden(TomlSection& section, const std::string& name, std::vector<std::size_t>& widths);
void read_layers(TomlSection& section, const std::string& name, std::vector<std::string>& layers);
void read_schedule(TomlSection& section, Config& config);  ///< of a network, who meets whom
void read_dropout(TomlSection& section, Config& config);
void read_batch(TomlSection& section, const std::string& name, std::size_t& batch);
void read_unbiased(TomlSection& section, Config& config);
void read_budgets(TomlSection& section, Config& config);
void read_calibration(TomlSection& section, Config& config);

// --- readers of a text; Error{usage} says what was expected

std::string parse_compressor(const std::string& text);
Schedule parse_schedule(const std::string& text);  ///< of evaluations
std::uint32_t parse_checkpoint(const std::string& text);
EngineKind parse_engine(const std::string& text);

}  // namespace porter
