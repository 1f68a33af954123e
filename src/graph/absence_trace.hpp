// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "porter/graph/absences.hpp"

namespace porter {

/// The rows of a file of absences, "agent,from,to" first. Errors call it `name` and say the line.
std::vector<Absences::Span> decode_absences(std::string_view text, const std::string& name,
                                            std::size_t agents);

}  // namespace porter
