#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rounds of the CUDA engine: `porter bench --gpu`.

Runs check_device of tests/cuda (tests/cuda/run.sh builds it) and makes a table of it: what a round takes on the GPU
and on the processor beside it, and which share of the rate of plain copies it reaches, with the bytes that a round
cannot do without. Ends with code 3 and says what is missing where there is no GPU, nvcc or build.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "cuda"
LINE = re.compile(
    r"(?P<model>[^,]+(?:, d = \d+)?), n = (?P<agents>\d+), b = (?P<batch>\d+), (?P<precision>double|float): "
    r"(?P<device>[\d.]+) us a round \(processor: (?P<host>\d+) us\); (?P<verdict>.*)"
)
COPY = re.compile(r"copies: ([\d.]+) TB/s")
DIMS = {"mlp 784-64-10": 50_890, "logistic, d = 124": 124}


def missing(what):
    print(f"porter bench --gpu: {what}", file=sys.stderr)
    sys.exit(3)


def program():
    """check_device, built where it is not there."""
    if not pathlib.Path("/dev/nvidia0").exists() and not shutil.which("nvidia-smi"):
        missing("no GPU here (no /dev/nvidia0, no nvidia-smi)")
    path = FOLDER / "check_device"
    if not path.exists() and subprocess.run([ROOT / "tests/cuda/run.sh", "build"]).returncode != 0:
        missing("tests/cuda/run.sh build failed: it needs nvcc and what porter is built from")
    return path


def least_bytes(row):
    """Per agent and coordinate: U, X and both gaps read and written, X once more for the gradient. Only for rounds of
    single samples with stored gaps: else other things decide."""
    if int(row["batch"]) > 1 or int(row["agents"]) <= 32:
        return None
    return 9 * (8 if row["precision"] == "double" else 4)


def parse(text):
    copies = COPY.search(text)
    rows = [match.groupdict() for match in map(LINE.match, text.splitlines()) if match]
    for row in rows:
        row["least_bytes"] = least_bytes(row)
        row["share"] = None
        if row["least_bytes"] and copies:
            moved = row["least_bytes"] * int(row["agents"]) * DIMS[row["model"]]
            row["share"] = moved / (float(row["device"]) * 1e-6) / (float(copies.group(1)) * 1e12)
    return {"copy_tb_per_s": float(copies.group(1)) if copies else None, "rounds": rows}


def table(report):
    lines = [
        "| | n | b | | GPU, µs | processor, µs | | bytes | of the copy rate |",
        "|---|--:|--:|---|--:|--:|---|--:|--:|",
    ]
    for r in report["rounds"]:
        host = r["host"] if r["host"] != "0" else ""
        share = f"{100 * r['share']:.0f} %" if r["share"] else ""
        lines.append(
            f"| {r['model']} | {int(r['agents']):,} | {r['batch']} | {r['precision']} | {float(r['device']):,.1f} | {host} | "
            f"{r['verdict']} | {r['least_bytes'] or ''} | {share} |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpu", action="store_true", help="for the launcher")
    parser.add_argument("--json", metavar="FILE", help="write the figures there as well")
    options = parser.parse_args()
    path = program()
    result = subprocess.run([path, "time"], stdout=subprocess.PIPE, text=True, check=False)
    report = parse(result.stdout)
    if not report["rounds"]:
        missing(f"check_device said nothing to make a table of: {result.stdout.strip()[-300:]}")
    if report["copy_tb_per_s"]:
        print(f"copies on the device: {report['copy_tb_per_s']} TB/s, read and written\n")
    print(table(report))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    sys.exit(result.returncode)


if __name__ == "__main__":
    main()
