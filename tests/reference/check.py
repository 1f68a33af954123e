#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A committed file of numbers is what its script writes today:  check.py SCRIPT FILE MODULE TOLERANCE FLOOR

The cells of the two are the same text, or numbers whose relative difference is at most TOLERANCE, or whose
difference is at most FLOOR. Without the MODULE that the script needs it exits with 77: skipped.
"""
import importlib.util
import math
import subprocess
import sys


def number(text):
    try:
        return float(text)
    except ValueError:
        return math.nan


def difference(fresh, committed, floor):
    """Relative; infinite where one of the two is no number."""
    if fresh == committed:
        return 0.0
    a, b = number(fresh), number(committed)
    if abs(a - b) <= floor:
        return 0.0
    off = abs(a - b) / max(abs(a), abs(b))
    return off if math.isfinite(off) else math.inf


def main():
    script, path, module = sys.argv[1:4]
    tolerance, floor = map(float, sys.argv[4:])
    if importlib.util.find_spec(module) is None:
        print(f"skipped: {sys.executable} has no {module}, so {path} is not verified")
        sys.exit(77)
    run = subprocess.run([sys.executable, "-B", script], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{script} failed:\n{run.stderr}")
    with open(path, encoding="utf-8") as file:
        committed = file.read().splitlines()
    fresh = run.stdout.splitlines()
    if len(fresh) != len(committed):
        sys.exit(f"{path} has {len(committed)} lines, and {script} writes {len(fresh)}")
    worst, cells = 0.0, 0
    for line, (now, then) in enumerate(zip(fresh, committed), start=1):
        now, then = now.split(","), then.split(",")
        if len(now) != len(then):
            sys.exit(f"{path}:{line}: {len(then)} cells, and {script} writes {len(now)}")
        for column, (a, b) in enumerate(zip(now, then), start=1):
            off = difference(a, b, floor)
            if off > tolerance:
                sys.exit(f"{path}:{line}: cell {column} is {b}, and {script} writes {a}")
            worst, cells = max(worst, off), cells + 1
    print(f"{cells} cells, largest relative difference {worst:.1e}")


if __name__ == "__main__":
    main()
