// SPDX-License-Identifier: Apache-2.0
// Everything that a program needs to train: with `assemble` and `train` as a config says, with
// models, data, graphs, compressors and methods of its own, and as an agent over the network.
#pragma once

#include "porter/agent/agent.hpp"
#include "porter/algo/scripted.hpp"
#include "porter/comm/keys.hpp"
#include "porter/comm/mpi.hpp"
#include "porter/config/config.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "porter/cuda/cuda.hpp"
#include "porter/privacy/accountant.hpp"
#include "porter/privacy/ledger.hpp"
#include "porter/train/train.hpp"
#include "porter/version.hpp"
