# SPDX-License-Identifier: Apache-2.0
"""Small trained models of every kind and scaling, for the checks of their exports."""
import csv
import json
import math
import pathlib
import random
import struct
import subprocess
import zipfile

# What a schema says of each column.
RULES = {
    "age": {"kind": "number", "unit": "years", "range": [18.1, 90.7], "outside": "clamp", "scale": "range", "missing": "own"},
    "größe, \"cm\" ?": {"kind": "number", "scale": "standard", "mean": 170.5, "deviation": 9.25, "missing": 165.5},
    "class": {"kind": "category", "values": ["clerk", "a, b", "ärztin", "NA", "back\\slash"], "unknown": "other",
              "missing": "own"},
    "id": {"kind": "drop"},
    "label": {"kind": "number", "range": [-1.0, 1.0], "outside": "missing", "scale": "none", "missing": "own"},
    "2 b": {"kind": "category", "values": ["yes", "no"], "unknown": "missing", "missing": "value:no"},
    "2_b": {"kind": "number", "range": [0.0, 5.0], "outside": "error", "scale": "none", "missing": "error"},
    "town": {"kind": "category", "values": ["A", "B"], "unknown": "error", "missing": "error"},
}
# In another order than the schema's, and with a column that it does not know.
COLUMNS = ["town", "age", "2_b", "surplus", "label", "2 b", "größe, \"cm\" ?", "class"]
NUMBERS = {"age", "2_b", "label", "größe, \"cm\" ?"}
CATEGORIES = {"town", "2 b", "class"}
MISSING = ["", "NA", "?"]


def section(head, name, keys):
    """Texts, numbers and lists are written in TOML as in JSON."""
    return "".join([f"{head}\n"] + [f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
                                    for key, value in {"name": name, **keys}.items()])


def schema_text(labels):
    return "[file]\nseparator = \";\"\n" + "".join(
        [section("[[label]]", name, keys) for name, keys in labels.items()] +
        [section("[[column]]", name, keys) for name, keys in RULES.items()])


def record(rng):
    return {"town": rng.choice("AB"), "age": rng.choice([None, rng.uniform(-20, 150), 18.1, 90.7]),
            "2_b": rng.choice([0.0, 5.0, rng.uniform(0, 5)]), "surplus": "x;y", "label": rng.choice([None, 0.5, 7.25, -1.0]),
            "2 b": rng.choice(["yes", "no", "perhaps", "", "NA"]), "größe, \"cm\" ?": rng.choice([None, rng.gauss(170, 20)]),
            "class": rng.choice(["clerk", "a, b", "ärztin", "NA", "back\\slash", "", "?", "unheard"])}


# Each has one value that `porter predict` refuses.
REFUSED = [{"2_b": None}, {"2_b": 5.5}, {"2_b": math.inf}, {"town": "C"}, {"town": ""}, {"age": math.inf},
           {"label": -math.inf}, {"größe, \"cm\" ?": math.inf}]


def field(value):
    return "" if value is None else value if isinstance(value, str) else repr(value)


def write_table(path, rows, labels=None):
    """`labels`: functions of a row by name."""
    labels = labels or {}
    with open(path, "w", newline="") as file:
        out = csv.writer(file, delimiter=";")
        out.writerow(COLUMNS + list(labels))
        for row in rows:
            out.writerow([field(row[name]) for name in COLUMNS] + [label(row) for label in labels.values()])


def float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def write_numbers(path, rows, label=None):
    with open(path, "w") as file:
        for row in rows:
            file.write(",".join([repr(x) for x in row] + ([label(row)] if label else [])) + "\n")


def write_npz(path, arrays):
    """{name: rows of numbers}"""
    with zipfile.ZipFile(path, "w") as file:
        for name, rows in arrays.items():
            header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
            header += " " * (63 - (10 + len(header)) % 64) + "\n"
            numbers = b"".join(struct.pack(f"<{len(row)}d", *row) for row in rows)
            file.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + numbers)


