#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The slow reference: short runs of every algorithm, written from the documents and not from our C++.

It follows Algorithm 1 of the paper and docs/randomness.md in the most direct form: full surrogates Q,
W as a dense matrix, G_prev kept, one sample at a time. Running it writes into its own folder, or into
the folder that is given, for every case a config (.toml) and the iterates at a few rounds (.csv),
and the data sets they use. The parts are in the folder slow.

    /usr/bin/python3 tests/golden/reference.py [folder]
"""
import pathlib
import sys

import numpy as np

from slow.algorithms import ALGORITHMS
from slow.cases import CASES, ROUNDS, to_toml
from slow.changing import ARCS, CHANGING
from slow.models import GRADIENTS, LOSSES, dimension
from slow.network import one_way_ring
from slow.randomness import MASK32, START, Stream, philox
from slow.rows import load, make_rows, write_csv, write_libsvm


def starting_point(case):
    if case.start == "zeros":
        return np.zeros(dimension(case))
    return float(case.start.split(":")[1]) * Stream(case.seed, START, 0, 0).normals(dimension(case))


def run(case):
    lines = ["round,agent," + ",".join(f"x_{j}" for j in range(dimension(case)))]
    method = (CHANGING if case.changes else ALGORITHMS)[case.algorithm]
    for t, X in enumerate(method(case, load(case), starting_point(case)), start=1):
        if t in ROUNDS:
            lines += [f"{t},{i}," + ",".join(f"{v:.17g}" for v in X[i]) for i in range(len(X))]
    return "\n".join(lines) + "\n"


def check_philox():
    """The known answers published with Random123."""
    ones = MASK32
    assert philox((0, 0, 0, 0), (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    assert philox((ones,) * 4, (ones,) * 2) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    assert philox((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)) == (
        0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)


def check_gradients(case):
    """Central differences: with step 1e-5 they are good to about 1e-10."""
    loss, gradient = LOSSES[case.model], GRADIENTS[case.model]
    features, labels = load(case)
    x = starting_point(case)
    for f, label in zip(features[:4], labels):
        g = gradient(case, x, f, label)
        for j, e in enumerate(1e-5 * np.eye(len(x))):
            slope = (loss(case, x + e, f, label) - loss(case, x - e, f, label)) / 2e-5
            assert abs(slope - g[j]) < 1e-8, (case.name, j, slope, g[j])


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    check_philox()
    for name in ("porter_gc_top_k_smooth", "porter_gc_mlp", "choco_sgd_mlp_tanh", "beer_linear_squared",
                 "choco_sgd_linear_cauchy", "porter_dp_mlp_huber", "porter_gc_mlp_tempered"):
        check_gradients(next(case for case in CASES if case.name == name))
    for name in sorted({case.data for case in CASES}):
        write = write_csv if name.endswith(".csv") else write_libsvm
        (folder / name).write_text(write(make_rows(name)))
    np.save(folder / "one_way.npy", one_way_ring(5))
    (folder / "arcs.txt").write_text("".join(f"{i} {j}\n" for i, j in ARCS))
    for case in CASES:
        (folder / f"{case.name}.toml").write_text(to_toml(case))
        (folder / f"{case.name}.csv").write_text(run(case))


if __name__ == "__main__":
    main()
