# SPDX-License-Identifier: Apache-2.0
"""The data sets. Values are multiples of 1/8, so that every reader gets the same floats."""
import functools

import numpy as np

from slow.randomness import Stream, TEST


@functools.cache
def make_rows(name):
    """60 rows of features and a class from a noisy linear teacher. In the binary set, column 5 repeats
    column 2 and column 6 is column 3 negated, so that their entries of x tie."""
    if name.startswith("numbers"):
        return make_numbers()
    binary = name.startswith("binary")
    features, classes = (7, 2) if binary else (4, 3)
    rng = Stream(2024, TEST, classes, 0)
    teacher = rng.normals(features * classes).reshape(classes, features)
    rows = []
    for _ in range(60):
        f = np.array([(rng.below(33) - 16) / 8 for _ in range(features)])
        if binary:
            f[5], f[6] = f[2], -f[3]
        label = rng.below(classes) if rng.below(8) == 0 else int(np.argmax(teacher @ f))
        rows.append((f, label))
    return rows


def make_numbers():
    """60 rows with a target that is a bent function of them, far off in every eighth row."""
    rng = Stream(2024, TEST, 4, 0)
    teacher = rng.normals(5)
    rows = []
    for i in range(60):
        f = np.array([(rng.below(33) - 16) / 8 for _ in range(5)])
        target = round(8 * (teacher @ f + f[0] * f[1] + (6 if i % 8 == 0 else 0))) / 8
        rows.append((f, target))
    return rows


def write_csv(rows):
    return "".join(",".join(f"{v:g}" for v in f) + f",{label}\n" for f, label in rows)


def write_libsvm(rows):
    """Columns from 1, without zeros; classes 0, 1 as -1, +1."""
    entries = lambda f: "".join(f" {j + 1}:{v:g}" for j, v in enumerate(f) if v != 0)
    return "".join(("-1", "+1")[label] + entries(f) + "\n" for f, label in rows)


def load(case):
    rows = make_rows(case.data)
    features = np.array([f for f, _ in rows])
    if case.model != "mlp":
        features = np.hstack([features, np.ones((len(rows), 1))])
    return features, [label for _, label in rows]