class Workshop:
    """Trains in a folder of its own."""

    def __init__(self, porter, folder):
        self.porter, self.folder = porter, pathlib.Path(folder)
        self.rng = random.Random(7)

    def call(self, *arguments, expect=0):
        result = subprocess.run([self.porter, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True)
        if expect is not None:
            assert result.returncode == expect, (arguments, result.returncode, result.stdout, result.stderr)
        return result.stdout + result.stderr

    def train(self, name, data, model, more=""):
        config = self.folder / f"{name}.toml"
        config.write_text(f"[data]\n{data}\n[model]\n{model}\n[network]\nagents = 2\ngraph = \"complete\"\n"
                          "[algorithm]\nname = \"dsgd\"\nrounds = 40\nbatch = 8\nstep = 0.05\nclip = \"none\"\n"
                          f"start = \"normal:0.3\"\n{more}\n[run]\nevaluate = \"end\"\n")
        self.call("run", config.name, "--out", name)
        return Trained(self, name)

    def with_schema(self, name, model, classes=("low", "högh"), scale="none", bias=True, targets=1):
        if classes:
            labels = {"risk": {"classes": list(classes)}}
            answers = {"risk": lambda row: classes[(row["class"] == "clerk") + (row["2 b"] == "yes") * (len(classes) > 2)]}
        else:
            labels = {"risk": {"kind": "number", "mean": 250.0, "deviation": 12.5}}
            answers = {"risk": lambda row: repr(250 + 5 * row["2_b"] + (10 if row["town"] == "A" else 0))}
        if targets == 2:
            labels["dépense, \"€\""] = {"mean": -3.0, "deviation": 0.5}
            answers["dépense, \"€\""] = lambda row: repr(row["2_b"] / 4 - 3)
        (self.folder / f"{name}.schema.toml").write_text(schema_text(labels))
        write_table(self.folder / f"{name}.csv", [record(self.rng) for _ in range(200)], answers)
        trained = self.train(name, f"train = \"{name}.csv\"\nschema = \"{name}.schema.toml\"\nscale = \"{scale}\"\n"
                                   f"bias = {str(bias).lower()}", model)
        trained.schema = True
        trained.records = [record(self.rng) for _ in range(120)]
        write_table(self.folder / f"{name}.new.csv", trained.records)
        return trained

    def without_schema(self, name, model, classes=3, scale="none", bias=True, features=6):
        rows = [[float32(self.rng.gauss(0.3, 1)) for _ in range(features)] for _ in range(150)]
        answer = lambda row: str(int(3 * abs(row[0] + row[1])) % classes) if classes else repr(row[0] - 2 * row[1])
        write_numbers(self.folder / f"{name}.csv", rows, answer)
        trained = self.train(name, f"train = \"{name}.csv\"\nscale = \"{scale}\"\nbias = {str(bias).lower()}", model)
        return self.numbers(trained, features, [0.0] * features)

    def several_targets(self, name, model):
        rows = [[float32(self.rng.gauss(0.3, 1)) for _ in range(4)] for _ in range(150)]
        targets = [[row[0] - row[1], row[2] + 1, row[3] * row[0]] for row in rows]
        write_npz(self.folder / f"{name}.npz", {"X": rows, "y": targets})
        return self.numbers(self.train(name, f"train = \"{name}.npz\"", model), 4, [0.0] * 4)

    def digits(self, name, model):
        """On the built-in images, and predicting pixels."""
        trained = self.train(name, 'name = "synthetic-digits"', model, "")
        return self.numbers(trained, 784, [1.0] * 784, lambda: self.rng.choice([0.0, 0.0, self.rng.random()]))

    def numbers(self, trained, features, one, draw=None):
        draw = draw or (lambda: self.rng.gauss(0, 2))
        trained.records = [one] + [[float32(draw()) for _ in range(features)] for _ in range(60)]
        write_numbers(self.folder / f"{trained.name}.new.csv", trained.records)
        return trained


class Trained:
    schema = False

    def __init__(self, workshop, name):
        self.workshop, self.name = workshop, name

    def predictions(self, table=None):
        """The lines that `porter predict` writes: dictionaries."""
        table = table or f"{self.name}.new.csv"
        out = self.workshop.folder / f"{self.name}.predictions.csv"
        proba = [] if self.regression() else ["--proba"]
        self.workshop.call("predict", self.name, "--data", table, "--out", out.name, *proba)
        with open(out, newline="") as file:
            return list(csv.DictReader(file))

    def regression(self):
        text = (self.workshop.folder / f"{self.name}.toml").read_text()
        return "loss =" in text or '"linear"' in text

    def export(self, to, *more, expect=0):
        out = self.workshop.folder / f"{self.name}_ours.{to}"
        self.workshop.call("model", "export", self.name, "--" + to, out.name, "--force", *more, expect=expect)
        return out

    def answers(self, lines):
        """Per record: the class or None, and the probabilities or values as numbers."""
        if self.regression():
            return [(None, [float(x) for x in line.values()]) for line in lines]
        return [(line["prediction"], [float(x) for name, x in line.items() if name != "prediction"]) for line in lines]


def refused_records(rng):
    for change in REFUSED:
        yield change, {**record(rng), **change}


def all_models(shop, linear_only=False):
    """Every kind of model, every scaling, with a schema and without."""
    logistic, softmax, linear = 'name = "logistic"', 'name = "softmax"', 'name = "linear"\nloss = "squared"'
    three = ("low", "högh", "mid ?")
    yield shop.without_schema("plain_logistic", logistic, 2, "standard")
    yield shop.without_schema("plain_softmax", softmax, 3, "spectral")
    yield shop.without_schema("plain_linear", linear, 0, "none", bias=False)
    yield shop.with_schema("schema_logistic", logistic, scale="none")
    yield shop.with_schema("schema_softmax", softmax, three, "spectral")
    yield shop.with_schema("schema_linear", linear, None, "standard")
    yield shop.several_targets("several_linear", linear)
    yield shop.with_schema("schema_several", linear, None, "spectral", targets=2)
    if linear_only:
        return
    yield shop.several_targets("several_values", 'name = "mlp"\nhidden = [4]\nactivation = "relu"\nloss = "cauchy"')
    yield shop.without_schema("plain_unit", logistic, 2, "unit")
    yield shop.with_schema("schema_unit", softmax, three, "unit", bias=False)
    yield shop.without_schema("plain_relu", 'name = "mlp"\nhidden = [5, 4]\nactivation = "relu"', 3, "standard")
    yield shop.without_schema("plain_tempered", 'name = "mlp"\nhidden = [5, 4]\nactivation = "tempered:1.58:3:0.71"', 3)
    yield shop.without_schema("plain_values", 'name = "mlp"\nhidden = [4]\nactivation = "tanh"\nloss = "huber"', 0)
    yield shop.with_schema("schema_relu", 'name = "mlp"\nhidden = [5]\nactivation = "relu"', three, "none")
    yield shop.with_schema("schema_values", 'name = "mlp"\nhidden = [4]\nloss = "squared"', None, "spectral")
