# SPDX-License-Identifier: Apache-2.0
"""A small convolutional network on MNIST: ten agents on a random graph, a certified epsilon for every record.

    PORTER_DATA=FOLDER ./porter python examples/python/cnn_mnist.py [--rounds 200] [--epsilon 2] [--quick]

`./porter data fetch mnist --into FOLDER` fetches the four files to FOLDER/mnist.
"""
import argparse
import gzip
import os
import time
from pathlib import Path

import numpy as np
import torch

import porterdp
from porterdp.torch import Model


def mnist(kind):
    """Pixels from -1 to 1, and digits."""
    folder = os.environ.get("PORTER_DATA")
    if not folder or not (Path(folder) / "mnist" / f"{kind}-images-idx3-ubyte.gz").exists():
        raise SystemExit("PORTER_DATA: expected a folder with mnist/train-images-idx3-ubyte.gz and the other three")
    pixels, digits = (gzip.open(Path(folder) / "mnist" / f"{kind}-{name}-ubyte.gz").read()
                      for name in ("images-idx3", "labels-idx1"))
    pixels = np.frombuffer(pixels, np.uint8, offset=16).reshape(-1, 1, 28, 28)
    return pixels / np.float32(127.5) - 1, np.frombuffer(digits, np.uint8, offset=8).astype(int)


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 5, stride=3, padding=1), torch.nn.Tanh(),
        torch.nn.Conv2d(16, 32, 3, stride=2), torch.nn.Tanh(),
        torch.nn.Flatten(), torch.nn.Linear(512, 10))


parser = argparse.ArgumentParser(description="a convolutional network on MNIST with a certified epsilon")
parser.add_argument("--rounds", type=int, default=200)
parser.add_argument("--epsilon", type=float, default=2.0)
parser.add_argument("--quick", action="store_true", help="ten rounds, to see that it runs")
options = parser.parse_args()
model = Model(network(), torch.nn.functional.cross_entropy)
config = {
    "network": {"agents": 10, "graph": "erdos-renyi:0.8"},
    "algorithm": {"name": "porter-sweep", "rounds": 10 if options.quick else options.rounds, "batch": 600, "step": 3.0,
                  "momentum": 0.08, "clip": "linear:1", "compressor": "random_k:0.1"},
    "privacy": {"epsilon": options.epsilon, "delta": 1e-5, "noise": "secure"},
    "run": {"evaluate": "end"},
}
begin = time.perf_counter()
result = porterdp.run(config, data=mnist("train"), test=mnist("t10k"), model=model, classes=list(range(10)))
last = result.metrics.last
print(f"{model.dim} parameters, {last['bits_per_agent'] / 8e6:.2f} MB sent by each agent")
print(f"test accuracy: the average {last['test_accuracy']:.4f}, agents {last['agent_accuracy_mean']:.4f}, "
      f"the worst {last['agent_accuracy_worst']:.4f}")
print(result.privacy)
print(f"{time.perf_counter() - begin:.0f} seconds")
