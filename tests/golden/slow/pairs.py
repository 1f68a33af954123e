# SPDX-License-Identifier: Apache-2.0
"""Noise that neighbours share, from docs/correlated-noise.md: dense matrices, every set of colluders."""
import functools
import itertools

import numpy as np

from slow.network import edges, mixing_matrix


def laplacian(case, honest):
    L = np.zeros((case.agents, case.agents))
    for i, j in edges(case):
        if i in honest and j in honest:
            e = np.eye(case.agents)[i] - np.eye(case.agents)[j]
            L += np.outer(e, e)
    return L[np.ix_(honest, honest)]


def gain(case, ratio):
    """sigma_eff / s of the worst agent, all sets of up to t colluders."""
    worst = np.inf
    for t in range(case.colluders + 1):
        for colluders in itertools.combinations(range(case.agents), t):
            honest = [i for i in range(case.agents) if i not in colluders]
            S = np.eye(len(honest)) + ratio**2 * laplacian(case, honest)
            worst = min(worst, 1 / np.sqrt(np.linalg.inv(S).diagonal().max()))
    return worst


def noise_after_gossip(case, ratio):
    """The mean over agents of a coordinate's variance after the gossip that meets it, in units of s^2."""
    n, W = case.agents, mixing_matrix(case)
    P = np.linalg.matrix_power(W, case.gossip if case.mask == "own" else 1)
    S = np.eye(n) + ratio**2 * laplacian(case, list(range(n)))
    return np.trace(P.T @ S @ P) / n


@functools.cache
def deviations(case):
    """Of an agent's own noise, and of that of each pair."""
    if case.shape == "pairwise":
        ratio = case.pair_ratio
    else:
        ladder = [0.0] + [2.0 ** (step / 4) for step in range(-16, 25)]
        ratio = min(ladder, key=lambda r: noise_after_gossip(case, r) / gain(case, r) ** 2)
    own = case.sigma / gain(case, ratio)
    return own, ratio * own
