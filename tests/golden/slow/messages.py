# SPDX-License-Identifier: Apache-2.0
"""Clipping, stochastic gradients, compression, and the mixing of rows."""
import math

import numpy as np

from slow.cases import kept_entries
from slow.models import GRADIENTS, mlp_widths
from slow.network import edges
from slow.pairs import deviations
from slow.randomness import BATCH, MASK, NOISE, PAIR, Stream


def clip(case, g):
    norm = math.sqrt(np.sum(g * g))
    if case.clip == "none":
        return g
    kind, tau = case.clip.split(":")
    if kind == "smooth":
        return float(tau) / (float(tau) + norm) * g
    return g if norm == 0 else min(1.0, float(tau) / norm) * g


def draw_batch(case, agent, t, m):
    """The samples of a round, and what their sum is divided by: Poisson batches have any size, and one divisor."""
    if case.batch == "full":
        return range(m), m
    stream = Stream(case.seed, BATCH, agent, t)
    if case.sampler == "fixed":
        return stream.choose(case.batch, m), case.batch
    uniforms = [stream.uniform() for _ in range(m)]
    return [z for z in range(m) if uniforms[z] + 2.0**-53 <= case.batch / m], case.batch


def stochastic_gradient(case, data, agent, x, t):
    features, labels = data
    m = len(labels) // case.agents
    batch, divisor = draw_batch(case, agent, t, m)
    gradient = GRADIENTS[case.model]
    per_sample = case.clip_target == "sample"
    total = np.zeros(len(x))
    for z in batch:
        row = agent * m + z  # split = "contiguous"
        g = gradient(case, x, features[row], labels[row])
        total = total + (clip(case, g) if per_sample else g)
    g = total / divisor
    if not per_sample:
        g = clip(case, g)
    return g + noise(case, agent, t, len(x)) if case.sigma else g


def noise(case, agent, t, d):
    if not case.shape:
        return case.sigma * Stream(case.seed, NOISE, agent, t).noise(d)
    own, shared = deviations(case)
    out = own * Stream(case.seed, NOISE, agent, t).noise(d)
    for number, (lower, higher) in enumerate(edges(case)):
        if agent in (lower, higher):
            out = out + (shared if agent == lower else -shared) * Stream(case.seed, PAIR, number, t).noise(d)
    return out


def all_gradients(case, data, X, t):
    return np.array([stochastic_gradient(case, data, i, X[i], t) for i in range(case.agents)])


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


def mix(A, Q):
    """A^T Q, summed over agents in ascending order."""
    out = np.zeros_like(Q)
    for i in range(len(A)):
        for j in range(len(A)):
            out[i] = out[i] + A[j, i] * Q[j]
    return out
