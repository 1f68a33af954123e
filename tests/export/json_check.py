#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""json_check.py PORTER: coefficients by column, with the raw values and nothing else, give what `porter predict` does.
And what cannot be exported is refused with one message, and nothing is written."""
import json
import math
import sys
import tempfile
import zipfile

sys.dont_write_bytecode = True
from models import CATEGORIES, MISSING, NUMBERS, Workshop, all_models

TOLERANCE = 1e-6  # porter rounds features to float, and coefficients know nothing of that


def number_part(column, value):
    low, high = column.get("range", (-math.inf, math.inf))
    if value is not None and not low <= value <= high:
        value = {"clamp": min(max(value, low), high), "missing": None}[column["outside"]]
    return column["missing"] if value is None else column["coefficient"] * value


def category_part(column, text):
    if text in column["values"]:
        return column["values"][text]
    return column["missing"] if text in MISSING else column["other"]


def score(entry, record):
    if "coefficients" in entry:
        return entry["intercept"] + sum(c * x for c, x in zip(entry["coefficients"], record, strict=True))
    assert set(entry["columns"]) == NUMBERS | CATEGORIES
    return entry["intercept"] + sum((number_part if name in NUMBERS else category_part)(column, record[name])
                                    for name, column in entry["columns"].items())


def answer(model, record):
    scores = [score(entry, record) for entry in model["scores"]]
    if model["model"] == "linear":
        return None, scores
    if model["model"] == "logistic":
        second = 1 / (1 + math.exp(-scores[0]))
        return model["classes"][scores[0] > 0], [1 - second, second]
    shares = [math.exp(s - max(scores)) for s in scores]
    return model["classes"][scores.index(max(scores))], [s / sum(shares) for s in shares]


def check(trained):
    model = json.loads(trained.export("json").read_text())
    assert model["format"] == "porter coefficients" and model["about"]["format"] == "porter model"
    if trained.name == "schema_several":
        assert [entry["of"] for entry in model["scores"]] == ["risk", 'dépense, "€"'], model["scores"]
    largest = 0
    for record, (name, values) in zip(trained.records, trained.answers(trained.predictions()), strict=True):
        label, numbers = answer(model, record)
        size = max(1, *map(abs, values))
        largest = max([largest] + [abs(a - b) / size for a, b in zip(numbers, values, strict=True)])
        top = sorted(values)[-2:]
        assert label == name or (len(top) == 2 and top[1] - top[0] < 2 * TOLERANCE), (trained.name, label, name)
    assert largest <= TOLERANCE, (trained.name, largest)
    return largest


def refuse(shop, arguments, code, *pieces):
    before = {path.name: path.stat().st_size for path in shop.folder.iterdir()}
    text = shop.call("model", "export", *arguments, expect=code)
    assert all(piece in text for piece in pieces) and text.count("\n") == 1, (arguments, text)
    assert before == {path.name: path.stat().st_size for path in shop.folder.iterdir()}, arguments


def check_refusals(shop):
    mlp = shop.without_schema("refused_mlp", 'name = "mlp"\nhidden = [3]')
    unit = shop.without_schema("refused_unit", 'name = "logistic"', 2, "unit")
    refuse(shop, [mlp.name, "--json", "x"], 2, "mlp", "--onnx or --header")
    refuse(shop, [unit.name, "--json", "x"], 2, "unit", "--onnx or --header")
    refuse(shop, [unit.name], 2, "--onnx")
    refuse(shop, [unit.name, "--onnx", "x", "--header", "x"], 2, "two formats cannot go into one file")
    refuse(shop, [unit.name, "--header", "x", "--double"], 2, "--double is for onnx")
    refuse(shop, [unit.name, "--header", "x", "--which", "agent:2"], 2, "agent:I with I below 2")
    refuse(shop, [unit.name, "--onnx", "refused_unit.toml"], 2, "is there already; --force")
    refuse(shop, ["nothing", "--onnx", "x"], 1, "nothing")
    refuse(shop, [unit.name, "--onnx", "no/such/folder/x"], 1, "no/such/folder")
    whole = (shop.folder / unit.name / "model.npz").read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        (shop.folder / "cut.npz").write_bytes(whole[:size])
        refuse(shop, ["cut.npz", "--onnx", "x"], 1, "cut.npz")
    with zipfile.ZipFile(shop.folder / unit.name / "model.npz") as model, \
            zipfile.ZipFile(shop.folder / "cut.npz", "w") as other:
        for name in model.namelist():
            other.writestr(name, model.read(name).replace(b'"version": 1,', b'"version": 9,'))
    refuse(shop, ["cut.npz", "--onnx", "x"], 1, "cut.npz", "version 9")


with tempfile.TemporaryDirectory() as folder:
    shop = Workshop(sys.argv[1], folder)
    for trained in all_models(shop, linear_only=True):
        print(f"{trained.name:<16} {check(trained):.1e}")
    check_refusals(shop)
