#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rounds of the CUDA engine: `porter bench --gpu`.

Runs check_device of tests/cuda (tests/cuda/run.sh builds it) and makes tables of it: what a round takes on the GPU and
on the processor beside it, which share of the rate of plain copies it reaches, from which size on the GPU is faster,
and, where PyTorch and JAX are installed, what they take for the same round (bench/peers; their results are compared
with the engine's first, and they and the engine take turns). With ncu on the PATH the bytes that a round moves are
measured. Ends with code 3 and says what is missing where there is no GPU, nvcc or build.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "cuda"
LINE = re.compile(
    r"(?P<model>[^,]+(?:, d = \d+)?), n = (?P<agents>\d+), b = (?P<batch>\d+), (?P<precision>double|float): "
    r"(?P<device>[\d.]+) us a round \(processor: (?P<host>\d+) us\); (?P<verdict>.*)"
)
COPY = re.compile(r"copies: ([\d.]+) TB/s")
PEER = re.compile(r"(\w+) n=(\d+): ([\d.]+) us a round, (.*)")
DIFFERENCE = re.compile(r"\w+ differs by ([\d.e+-]+)")
DIMS = {"mlp 784-64-10": 50_890, "logistic, d = 124": 124}
PEER_AGENTS = (10, 1000)
ALIKE = 1e-3  # of what three rounds move X by: float32 sums in other orders are far below it


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


def output_of(command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout


def least_bytes(row):
    """Per agent and coordinate: U, X and both gaps read and written, X once more for the gradient. Only for rounds of
    single samples with stored gaps: else other things decide."""
    if int(row["batch"]) > 1 or int(row["agents"]) <= 32 or row["model"] not in DIMS:
        return None
    return (9 if row["model"].startswith("mlp") else 8) * (8 if row["precision"] == "double" else 4)


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
        host = f"{int(r['host']):,}" if r["host"] != "0" else ""
        share = f"{100 * r['share']:.0f} %" if r["share"] else ""
        lines.append(
            f"| {r['model']} | {int(r['agents']):,} | {r['batch']} | {r['precision']} | {float(r['device']):,.1f} | {host} | "
            f"{r['verdict']} | {r['least_bytes'] or ''} | {share} |"
        )
    return "\n".join(lines)


def break_even(rows):
    """From how many agents of the logistic problem on, in double, the GPU is faster; a line between two sizes."""
    sizes = sorted(
        (int(r["agents"]), float(r["device"]) - float(r["host"]))
        for r in rows
        if r["model"].startswith("logistic") and r["precision"] == "double" and r["host"] != "0"
    )
    for (n, slower), (m, other) in zip(sizes, sizes[1:]):
        if slower > 0 >= other:
            return round(n + (m - n) * slower / (slower - other))
    return None


def measured_bytes(path):
    """Of the two launches of a round of 1,000 agents in float, as ncu counts them."""
    if not shutil.which("ncu"):
        return None
    text = output_of(
        ["ncu", "--clock-control", "none", "-k", "regex:run_kernel", "--launch-skip", "40", "--launch-count", "8"]
        + ["--metrics", "dram__bytes_read.sum,dram__bytes_write.sum", path, "one"]
    )
    return parse_bytes(text)


def parse_bytes(text):
    """The last of each kind of launch in what ncu prints."""
    units = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}
    sums, kind = {}, None
    for line in text.splitlines():
        if "run_kernel<" in line:
            kind = "update" if "UpdateKernel" in line else "gradients" if "SampleKernel" in line else None
            if kind:
                sums[kind] = 0.0
        found = re.search(r"dram__bytes_(?:read|write)\.sum +(\w+) +([\d.,]+)", line)
        if kind and found:
            sums[kind] += units[found[1]] * float(found[2].replace(",", ""))
    return sums or None


def has_module(name):
    return subprocess.run(["python3", "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


def time_peers(path):
    """µs a round by program and agents: the engine before, between and after its peers."""
    times, differences = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        output_of([path, "peers", folder])
        peers = [name for name in ("torch", "jax") if has_module(name)]
        for turn in [None] + [turn for name in peers for turn in (name, None)]:
            if turn is None:
                for match in map(LINE.match, output_of([path, "some"]).splitlines()):
                    if match:
                        times.setdefault(("porter", int(match["agents"])), []).append(float(match["device"]))
                continue
            command = ["python3", ROOT / "bench" / "peers" / f"{turn}_gpu.py", folder, *map(str, PEER_AGENTS)]
            text = output_of(command)
            found = DIFFERENCE.search(text)
            differences[turn] = float(found.group(1)) if found else None
            for name, agents, micros, verdict in PEER.findall(text):
                if verdict == "finite":
                    times.setdefault((name, int(agents)), []).append(float(micros))
    return times, differences


def peer_table(times, differences):
    names = ["porter"] + list(differences)
    lines = ["| n | " + " | ".join(names) + " | best peer / porter |", "|--:|" + "--:|" * (len(names) + 1)]
    for agents in PEER_AGENTS:
        cells = {name: times.get((name, agents)) for name in names}
        text = [" to ".join(sorted({f"{t:,.0f}" for t in cell})) if cell else "failed" for cell in cells.values()]
        others = [min(cells[name]) for name in differences if cells[name]]
        ratio = f"{min(others) / max(cells['porter']):.2f}" if others and cells["porter"] else ""
        lines.append(f"| {agents:,} | " + " | ".join(text) + f" | {ratio} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpu", action="store_true", help="for the launcher")
    parser.add_argument("--json", metavar="FILE", help="write the figures there as well")
    parser.add_argument("--no-peers", action="store_true", help="without PyTorch and JAX")
    options = parser.parse_args()
    path = program()
    os.environ["PYTHONPATH"] = str(ROOT / "bench" / "peers")
    result = subprocess.run([path, "time"], stdout=subprocess.PIPE, text=True, check=False)
    report = parse(result.stdout)
    if not report["rounds"]:
        missing(f"check_device said nothing to make a table of: {result.stdout.strip()[-300:]}")
    if report["copy_tb_per_s"]:
        print(f"copies on the device: {report['copy_tb_per_s']} TB/s, read and written\n")
    print(table(report), flush=True)
    edge = report["break_even_logistic"] = break_even(report["rounds"])
    first = next((r for r in report["rounds"] if r["model"].startswith("logistic")), None)
    if edge is None and first and float(first["device"]) < float(first["host"]):
        print(f"\nbreak-even: below {first['agents']} agents of the logistic problem")
    if edge:
        print(f"\nbreak-even: {edge} agents of the logistic problem, {124 * edge:,} coordinates")
    moved = report["measured_bytes"] = measured_bytes(path)
    for kind, count in (moved or {}).items():
        print(f"moved by the {kind} of 1,000 agents in float: {count / 1e9:.2f} GB, {count / 50.89e6:.1f} bytes a coordinate")
    sys.stdout.flush()
    status = result.returncode
    if not options.no_peers:
        times, differences = time_peers(path)
        report["peers"] = {f"{name}, n = {agents}": found for (name, agents), found in times.items()}
        report["peer_differences"] = differences
        print("\nµs a round in float32, taking turns:\n\n" + peer_table(times, differences))
        for name, difference in differences.items():
            alike = difference is not None and difference < ALIKE
            print(f"{name}: three rounds with the engine's draws " + ("come to the same" if alike else "DIFFER") + f" ({difference})")
            status = status or (0 if alike else 1)
        if not differences:
            print("no PyTorch and no JAX here, so no peers")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    sys.exit(status)


if __name__ == "__main__":
    main()
