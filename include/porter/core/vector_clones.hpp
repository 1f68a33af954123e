// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Before a function with plain loops: one clone per instruction set, chosen when the program
/// starts. Contraction is off (-ffp-contract=off), so all clones give the same bits. The thread
/// sanitizer cannot run the resolver of the clones, which is called before it is ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define PORTER_VECTOR_CLONES [[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
#else
#define PORTER_VECTOR_CLONES
#endif
