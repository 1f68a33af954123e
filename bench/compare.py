#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Times the rounds of two builds by turns:  compare.py LIMIT PASSES WORKER_A WORKER_B

Prints B's time in units of A's for every problem; exits with 1 if one of them is above LIMIT. Called by compare.sh.
"""
import pathlib
import sys

from measure import Program, Task, interleave
from page import duration

PROBLEMS = {"a9a, b = 1": ("a9a", []), "MLP, b = 1": ("mlp", []), "MLP, b = 128": ("mlp", ["algorithm.batch=128"])}
SLICE_SECONDS = 0.05


def main():
    limit, passes, workers = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:5]
    worst = 0
    print(f"{'round':14} {'A':>10} {'B':>10} {'B / A':>8} {'spread':>7}")
    for name, (config, overrides) in PROBLEMS.items():
        problem = pathlib.Path(__file__).resolve().parent / "problems" / f"{config}.toml"
        programs = [Program(worker, problem, *overrides) for worker in workers]
        a, b = interleave([Task(program, "round", SLICE_SECONDS) for program in programs], passes)
        ratio = b.ratios(a)
        worst = max(worst, ratio.time)
        print(f"{name:14} {duration(a.time):>10} {duration(b.time):>10} {ratio.time:8.3f} ±{100 * ratio.spread():4.1f} %", flush=True)
        for program in programs:
            program.close()
    if worst > limit:
        print(f"B is slower than {limit} times A")
    sys.exit(worst > limit)


if __name__ == "__main__":
    main()
