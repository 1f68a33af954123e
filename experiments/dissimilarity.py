#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Assumption 4 of the paper (an agent's gradient is within 1/12 of the average's length) on its own problem.

    python3 experiments/dissimilarity.py DATA/a9a.gz

Ten agents with a9a shuffled, logistic regression with lambda = 0.2, gradient descent on the average:
the largest |grad f_i - grad f| / |grad f| over the agents along the way. NumPy alone, nothing of porter.
"""
import gzip
import sys

import numpy as np

FEATURES, AGENTS, LAMBDA, STEP = 123, 10, 0.2, 0.5


def load(path):
    rows, labels = [], []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            label, *entries = line.split()
            row = np.zeros(FEATURES + 1)
            row[FEATURES] = 1
            for entry in entries:
                index, value = entry.split(":")
                row[int(index) - 1] = float(value)
            rows.append(row)
            labels.append(float(label))
    return np.array(rows), np.sign(np.array(labels))


def gradient(x, rows, labels):
    weights = -labels / (1 + np.exp(labels * (rows @ x)))
    return rows.T @ weights / len(labels) + LAMBDA * 2 * x / (1 + x**2) ** 2


def main():
    rows, labels = load(sys.argv[1])
    random = np.random.default_rng(1)
    deal = random.permutation(len(labels))[: len(labels) // AGENTS * AGENTS].reshape(AGENTS, -1)
    x = 0.2 * random.standard_normal(FEATURES + 1)
    print("round    |grad f|  largest |grad f_i - grad f| / |grad f|")
    for round_ in range(31):
        by_agent = np.array([gradient(x, rows[part], labels[part]) for part in deal])
        mean = by_agent.mean(axis=0)
        if round_ in (0, 1, 3, 10, 30):
            ratio = np.linalg.norm(by_agent - mean, axis=1).max() / np.linalg.norm(mean)
            print(f"{round_:5d}  {np.linalg.norm(mean):10.3g}  {ratio:10.3g}{'  above 1/12' if ratio > 1 / 12 else ''}")
        x -= STEP * mean


if __name__ == "__main__":
    main()
