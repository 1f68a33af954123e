// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reproduce/study.hpp"

namespace porter {

/// A small problem on built-in data; `rest` has the kind's section and the series.
inline std::string small_study(const std::string& kind, const std::string& rest) {
  return "title = \"T\"\nabout = \"A\"\nkind = \"" + kind +
         "\"\nseeds = 2\nquick = { rounds = 4, seeds = 1, keep = 2 }\n"
         "[config]\ndata = { name = \"synthetic\" }\nnetwork = { agents = 4, graph = \"ring\" }\n"
         "algorithm = { name = \"porter-gc\", rounds = 8, batch = 2, compressor = "
         "\"random_k:0.3\", step = 0.1, consensus = 0.2 }\nrun = { evaluate = \"log:4\" }\n" +
         rest;
}

inline std::string two_curves() {
  return small_study("curves",
                     "[curves]\nmetrics = [\"loss\", \"test_accuracy\"]\n"
                     "[[series]]\nlabel = \"GC\"\ntuned = \"search/gc.toml\"\n"
                     "[[series]]\nlabel = \"BEER <b>\"\nset = { \"algorithm.name\" = \"beer\" }\n");
}

inline std::string small_slope() {
  return small_study("slope",
                     "[[series]]\nlabel = \"GC\"\n[slope]\nvary = \"algorithm.rounds\"\n"
                     "values = [2, 4, 8]\nx = \"rounds\"\ny = \"min_grad_norm\"\nexponent = -0.5\n"
                     "theorem = \"Theorem 4\"\n");
}

inline Study parsed(const std::string& text, const StudyOptions& options = {}) {
  return parse_study(text, "small", "small.toml", "", options);
}

}  // namespace porter
