// SPDX-License-Identifier: Apache-2.0
#include "io/json.hpp"

namespace porter {

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace porter
