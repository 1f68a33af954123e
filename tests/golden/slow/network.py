# SPDX-License-Identifier: Apache-2.0
"""Who talks to whom, and with what weights."""
import numpy as np


def one_way_ring(n):
    """Not symmetric: W and its transpose are different runs."""
    return 0.75 * np.eye(n) + 0.25 * np.roll(np.eye(n), 1, axis=1)


def edges(case):
    """Sorted, the lower agent first."""
    n = case.agents
    if case.graph == "ring":
        return sorted({tuple(sorted((i, (i + 1) % n))) for i in range(n)})
    assert case.graph == "star"  # agent 0 is the centre
    return [(0, i) for i in range(1, n)]


def mixing_matrix(case):
    """Metropolis: 1 / (1 + the larger degree) on every edge, the rest of each row on its diagonal."""
    n = case.agents
    if case.mixing == "file:one_way.npy":
        return one_way_ring(n)
    degree = [sum(i in edge for edge in edges(case)) for i in range(n)]
    W = np.zeros((n, n))
    for i, j in edges(case):
        W[i, j] = W[j, i] = 1 / (1 + max(degree[i], degree[j]))
    for i in range(n):
        W[i, i] = 1 - sum(W[i])
    return W
