#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tunes the step of every row of shared-noise-mnist, and writes the study.

    python3 experiments/search/shared_noise.py --porter build/release/porter --work runs/shared-noise

Every row, a method with a shape of its noise, gets the same six steps, a factor of 2 apart, with seed 101,
which the study does not report; the best has the least mean loss of the agents on the training rows. Where
that is the first or the last step, one more beyond it is tried, and so on. What was tried stands in
shared-noise-mnist-shared.toml and -independent.toml.
"""
import argparse
import csv
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
DENSE = {"algorithm.name": "dp-dsgd", "algorithm.compressor": "identity", "algorithm.momentum": 0.1}
METHODS = [
    ("dp-dsgd, d", DENSE | {"algorithm.gossip": 1}),
    ("dp-dsgd, three gossip steps, 3 d", DENSE | {"algorithm.gossip": 3}),
    ("sweep-led, 0.10 d", {"algorithm.name": "sweep-led", "algorithm.compressor": "random_k:0.1",
                           "algorithm.momentum": 0.1, "algorithm.gossip": 1}),
]
SHAPES = [("independent", {})] + [
    (f"{shape}, t = {t}", {"privacy.shape": shape, "privacy.colluders": t})
    for t in (0, 1, 2) for shape in ("pairwise", "optimal")]
STEPS = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]

CONFIG = """\
[data]
name = "mnist"
transform = "hog-centred"
bias = false

[model]
name = "softmax"

[network]
agents = 10
graph = "erdos-renyi:0.8"
mixing = "fdla"

[algorithm]
name = "dp-dsgd"
rounds = 200
batch = 600
clip = "linear:0.25"
start = "zeros"

[privacy]
epsilon = 0.5
delta = 1e-5

[run]
seed = 101
threads = 1
evaluate = "end"

"""

ABOUT = """\
# Written by experiments/search/shared_noise.py: noise that neighbours share, beside independent noise.
title = "Noise that neighbours share: MNIST as centred histograms of gradients, epsilon = 0.5"
about = \"\"\"
Every row has the same certified epsilon = 0.5 at delta = 1e-5 (replace-one neighbours, fixed batches of a tenth of the records, 200 gradients), each against its own adversary: independent noise (LDP) against all others together, shared noise (DECOR's pairwise with c = s, and the best ratio) against an eavesdropper of all messages with up to t colluding agents. docs/correlated-noise.md has the promise and its proof.
Softmax without a column of ones (d = 3,920), ten agents. Every row has the best of six to eight steps, by the agents' mean loss on the training rows with seed 101 (experiments/search/shared_noise.py).
\"\"\"
kind = "bars"
seeds = 5
quick = { rounds = 5, seeds = 1, keep = 2 }

[config]
data = { name = "mnist", transform = "hog-centred", bias = false }
model = { name = "softmax" }
network = { agents = 10, graph = "erdos-renyi:0.8", mixing = "fdla" }
algorithm = { name = "dp-dsgd", rounds = 200, batch = 600, clip = "linear:0.25", start = "zeros" }
privacy = { epsilon = 0.5, delta = 1e-5 }
run = { evaluate = "end", threads = 1 }

[fallback]
"data.name" = "synthetic-digits"

"""

METRICS = ["agent_accuracy_mean", "test_accuracy", "agent_accuracy_worst", "agent_loss_mean", "consensus_error", "bits_per_agent"]


def inline(entries, quote=False):
    return "{ " + ", ".join(f"{json.dumps(k) if quote else k} = {json.dumps(v)}" for k, v in entries.items()) + " }"


def sweep_text(settings):
    lines = "".join(f"  {inline(s)},\n" for s in settings)
    return CONFIG + f'[sweep]\nseeds = 1\nmetric = "agent_loss_mean"\nsettings = [\n{lines}]\n'


def kind_of(setting):
    return "shared" if "privacy.shape" in setting else "independent"


def of_kind(kind, settings):
    """A list of settings has the same keys in all of them."""
    return [s for s in settings if kind_of(s) == kind]


def losses_of(porter, folder, settings):
    """Each setting's mean loss of the agents; infinity where it diverged."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    path = folder.with_suffix(".toml")
    path.write_text(sweep_text(settings))
    if not (folder / "results.csv").exists():
        subprocess.run([porter, "sweep", path, "--out", folder, "--force"], check=True, stdout=subprocess.DEVNULL)
    with open(folder / "results.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(settings)
    return [float(row["agent_loss_mean"]) if row["status"] == "finished" else float("inf") for row in rows]


def beyond(steps):
    """The step to try next, where the best of what was tried is the first or the last of them."""
    best = min(steps, key=steps.get)
    if best == max(steps):
        return 2 * best
    return best / 2 if best == min(steps) else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--porter", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="where the sweeps go; a second call goes on there")
    arguments = parser.parse_args()
    rows = [(f"{method}: {shape}", fixed | noise) for method, fixed in METHODS for shape, noise in SHAPES]
    tried = {label: {} for label, _ in rows}
    everything = []
    settings = [(label, fixed | {"algorithm.step": step}) for step in STEPS for label, fixed in rows]
    for turn in range(6):
        for kind in ("independent", "shared"):
            these = [(label, s) for label, s in settings if kind_of(s) == kind]
            if these:
                losses = losses_of(arguments.porter, arguments.work / f"{kind}{turn}", [s for _, s in these])
                for (label, setting), loss in zip(these, losses):
                    tried[label][setting["algorithm.step"]] = loss
        everything += [s for _, s in settings]
        settings = [(label, fixed | {"algorithm.step": step}) for label, fixed in rows
                    if (step := beyond(tried[label])) is not None]
    for kind in ("independent", "shared"):
        (HERE / f"shared-noise-mnist-{kind}.toml").write_text(sweep_text(of_kind(kind, everything)))
    series = []
    for label, fixed in rows:
        best = min(tried[label], key=tried[label].get)
        print(f"{label}: step {best:g}, loss {tried[label][best]:.4f} of", {s: round(v, 4) for s, v in sorted(tried[label].items())})
        series.append(f"[[series]]\nlabel = {json.dumps(label)}\nset = {inline(fixed | {'algorithm.step': best}, quote=True)}\n")
    bars = f'\n[bars]\nvary = "privacy.epsilon"\nvalues = [0.5]\nmetrics = {json.dumps(METRICS)}\n'
    (HERE.parent / "shared-noise-mnist.toml").write_text(ABOUT + "\n".join(series) + bars)


if __name__ == "__main__":
    main()
