#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""onnx_check.py PORTER: exported ONNX graphs are valid and predict what `porter predict` does.

Evaluated with NumPy, operator by operator. Where python3-onnx or NumPy is missing it exits with 77: skipped."""
import json
import math
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import numpy as np
    import onnx
    import onnx.checker
    import onnx.shape_inference
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
from models import CATEGORIES, NUMBERS, Workshop, all_models, refused_records, write_table
from onnx_numpy import evaluate

TOLERANCE = {"float32": 1e-6, "float64": 1e-12}


def columns(records, dtype):
    inputs = {}
    for name in NUMBERS:
        values = [math.nan if row[name] is None else row[name] for row in records]
        inputs[name] = np.array(values, dtype).reshape(-1, 1)
    for name in CATEGORIES:
        inputs[name] = np.array([row[name] for row in records], object).reshape(-1, 1)
    return inputs


def inputs_of(trained, records, dtype):
    return columns(records, dtype) if trained.schema else {"features": np.array(records, dtype)}


def outputs_of(model, inputs):
    names = [value.name for value in model.graph.output]
    answers = evaluate(model, inputs)
    return [answers[name] for name in names]


def check(trained, dtype):
    more = ["--double"] if dtype == "float64" else []
    model = onnx.load(trained.export("onnx", *more))
    onnx.checker.check_model(model, full_check=True)
    assert [value.name for value in model.graph.output] == (
        ["value"] if trained.regression() else ["label_" if trained.schema else "label", "probabilities"])
    card = json.loads({entry.key: entry.value for entry in model.metadata_props}["porter"])
    assert card["format"] == "porter model"
    expected = trained.answers(trained.predictions())
    *label, numbers = outputs_of(model, inputs_of(trained, trained.records, dtype))
    assert numbers.dtype == dtype and numbers.shape == (len(expected), len(expected[0][1]))
    wanted = np.array([values for _, values in expected])
    size = np.maximum(1, np.abs(wanted).max())  # probabilities are at most 1
    difference = float(np.abs(numbers - wanted).max() / size)
    assert difference <= TOLERANCE[dtype], (trained.name, dtype, difference)
    if label:
        clear = np.sort(wanted, axis=1)[:, -1] - np.sort(wanted, axis=1)[:, -2] > 2 * TOLERANCE[dtype]
        assert label[0].shape == (len(expected),)
        assert all(a == b[0] for a, b, sure in zip(label[0], expected, clear) if sure), trained.name
    if trained.schema:
        check_refused(trained, model, dtype)
    else:
        check_not_finite(trained, model, dtype)
    return difference


def check_refused(trained, model, dtype):
    """What porter refuses is NaN and no class; its neighbours in the batch are not touched."""
    for change, bad in refused_records(trained.workshop.rng):
        write_table(trained.workshop.folder / "bad.csv", [bad])
        text = trained.workshop.call("predict", trained.name, "--data", "bad.csv", expect=1)
        assert "expected" in text, text
        *label, numbers = outputs_of(model, columns([trained.records[0], bad], dtype))
        assert np.isfinite(numbers[0]).all() and np.isnan(numbers[1]).all(), (trained.name, change, numbers)
        assert not label or (label[0][0] != "" and label[0][1] == ""), (trained.name, change)


def check_not_finite(trained, model, dtype):
    for value in (math.nan, math.inf):
        *label, numbers = outputs_of(model, {"features": np.array([trained.records[1], [value] + trained.records[1][1:]],
                                                                  dtype)})
        assert np.isfinite(numbers[0]).all() and np.isnan(numbers[1]).all()
        assert not label or label[0][1] == ""


with tempfile.TemporaryDirectory() as folder:
    shop = Workshop(sys.argv[1], folder)
    models = list(all_models(shop))
    models.append(shop.digits("digits_softmax", 'name = "softmax"'))
    models.append(shop.digits("digits_mlp", 'name = "mlp"\nhidden = [16]'))
    for trained in models:
        print(f"{trained.name:<16}", *(f"{dtype} {check(trained, dtype):.1e}" for dtype in TOLERANCE))
