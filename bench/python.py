#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a round costs through Python, beside the command and the built-in models.

    ./porter python bench/python.py         (needs PyTorch for its last lines)
"""
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np

import porterdp

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMAND = ROOT / "build/release/porter"
TURNS = 5


def per_round(result):
    return result.summary["seconds_per_round"]


def by_command(file, settings):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run"
        options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        subprocess.run([COMMAND, "run", file, "--out", out, *options], check=True, capture_output=True)
        return json.loads((out / "summary.json").read_text())["seconds_per_round"]


def beside_the_command():
    for name, rounds in (("a9a", 60_000), ("mlp", 400)):
        file = ROOT / "bench/problems" / f"{name}.toml"
        settings = {"algorithm.rounds": rounds, "run.evaluate": "end"}
        ratios = [per_round(porterdp.run(file, set=settings)) / by_command(file, settings) for _ in range(TURNS)]
        print(f"{name}: a round through Python over one of the command: median {statistics.median(ratios):.3f}, "
              f"{min(ratios):.3f} to {max(ratios):.3f}")


def config(model, batch, rounds):
    return {"data": {"bias": False}, "model": {**model, "lambda": 0.0}, "network": {"agents": 10},
            "algorithm": {"name": "porter-dp", "rounds": rounds, "batch": batch, "step": 0.01, "consensus": 0.01,
                          "compressor": "random_k:0.05"}, "privacy": {"sigma": 0.01}, "run": {"evaluate": "end"}}


class Logistic:
    """In NumPy, all agents in one call; it knows how long it took."""
    batched = True

    def __init__(self, X, y):
        self.X, self.y, self.dim, self.seconds = X, y, X.shape[1], 0.0

    def gradients(self, points, rows):
        start = time.perf_counter()
        z = self.X[rows]
        wrong = 1 / (1 + np.exp(-np.einsum("nbd,nd->nb", z, points))) - self.y[rows]
        out = wrong[..., None] * z
        self.seconds += time.perf_counter() - start
        return out


def model_in_numpy(draw, rounds=20_000):
    X = draw.normal(size=(32_560, 124)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    beyond = []
    for _ in range(TURNS):
        model = Logistic(X, y)
        own = per_round(porterdp.run(config({}, 1, rounds), data=(X, y), model=model))
        built_in = per_round(porterdp.run(config({}, 1, rounds), data=(X, y)))
        beyond.append(1e6 * (own - model.seconds / rounds - built_in))
    print(f"logistic in NumPy, d = 124: {statistics.median(beyond):.1f} us a round beyond the callback and the built-in model, "
          f"{min(beyond):.1f} to {max(beyond):.1f}")


def model_in_torch(draw):
    import torch
    from porterdp.torch import Model
    X = draw.normal(size=(6_000, 784)).astype(np.float32)
    y = draw.integers(0, 10, size=len(X))
    for batch, rounds in ((1, 400), (32, 100)):
        run = config({"name": "mlp", "hidden": [64]}, batch, rounds)
        module = torch.nn.Sequential(torch.nn.Linear(784, 64), torch.nn.Sigmoid(), torch.nn.Linear(64, 10))
        model = Model(module, torch.nn.functional.cross_entropy)
        built_in = [per_round(porterdp.run(run, data=(X, y))) for _ in range(TURNS)]
        theirs = [per_round(porterdp.run(run, data=(X, y), model=model)) for _ in range(TURNS)]
        print(f"mlp 784-64-10, batch {batch}: {1e3 * statistics.median(built_in):.2f} ms a round built in, "
              f"{1e3 * statistics.median(theirs):.2f} ms through PyTorch {torch.__version__}")


if __name__ == "__main__":
    beside_the_command()
    model_in_numpy(np.random.default_rng(0))
    model_in_torch(np.random.default_rng(0))
