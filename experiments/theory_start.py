#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 begins with V = Q_v = G = 0. What it costs, against a start that has a gradient already.

    python3 experiments/theory_start.py

No key starts PORTER elsewhere, so this is the slow reference of tests/golden (five agents on a ring, 60 records,
8 parameters, 200 rounds, seeds 1 to 5), from V = 0; from V = G = G(x0), drawn once more, with Q_v = 0; and from the
same with Q_v = V, as if the first tracker had been sent whole. That the first is Algorithm 1 is checked against the
reference's own iterates. Utility is the mean of |grad f|^2 at the agents' average over the points before each round.
"""
import pathlib
import statistics
import sys
from types import SimpleNamespace

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/golden"))
from slow.algorithms import porter  # noqa: E402
from slow.cases import ROUNDS, Case  # noqa: E402
from slow.messages import all_gradients, compress_rows, mix  # noqa: E402
from slow.models import GRADIENTS, LOSSES  # noqa: E402
from slow.network import mixing_matrix  # noqa: E402
from slow.randomness import COMPRESS_V, COMPRESS_X, START, Stream  # noqa: E402
from slow.rows import load  # noqa: E402

STARTS = ("V = 0", "V = G(x0), Q_v = 0", "V = G(x0) = Q_v")
FAR = dict(start="normal:2", regulariser=0.01)
CASES = {
    "porter-dp, noise 0.1, half of each vector": dict(
        algorithm="porter-dp", step=0.05, clip="smooth:1.0", compressor="random_k:0.5", consensus=0.2, sigma=0.1),
    "porter-gc, top quarter of each vector": dict(
        algorithm="porter-gc", step=0.1, clip="smooth:1.0", clip_target="batch", compressor="top_k:0.25", consensus=0.3),
    "beer, top quarter of each vector, whole batches": dict(
        algorithm="beer", step=0.1, batch="full", compressor="top_k:0.25", consensus=0.3),
}


def started(case, data, x0, start):
    """Algorithm 1 of the reference, from one of the starts."""
    n, d = case.agents, len(x0)
    gap = mixing_matrix(case) - np.eye(n)
    X = np.tile(x0, (n, 1))
    Qx = X.copy()
    G_prev = np.zeros((n, d)) if start == "V = 0" else all_gradients(case, data, X, 0)
    V = G_prev.copy()
    Qv = V.copy() if start.endswith("= Q_v") else np.zeros((n, d))
    for t in range(1, max(ROUNDS) + 1):
        G = all_gradients(case, data, X, t)
        Qv = Qv + compress_rows(case, V - Qv, COMPRESS_V, t)
        V = V + case.consensus * mix(gap, Qv) + (G - G_prev)
        Qx = Qx + compress_rows(case, X - Qx, COMPRESS_X, t)
        X = X + case.consensus * mix(gap, Qx) - case.step * V
        G_prev = G
        yield X


def measure(case, data, points):
    """Utility, and at the end the loss of the average and the mean loss of the agents."""
    features, labels = data
    gradient, loss = GRADIENTS[case.model], LOSSES[case.model]
    mean = lambda of, x: sum(of(case, x, f, label) for f, label in zip(features, labels)) / len(labels)
    utility = statistics.mean(np.sum(mean(gradient, X.mean(0)) ** 2) for X in points[:-1])
    return SimpleNamespace(utility=utility, loss=mean(loss, points[-1].mean(0)),
                           agents=statistics.mean(mean(loss, x) for x in points[-1]))


def main():
    for name, settings in CASES.items():
        for far, more in (("", {}), (", from far away", FAR)):
            found = {start: [] for start in STARTS}
            for seed in range(1, 6):
                case = Case(name, seed=seed, **(settings | more))
                data = load(case)
                x0 = float(case.start.split(":")[1]) * Stream(seed, START, 0, 0).normals(data[0].shape[1])
                for start in STARTS:
                    points = [np.tile(x0, (case.agents, 1)), *started(case, data, x0, start)]
                    if start == "V = 0":
                        assert all(np.array_equal(a, b) for a, b in zip(points[1:], porter(case, data, x0), strict=True))
                    found[start].append(measure(case, data, points))
            for start, runs in found.items():
                mean = {key: statistics.mean(getattr(run, key) for run in runs) for key in ("utility", "loss", "agents")}
                ratios = [run.utility / first.utility for run, first in zip(runs, found["V = 0"])]
                print(f"{name}{far}: {start}: utility {mean['utility']:.4g}, loss at the end {mean['loss']:.4g}, of the"
                      f" agents {mean['agents']:.4g}; utility over that of V = 0: {min(ratios):.3f} to {max(ratios):.3f}",
                      flush=True)


if __name__ == "__main__":
    main()
