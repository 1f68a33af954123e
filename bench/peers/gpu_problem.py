# SPDX-License-Identifier: Apache-2.0
"""The round that peers of the CUDA engine do: PORTER-DP with the paper's network, one sample an agent, random_k 5 %,
eight neighbours. What check_device `peers FOLDER` wrote says what three rounds of it must come to."""
import pathlib

import numpy as np

INPUTS, HIDDEN, OUTPUTS = 784, 64, 10
WEIGHTS = INPUTS * HIDDEN
DIM = WEIGHTS + HIDDEN + HIDDEN * OUTPUTS + OUTPUTS
KEPT = DIM // 20
SLACK = 200  # KEPT distinct ones are among so many draws more, but for a chance below 1e-9
SIGMA, ETA, GAMMA, TAU = 0.05, 0.01, 0.01, 0.7


def neighbours(n, seed=5):
    """Of each agent, itself among them: numbers and weights of W - I, for about eight others each."""
    rng = np.random.default_rng(seed)
    sets = [{i} for i in range(n)]
    for _ in range(4):
        order = rng.permutation(n).tolist()
        for a, b in zip(order, order[1:] + order[:1]):
            sets[a].add(b)
            sets[b].add(a)
    width = max(map(len, sets))
    index, weight = np.zeros((n, width), np.int64), np.zeros((n, width), np.float32)
    for i, others in enumerate(sets):
        for column, j in enumerate(sorted(others)):
            index[i, column], weight[i, column] = j, 1 / width - (i == j)
        weight[i, sorted(others).index(i)] += (width - len(others)) / width
    return index, weight


def rows_of(gap):
    """A dense W - I as neighbours() gives it."""
    width = max(int((row != 0).sum()) for row in gap)
    index, weight = np.zeros((len(gap), width), np.int64), np.zeros((len(gap), width), np.float32)
    for i, row in enumerate(gap):
        there = np.flatnonzero(row)
        index[i, : len(there)], weight[i, : len(there)] = there, row[there]
    return index, weight


class Expected:
    """Inputs, draws and result of some rounds of the engine."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        n, rows, rounds = (int(word) for word in (folder / "sizes.txt").read_text().split())
        read = lambda name, kind, *shape: np.fromfile(folder / name, kind).reshape(shape)
        self.agents, self.rounds = n, rounds
        self.start = read("start.f32", np.float32, DIM)
        self.index, self.weight = rows_of(read("gap.f32", np.float32, n, n))
        self.data = read("data.f32", np.float32, rows, INPUTS)
        self.labels = read("labels.f32", np.float32, rows).astype(np.int64)
        self.rows = read("rows.u32", np.uint32, rounds, n).astype(np.int64)
        self.masks = read("masks.u32", np.uint32, rounds, n, 2, KEPT).astype(np.int64)
        self.noise = read("noise.f32", np.float32, rounds, n, DIM)
        self.result = read("result.f32", np.float32, n, DIM)

    def error(self, found):
        """How far X is from the engine's, beside how far the engine moved it."""
        moved = np.linalg.norm(self.result - self.start)
        return float(np.linalg.norm(np.asarray(found, np.float64) - self.result) / moved)
