# SPDX-License-Identifier: Apache-2.0
"""Data as people have them: arrays for all, arrays for each agent, a DataFrame."""
import numpy as np

from . import _core
from ._errors import PrivacyError, UsageError


def _is_frame(data):
    return hasattr(data, "columns") and hasattr(data, "to_numpy")


def split_frame(frame, label):
    """X, y of a pandas DataFrame."""
    if label is None:
        raise UsageError("data: a DataFrame needs the name of its label column: label=...")
    if label not in frame.columns:
        raise UsageError(f"label: there is no column {label!r}; there are {', '.join(map(str, frame.columns))}")
    rest = frame.drop(columns=[label])
    texts = [str(name) for name in rest.columns if rest[name].dtype.kind not in "biuf"]
    if texts:
        raise UsageError(f"data: the column {texts[0]!r} holds no numbers. Tables with texts, categories or gaps need a "
                         "schema: write the frame with to_csv and give data.train and data.schema in the config "
                         "(porter data schema FILE drafts one)")
    return rest.to_numpy(dtype=np.float32), frame[label].to_numpy()


def _matrix(X, name="X"):
    X = np.asarray(X)
    if X.dtype.kind not in "biuf":
        raise UsageError(f"{name}: expected numbers, found {X.dtype}")
    if X.ndim != 2:
        raise UsageError(f"{name}: expected rows x features, found {X.ndim} dimension{'s' * (X.ndim != 1)}")
    return np.ascontiguousarray(X, dtype=np.float32)


def class_names(values):
    """As a file would write them: 1.0 is "1"."""
    return [str(int(v)) if isinstance(v, (float, np.floating)) and float(v).is_integer() else str(v)
            for v in np.asarray(values).tolist()]


class Labels:
    """Turns labels into class numbers, or leaves them as targets."""

    def __init__(self, config, classes, example):
        self.regression = config.regression
        self.values = None
        if self.regression:
            return
        stated = classes if classes is not None else (config.classes or None)
        if stated is None:
            if config.guarantee:
                raise PrivacyError("classes: with secret noise they are public input, because one record can change "
                                   "what is found in the data; give classes=[...], every label in order")
            example = np.asarray(example)
            if example.dtype.kind == "f" and not np.all(np.isfinite(example)):
                raise UsageError("y: expected labels, found NaN or infinity")
            stated = np.unique(example)
        self.values = np.asarray(stated)
        if len(self.values) < 2:
            raise UsageError(f"y: expected at least two classes, found {len(self.values)}")

    @property
    def names(self):
        return [] if self.values is None else class_names(self.values)

    def numbers(self, y):
        """float32; -1 for a label that is none of the classes."""
        y = np.asarray(y)
        if self.regression:
            if y.dtype.kind not in "biuf":
                raise UsageError(f"y: expected numbers, the targets of a regression, found {y.dtype}")
            return np.ascontiguousarray(y, dtype=np.float32)
        if y.ndim != 1:
            raise UsageError(f"y: expected one label for each row, found {y.ndim} dimensions")
        texts = "OSU"
        if (self.values.dtype.kind in texts) != (y.dtype.kind in texts):
            raise UsageError(f"classes: expected labels of the kind that y has, found {self.values.dtype} beside {y.dtype}")
        order = np.argsort(self.values, kind="stable")
        place = np.searchsorted(self.values, y, sorter=order)
        place = np.minimum(place, len(self.values) - 1)
        found = order[place]
        return np.where(self.values[found] == y, found, -1).astype(np.float32)


def _pair(data, label):
    if _is_frame(data):
        return split_frame(data, label)
    if not (isinstance(data, tuple) and len(data) == 2):
        raise UsageError("data: expected (X, y), a DataFrame with label=..., or a list with one of these for each agent")
    return data


def _checked(pair, name="X"):
    X, y = pair
    X = _matrix(X, name)
    if len(np.atleast_1d(y)) != len(X):
        raise UsageError(f"y: expected {len(X)} labels, one for each row of {name}, found {len(np.atleast_1d(y))}")
    return X, y


def run_data(config, data, test, label, classes):
    """The data of a run in which everybody is here."""
    if test is not None:
        test = _checked(_pair(test, label), "test X")
    if isinstance(data, list):
        pairs = [_checked(_pair(each, label)) for each in data]
        if not pairs:
            raise UsageError("data: expected arrays for at least one agent")
        labels = Labels(config, classes, np.concatenate([np.asarray(y) for _, y in pairs]))
        return _core.agents_arrays(config, [(X, labels.numbers(y)) for X, y in pairs], labels.names,
                                   None if test is None else (test[0], labels.numbers(test[1]))), labels.values
    X, y = _checked(_pair(data, label))
    labels = Labels(config, classes, y)
    return _core.arrays(config, X, labels.numbers(y), labels.names,
                        None if test is None else (test[0], labels.numbers(test[1]))), labels.values
