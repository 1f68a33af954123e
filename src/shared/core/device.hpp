// SPDX-License-Identifier: Apache-2.0
// What decides the bits of a run and is computed on a GPU, too, is written once: plain functions of
// numbers, which nvcc compiles for both. With + - * / and sqrt alone, products and sums rounded
// apart, they have the same bits there.
#pragma once

/// In front of a lambda's body that vector code is made of, and of what it calls.
#define PORTER_INLINE __attribute__((always_inline))

/// In front of a function that is also for a GPU.
#if defined(__CUDACC__)
#define PORTER_DEVICE __host__ __device__
#else
#define PORTER_DEVICE
#endif
