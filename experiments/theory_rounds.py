#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Table 1: PORTER-DP takes phi^-2 rounds where SoteriaFL-SGD takes phi^-1, measured.

    python3 experiments/theory_rounds.py build/release/porter

As the orders have it: PORTER-DP has steps of the order phi and batches of one record; SoteriaFL-SGD steps that
stay, and batches of 1 / phi records, as the noise of samples would otherwise stay with them. Noise is that of the
paper's formula for T rounds, sigma = clip sqrt(T log(1/delta)) / (m epsilon) = clip phi sqrt(T / d), with T = phi^-2
and phi^-1. A run goes on with this noise
until its squared gradient norm has long been at its floor, the mean over the last half of the run. Counted are the
rounds until the running mean of the squared norm, which is what the theorems bound, comes within twice the floor;
and until the squared norm itself does, for the first time. Ten agents with 1,000 records of unit length in 20
directions, so that the clip never acts; the factors of the steps are ours, one for each series.
"""
import argparse
import csv
import math
import pathlib
import statistics
import subprocess
import tempfile

import numpy as np

from theory_sizes import slope

AGENTS, RECORDS, DIM, CLIP, WITHIN = 10, 1000, 20, 1.5, 2.0
PHIS = [0.1, 0.05, 0.025, 0.0125, 0.00625]
DENSE, FIFTH = {"algorithm.compressor": "identity"}, {"algorithm.compressor": "random_k:0.2"}
PORTER, SOTERIA = {"algorithm.name": "porter-dp"}, {"algorithm.name": "soteriafl-sgd"}
SERIES = {  # settings, the power of phi in T, the step over its order, rounds of a run over T
    "porter-dp, dense": (PORTER | DENSE | {"algorithm.consensus": 1.0}, -2, 10, 16),
    "porter-dp, 20 % of each vector": (PORTER | FIFTH | {"algorithm.consensus": 0.1}, -2, 10, 40),
    "porter-dp, 20 %, half the steps": (PORTER | FIFTH | {"algorithm.consensus": 0.1}, -2, 5, 60),
    "soteriafl-sgd, dense": (SOTERIA | DENSE, -1, 2, 300),
    "soteriafl-sgd, 20 % of each vector": (SOTERIA | FIFTH, -1, 1, 300),
}


def write_data(path):
    """Records of unit length in all directions, labels by a planted model."""
    random = np.random.default_rng(1)
    planted = 4 * random.standard_normal(DIM)
    rows = random.standard_normal((AGENTS * RECORDS, DIM))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels = np.where(random.random(len(rows)) < 1 / (1 + np.exp(-rows @ planted)), 1, -1)
    np.savez(path, X=rows.astype(np.float32), y=labels.astype(np.float32))


def measure(porter, folder, series, phi, seed):
    """Rounds by the running mean, rounds by the norm itself, the floor."""
    changes, power, factor, length = SERIES[series]
    planned = phi**power
    settings = {
        "data.train": folder / "train.npz", "data.split": "shuffled", "data.bias": "false", "model.name": "logistic",
        "model.lambda": 0.001, "network.agents": AGENTS, "network.graph": "erdos-renyi:0.8", "network.mixing": "fdla",
        "algorithm.rounds": round(length * planned), "algorithm.start": "normal:0.2", "algorithm.clip": f"linear:{CLIP}",
        "algorithm.step": factor * (phi if power == -2 else 1), "algorithm.batch": 1 if power == -2 else round(1 / phi),
        "privacy.calibration": "sigma", "privacy.sigma": CLIP * phi * math.sqrt(planned / DIM), "run.seed": seed,
        "run.threads": 1, "run.evaluate": "log-all:200"} | changes
    config, out = folder / "config.toml", folder / "run"
    config.write_text("")
    command = [porter, "run", config, "--out", out, "--force"]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    with open(out / "metrics.csv") as file:
        rows = [[float(row[name]) for name in ("round", "grad_norm_sq", "utility")] for row in csv.DictReader(file)]
    rounds, norms, utilities = np.array(rows).T
    # The sum of norms over rounds 0 .. t is (t + 1) times the utility.
    half = np.searchsorted(rounds, rounds[-1] / 2)
    sums = (rounds + 1) * utilities
    floor = (sums[-1] - sums[half]) / (rounds[-1] - rounds[half])
    return crossing(rounds, utilities, WITHIN * floor), crossing(rounds, norms, WITHIN * floor), floor


def crossing(rounds, values, level):
    """The first round at or below the level, on the line from the evaluation before."""
    at = np.argmax(values <= level)
    if at == 0:
        raise SystemExit("the run is too short, or begins at its floor")
    share = (values[at - 1] - level) / (values[at - 1] - values[at])
    return rounds[at - 1] + share * (rounds[at] - rounds[at - 1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("porter", help="the command, e.g. build/release/porter")
    parser.add_argument("--series", choices=SERIES, help="this one only")
    parser.add_argument("--seeds", type=int, default=5, choices=range(1, 6))
    options = parser.parse_args()
    porter = pathlib.Path(options.porter).resolve()
    seeds = range(1, options.seeds + 1)
    with tempfile.TemporaryDirectory() as name:
        write_data(pathlib.Path(name) / "train.npz")
        for series in [options.series] if options.series else SERIES:
            power = SERIES[series][1]
            found = np.array([[measure(porter, pathlib.Path(name), series, phi, seed) for seed in seeds] for phi in PHIS])
            for i, what in enumerate((f"rounds by the running mean, the theorem {power}", f"rounds by the norm, the theorem {power}",
                                      "floor, the theorem 1")):
                means = [statistics.mean(of_phi) for of_phi in found[:, :, i]]
                local = np.diff(np.log(means)) / np.diff(np.log(PHIS))
                fitted = slope(np.repeat(PHIS, options.seeds), found[:, :, i].ravel())
                print(f"{series}: {what}: {', '.join(f'{y:.3g}' for y in means)} for phi = {PHIS}; slope {fitted},"
                      f" local {', '.join(f'{s:.2f}' for s in local)}", flush=True)


if __name__ == "__main__":
    main()
