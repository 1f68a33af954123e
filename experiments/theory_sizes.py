#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Theorem 2 against the number of records m and the dimension d: utility of the order sqrt(d) / m.

    python3 experiments/theory_sizes.py build/release/porter

No key of a config changes m or d alone, so files are written: records of unit length in all directions,
labels by a planted model, ten agents. As the theorem has it, T = phi^-2 rounds with steps of the order
phi = sqrt(d log(1/delta)) / (m epsilon), and the noise of its formula; the clip never acts. Steps are
those of theory-privacy; m = 2,000 or d = 40 is kept, epsilon = 1, delta = 1e-3.
"""
import argparse
import csv
import math
import pathlib
import statistics
import subprocess
import tempfile

import numpy as np

AGENTS, EPSILON, DELTA, CLIP = 10, 1.0, 1e-3, 1.5
RECORDS, DIMENSIONS = [500, 1000, 2000, 4000, 8000], [10, 20, 40, 80, 160]
KEPT_RECORDS, KEPT_DIMENSION = 2000, 40
SERIES = {"dense, steps 10 phi": ("identity", 1.0, 10), "10 % of each vector, steps 2 phi": ("random_k:0.1", 0.04, 2)}
STUDENT = {3: 3.182, 8: 2.306, 13: 2.160, 18: 2.101, 23: 2.069}  # 97.5 %, by degrees of freedom


def write_data(path, records, dimension):
    random = np.random.default_rng(1)
    planted = 4 * random.standard_normal(dimension)
    rows = random.standard_normal((AGENTS * records, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels = np.where(random.random(len(rows)) < 1 / (1 + np.exp(-rows @ planted)), 1, -1)
    with open(path, "w") as out:
        for label, row in zip(labels, rows):
            out.write(f"{label} " + " ".join(f"{j + 1}:{value:.5g}" for j, value in enumerate(row)) + "\n")


def phi(records, dimension):
    return math.sqrt(dimension * math.log(1 / DELTA)) / (records * EPSILON)


def utility(porter, folder, data, size, series, seed):
    compressor, consensus, factor = SERIES[series]
    scale = phi(*size)
    settings = {
        "data.train": data, "data.split": "shuffled", "data.bias": "false", "model.name": "logistic", "model.lambda": 0.001,
        "network.agents": AGENTS, "network.graph": "erdos-renyi:0.8", "network.mixing": "fdla",
        "algorithm.name": "porter-dp", "algorithm.rounds": round(scale**-2), "algorithm.step": factor * scale,
        "algorithm.batch": 1, "algorithm.clip": f"linear:{CLIP}", "algorithm.compressor": compressor,
        "algorithm.consensus": consensus, "algorithm.start": "normal:0.2", "privacy.epsilon": EPSILON,
        "privacy.delta": DELTA, "privacy.calibration": "paper", "run.seed": seed, "run.evaluate": "log-all:40"}
    config, out = folder / "config.toml", folder / "run"
    config.write_text("")
    command = [porter, "run", config, "--out", out, "--force"]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    with open(out / "metrics.csv") as rows:
        return float(list(csv.DictReader(rows))[-1]["utility"])


def slope(x, y):
    """Of a line through the logarithms, with its 95 % interval."""
    x, y = np.log(x), np.log(y)
    line = np.polyfit(x, y, 1)
    left = y - np.polyval(line, x)
    deviation = math.sqrt(left @ left / (len(x) - 2) / np.sum((x - x.mean()) ** 2))
    half = STUDENT[len(x) - 2] * deviation
    return f"{line[0]:.2f} [{line[0] - half:.2f}, {line[0] + half:.2f}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("porter", help="the command, e.g. build/release/porter")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    porter = pathlib.Path(options.porter).resolve()
    sizes = {"m": [(m, KEPT_DIMENSION) for m in RECORDS], "d": [(KEPT_RECORDS, d) for d in DIMENSIONS]}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for (axis, cases), expected in zip(sizes.items(), ("-1", "1/2")):
            means = {series: [] for series in SERIES}
            for size in cases:
                data = folder / "train.libsvm"
                write_data(data, *size)
                for series in SERIES:
                    runs = [utility(porter, folder, data, size, series, seed) for seed in range(1, options.seeds + 1)]
                    means[series].append(statistics.mean(runs))
            values = [size[0 if axis == "m" else 1] for size in cases]
            for series, found in means.items():
                print(f"{axis} = {values}, {series}: utility {', '.join(f'{y:.3g}' for y in found)};"
                      f" slope {slope(values, found)}, the theorem {expected}")


if __name__ == "__main__":
    main()
