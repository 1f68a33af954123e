# SPDX-License-Identifier: Apache-2.0
"""What the peers share: the problem that round_worker exported, its draws, and the answers to the driver.

    round_NAME.py FOLDER             answers "time round COUNT" with {"seconds": s}, as round_worker does
    round_NAME.py FOLDER --check     follows porter's own draws and compares the iterates with FOLDER/iterates.f64
"""
import json
import math
import pathlib
import sys
import time

import numpy as np

THREADS = 2


class Problem:
    """The arrays of an exported setting; shapes are in bench/round/export.hpp."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.__dict__.update(json.loads((self.folder / "problem.json").read_text()))
        n, m = self.agents, self.samples
        self.rows = self.read("features.f32", n * m, self.features)
        self.labels = self.read("labels.f32", n * m).astype(np.int64)
        self.mixing = self.read("mixing.f64", n, n)
        self.start = self.read("start.f64", self.dim)

    def read(self, name, *shape):
        kind = {"f32": np.float32, "f64": np.float64, "u32": np.uint32}[name[-3:]]
        return np.fromfile(self.folder / name, kind).reshape(shape)

    def layers(self):
        """Per layer: first weight, first bias, end, outputs, inputs; x = vec(W1, c1, W2, c2, ...)."""
        widths, at = [self.features, *self.hidden, self.classes], 0
        for inputs, outputs in zip(widths, widths[1:]):
            yield at, at + inputs * outputs, at + (inputs + 1) * outputs, outputs, inputs
            at += (inputs + 1) * outputs


def draws_needed(k, n):
    """So many uniform draws from n have k different ones among them, but for some six standard deviations."""
    mean = n * -math.log1p(-k / n) if k < n else n * (math.log(n) + 6)
    return int(mean + 6 * math.sqrt(mean * k / n + 1) + 4)


class Subsets:
    """`rows` uniform subsets of k out of n, as positions in a rows x n matrix: of uniform draws, the first k that differ.
    Beats a partition of n random numbers, and rng.choice row by row except for a few long rows."""

    def __init__(self, rng, rows, k, n):
        self.rng, self.shape, self.k, self.n = rng, (rows, draws_needed(k, n)), k, n
        self.offsets = np.arange(rows, dtype=np.int64)[:, None] * n
        self.order = np.broadcast_to(np.arange(self.shape[1], dtype=np.int32), self.shape)
        self.stamp = np.empty(rows * n, np.int32)

    def draw(self):
        while True:
            at = self.rng.integers(self.n, size=self.shape)
            at += self.offsets
            self.stamp[at] = self.order
            kept = self.stamp[at] == self.order  # one of each value
            kept &= kept.cumsum(axis=1, dtype=np.int32) <= self.k
            chosen = at[kept]
            if len(chosen) == self.shape[0] * self.k:
                return chosen.reshape(self.shape[0], self.k)


class Draws:
    """Batches, masks and noise of a round for some agents, fresh ones; exactly b and k, as porter draws them."""

    def __init__(self, problem, agents, seed):
        p, n = problem, len(agents)
        self.rng = np.random.Generator(np.random.SFC64(seed))
        self.first_row = agents[0] * p.samples
        self.batches = Subsets(self.rng, n, p.batch, p.samples)
        self.entries = Subsets(self.rng, 2 * n, p.kept, p.dim)

    def batch(self, _round):
        """agents x b rows of the data."""
        return self.batches.draw() + self.first_row

    def masks(self, _round):
        """Positions in the agents' rows of [V X]."""
        return self.entries.draw().ravel()

    def noise(self, _round, out):
        self.rng.standard_normal(dtype=np.float32, out=out)


class RecordedDraws:
    """The draws of porter's own run."""

    def __init__(self, problem, agents):
        p, own = problem, slice(agents[0], agents[-1] + 1)
        first_rows = np.arange(p.agents)[:, None] * p.samples
        self.batches = (p.read("batches.u32", p.rounds, p.agents, p.batch) + first_rows)[:, own]
        masks = p.read("masks.u32", p.rounds, 2, p.agents, p.kept)[:, :, own].transpose(0, 2, 1, 3)
        self.entries = masks.reshape(p.rounds, -1, p.kept) + np.arange(2 * len(agents))[:, None] * p.dim
        self.values = p.read("noise.f32", p.rounds, p.agents, p.dim)[:, own]

    def batch(self, t):
        return self.batches[t]

    def masks(self, t):
        return self.entries[t].ravel()

    def noise(self, t, out):
        out[...] = self.values[t]


def blas():
    maps = pathlib.Path("/proc/self/maps").read_text()
    return next((name for name in ("mkl", "openblas", "blis") if name in maps), "reference BLAS")


def check(problem, peer):
    for t in range(problem.rounds):
        peer.step(t)
    ours = problem.read("iterates.f64", problem.agents, problem.dim)
    theirs = np.asarray(peer.iterates(), np.float64)
    moved = np.abs(ours - problem.start).max()
    return {"relative_difference": float(np.abs(ours - theirs).max() / moved)}


def serve(name, peer):
    print(json.dumps({"peer": name, "blas": blas()}), flush=True)
    t = 0
    for line in sys.stdin:
        _verb, _what, count = line.split()
        start = time.perf_counter()
        for _ in range(int(count)):
            peer.step(t)
            t += 1
        print(json.dumps({"seconds": time.perf_counter() - start}), flush=True)


def main(name, make_peer):
    problem = Problem(sys.argv[1])
    if "--check" in sys.argv[2:]:
        print(json.dumps(check(problem, make_peer(problem, RecordedDraws))))
    else:
        serve(name, make_peer(problem))
