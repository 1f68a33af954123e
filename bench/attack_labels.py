#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks a real run through one replaced record and its label.

    /usr/bin/python3 bench/attack_labels.py build/release/porter [--runs 80] [--from-data]

Two agents train with secret noise. The victim's file is D or D', which differ in one record: its
label is 0 in D and 3 in D', and nobody else has either. Where classes are numbered as they are found
in the records, 1 and 2 become other class numbers with it, and every gradient moves. The attacker is
the other agent. He knows all but which of the two files it is, rehearses both without noise, and then
compares what he got from the victim with the two rehearsals: the nearer one is his answer, a rule
that is fixed before the first run. From how often he is right follows a lower bound on epsilon at 99.9
%, by the exact intervals of Clopper and Pearson; it must lie below the epsilon that the victim's
statement certifies. Exit code 1 if it does not.

--from-data leaves out data.classes and data.features, for versions that took them from the records.
--lock FILE is held while a piece of the runs listens on ports.
"""
import argparse
import fcntl
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy

DELTA = 1e-5
STEP = 0.001
CONFIG = """
[data]
{shape}
[model]
name = "softmax"
[network]
agents = 2
graph = "complete"
mixing = "metropolis"
[algorithm]
name = "porter-dp"
rounds = 4
step = {step}
consensus = 0.5
batch = "full"
clip = "smooth:1"
compressor = "identity"
start = "zeros"
[privacy]
{privacy}
delta = 1e-5
noise = "{noise}"
[agent]
name = "{name}"
listen = "127.0.0.1:{listen}"
ca = "keys/ca.crt"
certificate = "keys/{name}.crt"
key = "keys/{name}.key"
train = "{train}"
peers = [{{name = "victim", address = "127.0.0.1:{port}"}},
         {{name = "attacker", address = "127.0.0.1:{other}"}}]
"""


def write_data(folder):
    """100 records of two classes, one of them with a label of its own."""
    rng = random.Random(1)
    rows = []
    for i in range(99):
        label = 1 + i % 2
        center = [20, 0] if label == 1 else [0, 20]
        rows.append(",".join(f"{c + rng.gauss(0, 1):.3f}" for c in center) + f",{label}")
    for name, label in (("D", 0), ("D'", 3), ("attacker", 0)):
        (folder / f"{name}.csv").write_text("\n".join(rows + [f"1,1,{label}"]) + "\n")


class Runs:
    def __init__(self, porter, folder, port, from_data):
        self.porter, self.folder, self.port = porter, folder, port
        self.shape = "" if from_data else 'classes = "0..3"\nfeatures = 2\n'
        write_data(folder)
        self.call("keys", "init", "keys")
        self.call("keys", "issue", "keys", "victim", "attacker")

    def call(self, *arguments):
        done = subprocess.run([self.porter, *arguments], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"porter {' '.join(arguments)}: {done.stdout}{done.stderr}")

    def run(self, label, data, noise=True):
        """One training; what the attacker holds of the victim at its end, and the certified epsilon."""
        agents = []
        for place, name in enumerate(("victim", "attacker")):
            privacy = "epsilon = 1" if noise else 'calibration = "sigma"\nsigma = 1e-12\nepsilon = 1e30'
            text = CONFIG.format(
                shape=self.shape, step=STEP, privacy=privacy, noise="secure" if noise else "simulated", name=name,
                listen=self.port + place, port=self.port, other=self.port + 1,
                train=f"{data if name == 'victim' else 'attacker'}.csv")
            (self.folder / f"{name}.toml").write_text(text)
            command = [self.porter, "agent", f"{name}.toml", "--out", f"{label}-{name}"]
            log = open(self.folder / f"{label}-{name}.log", "w")
            agents.append(subprocess.Popen(command + ([] if noise else ["--insecure-test-noise"]),
                                           cwd=self.folder, stdout=log, stderr=subprocess.STDOUT))
        try:
            failed = [agent for agent in agents if agent.wait(timeout=120) != 0]
        finally:
            for agent in agents:
                agent.kill()
        if failed:
            sys.exit("".join((self.folder / f"{label}-{name}.log").read_text()
                             for name in ("victim", "attacker")))
        checkpoint = numpy.load(self.folder / f"{label}-attacker" / "checkpoint" / "checkpoint.npz")
        # The copy of the victim's model that its messages add up to: the sum of what it released.
        view = checkpoint["state_Q1"][0] / STEP
        statement = json.loads((self.folder / f"{label}-victim" / "privacy.json").read_text())
        epsilon = statement["epsilon"]  # a number, or [lower, certified]
        return view, epsilon[-1] if isinstance(epsilon, list) else epsilon


def binomial_tail(k, n, p):
    """P(at least k of n)."""
    return sum(math.comb(n, i) * p**i * (1 - p)**(n - i) for i in range(k, n + 1))


def clopper_pearson_lower(k, n, alpha):
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if binomial_tail(k, n, middle) < alpha else (low, middle)
    return low if k > 0 else 0.0


def epsilon_at_least(hits, false_alarms, n, confidence=0.999):
    """From P(says D | D) <= exp(epsilon) P(says D | D') + delta."""
    alpha = (1 - confidence) / 2
    right = clopper_pearson_lower(hits, n, alpha)
    wrong = 1 - clopper_pearson_lower(n - false_alarms, n, alpha)
    return max(0.0, math.log((right - DELTA) / wrong)) if right > DELTA else 0.0


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("porter")
    options.add_argument("--runs", type=int, default=80)
    options.add_argument("--port", type=int, default=21700)
    options.add_argument("--from-data", action="store_true")
    options.add_argument("--lock")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        runs = Runs(str(pathlib.Path(given.porter).resolve()), pathlib.Path(name), given.port, given.from_data)
        right = {"D": 0, "D'": 0}
        rehearsed, epsilon = {}, 0
        done = 0
        while done < given.runs:
            with open(given.lock or (pathlib.Path(name) / "lock"), "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not rehearsed:
                    rehearsed = {data: runs.run(f"rehearsal-{i}", data, noise=False)[0]
                                 for i, data in enumerate(right)}
                    gap = numpy.linalg.norm(rehearsed["D"] - rehearsed["D'"])
                    print(f"d = {rehearsed['D'].size}; without noise D and D' are {gap:.4g} apart, "
                          f"per round 2 tau / b = {2 / 100:.4g} is promised", flush=True)
                for _ in range(min(5, given.runs - done)):
                    for i, data in enumerate(right):
                        view, epsilon = runs.run(f"run-{done}-{i}", data)
                        distance = {d: numpy.linalg.norm(view - seen) for d, seen in rehearsed.items()}
                        right[data] += min(distance, key=distance.get) == data
                    done += 1
    wrong = given.runs - right["D'"]
    bound = epsilon_at_least(right["D"], wrong, given.runs)
    print(f"says D for D {right['D']} of {given.runs} times, for D' {wrong} of {given.runs}: "
          f"epsilon is at least {bound:.3f} at 99.9 %; certified {epsilon:.3f}")
    sys.exit(0 if bound <= epsilon else 1)


if __name__ == "__main__":
    main()
