// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "porter/core/rows.hpp"
#include "porter/core/thread_pool.hpp"

namespace porter {

/// The moving average of iterates x_1, ..., x_t that run.ema asks for, each with `decay` times the
/// weight of the next:
///   a_t = sum_s decay^(t-s) x_s / sum_s decay^(t-s)
/// as a_t = a_{t-1} + w_t (x_t - a_{t-1}), w_t = (1 - decay) / (1 - decay^t): x0 has no weight.
/// It sees only iterates, so it costs no privacy.
double ema_weight(double decay, std::uint32_t round);

/// Does that with the given rows, after round `round` >= 1.
void update_ema(double decay, std::uint32_t round, const Rows& X,
                std::span<const std::uint32_t> rows, ThreadPool& pool, Rows& average);

}  // namespace porter
