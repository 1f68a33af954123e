# SPDX-License-Identifier: Apache-2.0
"""Clipping, stochastic gradients, compression, and the mixing of rows."""
import math

import numpy as np

from slow.models import GRADIENTS, mlp_widths
from slow.randomness import BATCH, MASK, NOISE, Stream


def clip(case, g):
    norm = math.sqrt(np.sum(g * g))
    if case.clip == "none":
        return g
    kind, tau = case.clip.split(":")
    if kind == "smooth":
        return float(tau) / (float(tau) + norm) * g
    return g if norm == 0 else min(1.0, float(tau) / norm) * g


def stochastic_gradient(case, data, agent, x, t):
    features, labels = data
    m = len(labels) // case.agents
    if case.batch == "full":
        batch = range(m)
    else:
        batch = Stream(case.seed, BATCH, agent, t).choose(case.batch, m)
    gradient = GRADIENTS[case.model]
    per_sample = case.clip_target == "sample"
    total = np.zeros(len(x))
    for z in batch:
        row = agent * m + z  # split = "contiguous"
        g = gradient(case, x, features[row], labels[row])
        total = total + (clip(case, g) if per_sample else g)
    g = total / len(batch)
    if not per_sample:
        g = clip(case, g)
    if case.sigma:
        g = g + case.sigma * Stream(case.seed, NOISE, agent, t).noise(len(x))
    return g


def all_gradients(case, data, X, t):
    return np.array([stochastic_gradient(case, data, i, X[i], t) for i in range(case.agents)])


def kept_entries(case, d):
    _, argument = case.compressor.split(":")
    return int(argument[2:]) if argument.startswith("k=") else max(1, math.floor(float(argument) * d))


def compress(case, difference, use, agent, t):
    """C of the difference rounded to float; what comes back are floats, too."""
    x = difference.astype(np.float32)
    name = case.compressor.split(":")[0]
    if name == "identity":
        return x.astype(float)
    d = len(x)
    k = kept_entries(case, d)
    stream = Stream(case.seed, use, agent if case.mask == "own" else 0, t)
    if name == "top_k":
        kept = sorted(range(d), key=lambda j: (-abs(float(x[j])), j))[:k]
    elif name == "random_k":
        kept = sweep_block(case, d, k, t) if case.mask == "sweep" else stream.choose(k, d)
    else:
        assert name == "bernoulli"
        kept = [j for j in range(d) if stream.uniform() < k / d]
    out = np.zeros(d, np.float32)
    for j in kept:
        out[j] = x[j] if not case.unbiased else np.float32(float(x[j]) * (d / k))
    return out.astype(float)


def dense_coordinates(case):
    """Those of the parameters that travel in every message: W1, b1, W2, ... as the mlp has them."""
    at, dense = 0, set()
    widths = mlp_widths(case) if case.dense else []
    for layer, (inputs, outputs) in enumerate(zip(widths, widths[1:]), start=1):
        for name, size in ((f"W{layer}", inputs * outputs), (f"b{layer}", outputs)):
            if name in case.dense.split(","):
                dense |= set(range(at, at + size))
            at += size
    return dense


def sweep_block(case, d, k, step):
    """Block number `step` of a walk through a permutation of the coordinates that are not dense, up to k
    at a time, again and again; and those that are."""
    dense = dense_coordinates(case)
    order = [j for j in range(d) if j not in dense]
    blocks = -(-len(order) // k)
    k = -(-len(order) // blocks)
    block = (step - 1) % blocks
    stream = Stream(case.seed, MASK, 0, 0)
    for i in range(len(order) - 1, 0, -1):
        j = stream.below(i + 1)
        order[i], order[j] = order[j], order[i]
    return sorted(order[block * k : (block + 1) * k] + list(dense))


def compress_rows(case, difference, use, t):
    return np.array([compress(case, difference[i], use, i, t) for i in range(case.agents)])


def one_way_ring(n):
    """Not symmetric: W and its transpose are different runs."""
    return 0.75 * np.eye(n) + 0.25 * np.roll(np.eye(n), 1, axis=1)


def mixing_matrix(case):
    """Metropolis: 1 / (1 + the larger degree) on every edge, the rest of each row on its diagonal."""
    n = case.agents
    if case.mixing == "file:one_way.npy":
        return one_way_ring(n)
    if case.graph == "ring":
        edges = {frozenset((i, (i + 1) % n)) for i in range(n)}
    else:
        assert case.graph == "star"  # agent 0 is the centre
        edges = {frozenset((0, i)) for i in range(1, n)}
    degree = [sum(i in edge for edge in edges) for i in range(n)]
    W = np.zeros((n, n))
    for i, j in edges:
        W[i, j] = W[j, i] = 1 / (1 + max(degree[i], degree[j]))
    for i in range(n):
        W[i, i] = 1 - sum(W[i])
    return W


def mix(A, Q):
    """A^T Q, summed over agents in ascending order."""
    out = np.zeros_like(Q)
    for i in range(len(A)):
        for j in range(len(A)):
            out[i] = out[i] + A[j, i] * Q[j]
    return out
