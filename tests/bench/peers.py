#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The NumPy round that the benchmarks compare with computes what porter computes:  peers.py ROUND_WORKER

Follows porter's draws for 20 rounds and compares the iterates. The peer works in float32, porter in double: of the way that
the iterates moved, about 0.1, rounding at values near 1 may leave some 1e-5. Without NumPy it exits with 77: skipped.
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

ROUNDS = 20
TOLERANCE = 2e-4
BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
CASES = [
    ("a9a", []),
    ("a9a", ["algorithm.batch=16", "network.agents=4", "network.graph=ring"]),
    ("mlp", ["data.name=synthetic", "model.hidden=[8]"]),
    ("mlp", ["data.name=synthetic", "model.hidden=[8, 5]", "algorithm.batch=16", "network.mixing=metropolis"]),
]


def difference(worker, config, overrides, flags):
    with tempfile.TemporaryDirectory() as folder:
        questions = f"export {folder} {ROUNDS}\ntime round {ROUNDS}\niterates {folder}/iterates.f64\n"
        subprocess.run([worker, BENCH / "problems" / f"{config}.toml", *overrides], input=questions, text=True,
                       check=True, stdout=subprocess.DEVNULL)
        peer = [sys.executable, BENCH / "peers" / "round_numpy.py", folder, "--check", *flags]
        return json.loads(subprocess.run(peer, capture_output=True, text=True, check=True).stdout)["relative_difference"]


def main():
    if importlib.util.find_spec("numpy") is None:
        print("skipped: the system's python3 has no NumPy (Debian: python3-numpy)")
        sys.exit(77)
    worst = 0
    for config, overrides in CASES:
        for flags in ([], ["--threaded"]):
            found = difference(sys.argv[1], config, overrides, flags)
            print(f"{config} {' '.join(overrides + flags)}: {found:.1e} of the way moved")
            worst = max(worst, found)
    sys.exit(not worst < TOLERANCE)


if __name__ == "__main__":
    main()
