#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""steps.py PORTER: how good algorithm.step = "auto" is.

Prints the table of docs/steps.md: experiments/quickstart.toml with the changes of a row, trained
with the step that "auto" finds and with others. A few minutes on two cores; mushrooms, phishing, a9a
and mnist must be there (porter data fetch)."""
import csv
import pathlib
import re
import subprocess
import sys
import tempfile

STEPS = ["0.01", "0.02", "0.04", "0.08", "0.16", "0.32", "0.64", "1.28"]
NOISE = ["algorithm.batch=64", "privacy.epsilon=4.0"]
ROWS = [
    ("the quickstart", []),
    ("one sample", ["algorithm.batch=1"]),
    ("500 rounds", ["algorithm.rounds=500"]),
    ("8000 rounds", ["algorithm.rounds=8000"]),
    ("ring of 20", ["network.graph=ring", "network.agents=20"]),
    ("torus of 100", ["network.graph=torus", "network.agents=100"]),
    ("random_k, 1 %", ["algorithm.compressor=random_k:0.01"]),
    ("top_k, 1 %", ["algorithm.compressor=top_k:0.01"]),
    ("top_k, 5 %", ["algorithm.compressor=top_k:0.05"]),
    ("sign", ["algorithm.compressor=sign"]),
    ("identity", ["algorithm.compressor=identity"]),
    ("by label", ["data.split=by-label"]),
    ("unit rows", ["data.scale=unit"]),
    ("lambda = 0.2", ["model.lambda=0.2"]),
    ("a9a", ["data.name=a9a"]),
    ("mushrooms", ["data.name=mushrooms"]),
    ("phishing", ["data.name=phishing"]),
    ("mnist, softmax", ["data.name=mnist", "model.name=softmax"]),
    ("beer", ["algorithm.name=beer"]),
    ("choco-sgd", ["algorithm.name=choco-sgd"]),
    ("deepsqueeze", ["algorithm.name=deepsqueeze"]),
    ("dsgd", ["algorithm.name=dsgd"]),
    ("dsgt", ["algorithm.name=dsgt"]),
    ("porter-dp, epsilon = 4", ["algorithm.name=porter-dp", *NOISE]),
    ("porter-dp, epsilon = 0.5", ["algorithm.name=porter-dp", *NOISE, "privacy.epsilon=0.5"]),
    ("porter-dp, 10,000 rounds", ["algorithm.name=porter-dp", *NOISE, "algorithm.rounds=10000"]),
    ("soteriafl-sgd, epsilon = 4", ["algorithm.name=soteriafl-sgd", *NOISE]),
    ("ldp-sgd, epsilon = 4", ["algorithm.name=ldp-sgd", *NOISE]),
    ("ddp-srm, epsilon = 4", ["algorithm.name=ddp-srm", *NOISE]),
    ("dp-sgd, epsilon = 4", ["algorithm.name=dp-sgd", *NOISE]),
]

porter = sys.argv[1]
quickstart = pathlib.Path(__file__).parent.parent / "experiments" / "quickstart.toml"


def run(command, *arguments):
    return subprocess.run([porter, command, quickstart, *arguments], capture_output=True, text=True, check=True).stdout


def options(sets):
    return [word for key in sets for word in ("--set", key)]


def figures(row):
    return row["status"] if row["status"] != "finished" else \
        f"{float(row['agent_loss_mean']):.4f} | {float(row['consensus_error']):.2g}"


print("| setting | gamma | eta | loss | consensus error | best eta | loss | consensus error |")
print("|---|---|---|---|---|---|---|---|")
for name, changes in ROWS:
    keys = options(["algorithm.consensus=auto", "run.evaluate=end", *changes])
    config = run("run", "--dry-run", "--set", "algorithm.step=auto", *keys)
    eta, gamma = (re.search(f"^{key} = (.*)", config, re.M)[1] for key in ("step", "consensus"))
    with tempfile.TemporaryDirectory() as folder:
        run("sweep", *keys, "--vary", "algorithm.step=" + ",".join(["auto", *STEPS]), "--seeds", "1", "--metric",
            "agent_loss_mean", "--out", folder + "/sweep")
        rows = list(csv.DictReader(open(folder + "/sweep/results.csv")))
    best = min((row for row in rows[1:] if row["status"] == "finished"), key=lambda row: float(row["agent_loss_mean"]))
    print(f"| {name} | {gamma} | {eta} | {figures(rows[0])} | {best['algorithm.step']} | {figures(best)} |", flush=True)
