// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "porter/algo/algorithm.hpp"

namespace porter {

// One per file; the registry's rows point at them.
std::unique_ptr<Algorithm> make_choco_sgd(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_clip21_sgd2m(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_ddp_srm(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_deepsqueeze(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_dp_csgp(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_dsgd(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_dsgt(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_gt_nsgdm(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_lead(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_led(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_lt_admm(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_motef_vr(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_porter(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_porter_sweep(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_push_sum(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_sgd(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_soteriafl_sgd(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_soteriafl_svrg(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_sparq_sgd(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_sweep_led(const AlgorithmSetup& setup);

}  // namespace porter
