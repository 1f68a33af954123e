# SPDX-License-Identifier: Apache-2.0
"""The data sets. Values are multiples of 1/8, so that every reader gets the same floats."""
import functools

import numpy as np

from slow.randomness import Stream, TEST


@functools.cache
def make_rows(name):
    """60 rows of features and a class from a noisy linear teacher. In the binary set, column 5 repeats
    column 2 and column 6 is column 3 negated, so that their entries of x tie."""
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


def write_csv(rows):
    return "".join(",".join(f"{v:g}" for v in f) + f",{label}\n" for f, label in rows)


def write_libsvm(rows):
    """Columns from 1, without zeros; classes 0, 1 as -1, +1."""
    entries = lambda f: "".join(f" {j + 1}:{v:g}" for j, v in enumerate(f) if v != 0)
    return "".join(("-1", "+1")[label] + entries(f) + "\n" for f, label in rows)


def load(case):
    rows = make_rows(case.data)
    features = np.array([f for f, _ in rows])
    if case.model == "logistic":
        features = np.hstack([features, np.ones((len(rows), 1))])
    return features, [label for _, label in rows]
