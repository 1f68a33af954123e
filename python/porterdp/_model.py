# SPDX-License-Identifier: Apache-2.0
"""Models of one's own: any object with `dim` and `gradients(x, rows)`.

    dim                       how many parameters there are
    gradients(x, rows)        x (dim,), rows (b,): the gradient of each of these records, (b, dim),
                              float32 or float64, not clipped: porter does that
    batched = True            then gradients(X, rows) has X (n, dim) and rows (n, b) for n agents at once,
                              and returns (n, b, dim)
    loss(x, rows)             optional: the loss of each record, (k,); without it a run measures nothing
                              on its records
    predict(x, rows)          optional, beside labels: the class or value of each record
    gradient_sum(x, rows)     optional: the sum of gradients, where that is faster than one by one
    start()                   optional: x0
    load(x)                   optional: hears the trained parameters
    bind(train, test, classes) optional: hears (X, y) of both, y as class numbers, -1 for a label that is
                              none of the classes, or as targets where classes is 0

Rows from the number of training records on are those of the test set. A gradient must depend on its
own record alone: what is promised about privacy rests on it.
"""
import numpy as np

from . import _core
from ._data import Labels, _pair
from ._errors import UsageError

MEMORY = 32 << 20  # bytes of gradients in one call; much more costs page faults


class Adapter:
    """What the compiled part calls."""

    def __init__(self, model, labels=None, classes=0):
        self.model = model
        self.labels = labels
        self.classes = classes
        self.predicts = labels is not None and hasattr(model, "predict")
        self.batched = bool(getattr(model, "batched", False))

    def gradients(self, X, rows):
        if self.batched:
            return _array(self.model.gradients(X, rows))
        return np.stack([_array(self.model.gradients(x, r)) for x, r in zip(X, rows)])

    def _gradient_sum(self, x, rows):
        if hasattr(self.model, "gradient_sum"):
            return np.asarray(self.model.gradient_sum(x, rows), dtype=np.float64)
        total = np.zeros(len(x))
        size = max(1, MEMORY // (8 * len(x)))
        for first in range(0, len(rows), size):
            part = rows[first:first + size]
            total += self.gradients(x[None], part[None])[0].sum(axis=0, dtype=np.float64)
        return total

    def totals(self, x, rows, with_gradient):
        losses = np.asarray(self.model.loss(x, rows), dtype=np.float64)
        if losses.shape != rows.shape:
            raise UsageError(f"loss: expected {len(rows)} numbers, one for each record, found shape {losses.shape}")
        correct = squared = 0.0
        if self.predicts:
            predicted, label = np.asarray(self.model.predict(x, rows)), self.labels[rows]
            if self.classes:
                correct = float(np.sum(predicted == label))
            else:
                squared = float(np.sum((predicted - label) ** 2))
        gradient = self._gradient_sum(x, rows) if with_gradient else None
        return float(losses.sum()), correct, squared, gradient


def _array(value):
    if hasattr(value, "detach"):  # a tensor of PyTorch
        value = value.detach().cpu().numpy()
    return np.asarray(value)


def bind(config, model, data, test, label, classes, samples, deal=True):
    """The compiled model, its numbered rows and its start."""
    if not hasattr(model, "dim") or not callable(getattr(model, "gradients", None)):
        raise UsageError("model: expected an object with dim and gradients(x, rows)")
    gathered = gathered_test = None
    if data is not None:
        if isinstance(data, list):
            raise UsageError("data: with a model of your own expected (X, y); agents get theirs by data.split")
        gathered = _pair(data, label)
        gathered_test = None if test is None else _pair(test, label)
    rows = samples if samples is not None else getattr(model, "samples", None)
    if rows is None and gathered is not None:
        rows = len(gathered[0])
    if rows is None:
        raise UsageError("samples: how many records there are is not known; give data=(X, y) or samples=...")
    test_rows = 0 if gathered_test is None else len(gathered_test[0])
    labels = test_labels = None
    names = []
    if gathered is not None and gathered[1] is not None:
        known = Labels(config, classes, gathered[1])
        labels, names = known.numbers(gathered[1]), known.names
        test_labels = None if gathered_test is None else known.numbers(gathered_test[1])
        if hasattr(model, "bind"):
            model.bind((gathered[0], labels), None if gathered_test is None else (gathered_test[0], test_labels),
                       classes=len(names))
    everything = None if labels is None else (
        labels if test_labels is None else np.concatenate([labels, test_labels]))
    adapter = Adapter(model, everything, len(names))
    compiled = _core.CallbackModel(adapter, dim=int(model.dim), has_loss=hasattr(model, "loss"),
                                   predicts=adapter.predicts, guarantee=config.guarantee, memory=MEMORY)
    numbered = _core.numbered(config, rows=int(rows), test_rows=test_rows, labels=labels, test_labels=test_labels,
                              classes=names, deal=deal)
    start = model.start() if hasattr(model, "start") else None
    return compiled, numbered, None if start is None else np.asarray(start, dtype=np.float64)
