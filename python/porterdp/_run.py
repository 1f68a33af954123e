# SPDX-License-Identifier: Apache-2.0
"""Runs: one call, or step by step."""
import json
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np

from . import _core, _html
from ._config import _overrides, _value, make_config, to_toml
from ._data import Labels, _checked, _pair, run_data
from ._errors import FileError, NumericError, PrivacyError, UsageError
from ._model import bind
from ._progress import Progress
from .graph import graph as make_graph

__all__ = ["Metrics", "Privacy", "Result", "Simulation", "Sweep", "TrainedModel", "compare", "load", "report", "run",
           "sweep"]


class Metrics(dict):
    """Columns of metrics.csv as arrays, NaN for an empty cell. `metrics.loss` is `metrics["loss"]`."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no column {name!r}; there are {', '.join(self)}") from None

    @property
    def last(self):
        """The figures of the last evaluation that are there."""
        return {name: values[-1] for name, values in self.items() if len(values) and np.isfinite(values[-1])}

    def to_pandas(self):
        import pandas
        return pandas.DataFrame(dict(self))

    @classmethod
    def of_rows(cls, rows):
        names = rows[0].keys() if rows else []
        return cls((n, np.array([np.nan if row[n] is None else row[n] for row in rows], dtype=float)) for n in names)

    @classmethod
    def of_file(cls, path):
        with open(path, encoding="utf-8") as file:
            names = file.readline().strip().split(",")
            cells = [line.rstrip("\n").split(",") for line in file if line.endswith("\n")]
        columns = zip(*cells) if cells else [()] * len(names)
        return cls((n, np.array([float(c) if c else np.nan for c in column])) for n, column in zip(names, columns))


class Privacy(dict):
    """The statement of a run: what is guaranteed, and what is not (privacy.json)."""

    @property
    def statement(self):
        return self["statement"]

    @property
    def guaranteed(self):
        return self.get("guarantee") is not None

    @property
    def epsilon(self):
        """(lower, upper), or None where nothing is certified."""
        found = self.get("epsilon")
        return None if found is None else tuple(found)

    def __str__(self):
        return self.statement

    def _repr_html_(self):
        return _html.note("Guarantee" if self.guaranteed else "No guarantee", self.statement, self.guaranteed)


class TrainedModel:
    """A trained model of porter's own: parameters by name, predictions."""

    def __init__(self, path, which="x_mean", labels=None):
        self._saved = _core.load_model(os.fspath(path))
        self.which = which
        self.about = json.loads(self._saved.card)
        self.classes = np.array(self._saved.classes) if labels is None else np.asarray(labels)

    @property
    def x(self):
        """All parameters as one vector."""
        return self._saved.parameters(self.which)

    @property
    def parameters(self):
        """By name, in their shapes: `{"W1": ..., "b1": ...}`."""
        x = self.x
        return {name: x[first:first + int(np.prod(shape))].reshape(shape)
                for name, shape, first in self._saved.blocks()}

    def _call(self, what, X):
        if hasattr(X, "to_csv") and self._saved.has_schema:
            return getattr(self._saved, what + "_table")(self.which, self._as_csv(X))
        return getattr(self._saved, what)(self.which, np.asarray(X, dtype=np.float32))

    def _as_csv(self, frame):
        separator, decimal = self._saved.table_format
        return frame.to_csv(index=False, sep=separator, decimal=decimal)

    def predict(self, X):
        """Classes as they were named, or numbers. X: rows of features, or a DataFrame where there is a schema."""
        found = self._call("predict", X)
        if len(self.classes):
            return self.classes[found[:, 0].astype(int)]
        return found[:, 0] if found.shape[1] == 1 else found

    def predict_class_numbers(self, X):
        """The same as numbers of `classes`."""
        return self._call("predict", X)[:, 0].astype(int)

    def predict_proba(self, X):
        """What each class gets, in the order of `classes`."""
        return self._call("probabilities", X)

    def __repr__(self):
        return f"<TrainedModel {self.about['model']['name']}, {len(self.x)} parameters>"


class Result:
    """What a run left in its folder."""

    def __init__(self, folder, keep=None, model=None, labels=None):
        self.folder = Path(folder)
        self._labels = labels  # as the caller wrote them
        self._keep = keep  # a temporary folder, which goes with this object
        self._own = model
        self.metrics = Metrics.of_file(self.folder / "metrics.csv")
        summary = self.folder / "summary.json"
        self.summary = json.loads(summary.read_text(encoding="utf-8")) if summary.exists() else {}
        self.privacy = Privacy(self.summary.get("privacy") or {"statement": "the run does not say"})
        self.config = (self.folder / "config.toml").read_text(encoding="utf-8")

    @property
    def status(self):
        return self.summary.get("status", "unfinished")

    @property
    def arrays(self):
        """x_mean, X (a row for each agent), x_out and, where losses may choose it, x_best."""
        with np.load(self.folder / "model.npz") as file:
            return {name: file[name] for name in file.files if name != "about"}

    @property
    def model(self):
        """The trained model; one of your own comes back with the average as its parameters."""
        if self._own is not None:
            return self._own
        if self.summary.get("model") == "own":
            raise UsageError("the model was the caller's own; its trained parameters are arrays[\"x_mean\"]")
        return TrainedModel(self.folder / "model.npz", labels=self._labels)

    def report(self, path, title="Training report"):
        """Writes one HTML page with everything about the run."""
        Path(path).write_text(_core.report([str(self.folder)], title, False), encoding="utf-8")

    def save(self, folder):
        """Copies the run's folder to one that stays."""
        if os.path.exists(folder):
            raise FileError(f"{folder}: it is there already")
        shutil.copytree(self.folder, folder)
        self.folder, self._keep = Path(folder), None

    def __repr__(self):
        last = self.metrics.last
        figures = ", ".join(f"{n} {last[n]:.4g}" for n in ("loss", "test_accuracy", "test_r2") if n in last)
        return f"<Result {self.status}, {int(last.get('round', 0))} rounds{': ' + figures if figures else ''}>"

    def _repr_html_(self):
        rounds = self.metrics["round"]
        plots = "".join(_html.curve(rounds, self.metrics[name], title) for name, title in
                        (("loss", "training loss"), ("test_accuracy", "test accuracy"), ("test_r2", "test R2"),
                         ("consensus_error", "consensus error")) if name in self.metrics)
        graph = self.folder / "graph.svg"
        picture = f'<details><summary>graph</summary>{graph.read_text(encoding="utf-8")}</details>' if graph.exists() else ""
        return f"<b>{self!r}</b>".replace("<Result", "&lt;Result") + f"<div>{plots}</div>{picture}" + \
            self.privacy._repr_html_()


class Simulation:
    """A run step by step, all agents in this process."""

    def __init__(self, config=None, data=None, test=None, *, label=None, classes=None, model=None, samples=None,
                 graph=None, W=None, start=None, compressor=None, algorithm=None, set=None):
        settings = dict(set or {})
        if algorithm is not None:
            # The row of a known method says what the config may ask for.
            settings.setdefault("algorithm.name", getattr(algorithm, "like", "choco-sgd"))
        if isinstance(graph, str):
            settings["network.graph"], graph = graph, None
        if algorithm is not None and not callable(getattr(algorithm, "step", None)):
            raise UsageError("algorithm: expected an object with step(X, gradients, mix)")
        if isinstance(compressor, str):
            settings["algorithm.compressor"], compressor = compressor, None
        if graph is not None:
            graph = make_graph(graph)
            _set_agents(config, settings, graph.nodes, "graph")
        if isinstance(data, list) and data:
            _set_agents(config, settings, len(data), "data")
        if data is not None or model is not None:
            settings.setdefault("data.name", "given")
        self._config = make_config(config, settings)
        if W is not None and graph is None:
            W = np.asarray(W, dtype=float)
            graph = make_graph([(i, j) for i in range(len(W)) for j in range(i) if W[i, j] or W[j, i]], len(W))
        if W is not None:
            _check_weights(W, graph)
        compiled = numbered = self._labels = None
        self.own_model = model
        if model is not None:
            compiled, numbered, own_start = bind(self._config, model, data, test, label, classes, samples)
            start = own_start if start is None else start
        elif data is not None:
            numbered, self._labels = run_data(self._config, data, test, label, classes)
        elif test is not None:
            raise UsageError("test: it goes with data")
        self._run = _core.Simulation(
            self._config, data=numbered, model=compiled, graph=graph, W=None if W is None else np.asarray(W, float),
            start=None if start is None else np.asarray(start, float),
            compressor=getattr(compressor, "_made", compressor), method=algorithm)
        self._rows = []

    @property
    def round(self):
        return self._run.round

    @property
    def rounds(self):
        return self._run.rounds

    @property
    def dim(self):
        return self._run.dim

    @property
    def finished(self):
        return self._run.finished

    @property
    def config(self):
        """The resolved config as TOML."""
        return self._run.config

    @property
    def iterates(self):
        """X, a row for each agent: a view without a copy, which the next step changes."""
        return self._run.iterates()

    @property
    def metrics(self):
        """Of all evaluations so far."""
        return Metrics.of_rows(self._rows)

    @property
    def privacy(self):
        return Privacy(json.loads(self._run.privacy()))

    @property
    def arrays(self):
        return self._run.arrays()

    def step(self, rounds=1):
        """Some more rounds."""
        self._run.step(rounds)

    def evaluate(self):
        """The metrics now, as a dictionary; they become part of `metrics`."""
        row = self._run.evaluate(True)
        self._rows.append(row)
        return row

    def checkpoint(self, path):
        """Writes all that is needed to go on bit for bit."""
        self._run.save(os.fspath(path))

    def restore(self, path):
        self._run.restore(os.fspath(path))

    def run(self, out=None, callbacks=(), progress=None):
        """To the end. `callbacks`: called with each evaluation; one that returns False ends the run."""
        callbacks = [callbacks] if callable(callbacks) else list(callbacks)
        shown = Progress(self.rounds, progress)

        def evaluated(row):
            self._rows.append(row)
            shown.evaluated(row)
            return not any([callback(row) is False for callback in callbacks])

        keep = None
        if out is None:
            keep = tempfile.TemporaryDirectory(prefix="porterdp-")
            out = os.path.join(keep.name, "run")
        try:
            status = self._run.train(os.fspath(out), evaluated, shown)
        finally:
            shown.close()
        if status == "budget spent":
            raise PrivacyError("the privacy budget allows no further round; what was trained is in " + os.fspath(out))
        if status == "diverged":
            raise NumericError(f"the run diverged after round {self.round}: losses, gradients or iterates left the finite "
                               "numbers, or an agent went too far; a smaller algorithm.step may help")
        if self.own_model is not None and hasattr(self.own_model, "load"):
            self.own_model.load(self._run.arrays()["x_mean"])
        return Result(out, keep, self.own_model, self._labels)


def _set_agents(config, settings, agents, what):
    """As many as there are; a config that says otherwise, and does not leave it open, contradicts."""
    said = make_config(config, settings).agents
    if said not in (agents, make_config({}).agents):
        raise UsageError(f"network.agents: expected {agents}, as {what} has them, found {said}")
    settings["network.agents"] = agents


def _check_weights(W, graph):
    """Sums, zeros and mixing rate, as for a matrix from a file."""
    with tempfile.TemporaryDirectory(prefix="porterdp-") as folder:
        file = os.path.join(folder, "W.npy")
        np.save(file, np.asarray(W, dtype=float))
        try:
            _core.make_mixing("file:" + file, graph)
        except UsageError as error:
            raise UsageError(str(error).replace("file:" + file, "W").replace(file, "W")) from None


def run(config=None, data=None, test=None, *, out=None, callbacks=(), progress=None, **sources):
    """Trains as the config says and returns a `Result`.

    config     a file, TOML text, or a dictionary such as {"algorithm": {"name": "porter-dp"}}
    data       (X, y); a list of them, one for each agent; a DataFrame with label="name"; absent: the config's
    test       the same for the test set
    model      a model of your own (see porterdp.torch and "own model" in the docs)
    algorithm  a method of your own: an object with step(X, gradients, mix)
    set        {"section.key": value}, which wins over the config
    out        the folder of the run; absent: a temporary one. One that is there is continued
    """
    return Simulation(config, data, test, **sources).run(out, callbacks, progress)


def load(folder):
    """The result of a run that is in a folder."""
    folder = Path(folder)
    if not (folder / "metrics.csv").exists():
        raise FileError(f"{folder}: it holds no run (there is no metrics.csv)")
    return Result(folder)


def _folders(runs):
    runs = runs if isinstance(runs, (list, tuple)) else [runs]
    return [str(r.folder) if isinstance(r, Result) else os.fspath(r) for r in runs]


class Comparison(list):
    """A dictionary for each run, or for runs that differ in their seeds only."""

    def __init__(self, found):
        super().__init__(json.loads(found["json"]))
        self._html, self._text = found["html"], found["text"]

    def to_pandas(self):
        import pandas
        return pandas.DataFrame(list(self))

    def __str__(self):
        return self._text

    __repr__ = __str__

    def _repr_html_(self):
        return self._html


def compare(runs, each_seed=False):
    """A table over results or folders, of sweeps too."""
    return Comparison(_core.compare(_folders(runs), each_seed))


def report(runs, path, title="Training report", each_seed=False):
    """One HTML page over results or folders."""
    Path(path).write_text(_core.report(_folders(runs), title, each_seed), encoding="utf-8")


class Sweep:
    """What a sweep found: `best` is a config as TOML, `summary` the ranking."""

    def __init__(self, folder, found, keep):
        self.folder, self._keep = Path(folder), keep
        self.summary, self.notes, self._html = json.loads(found["summary"]), found["notes"], found["html"]

    @property
    def best(self):
        return (self.folder / "best.toml").read_text(encoding="utf-8")

    def __repr__(self):
        return f"<Sweep, best {self.summary['best']['values'] if self.summary.get('best') else None}>"

    def _repr_html_(self):
        return self._html + "".join(f"<p>{note}</p>" for note in self.notes)


def sweep(config=None, vary=None, data=None, test=None, *, label=None, classes=None, seeds=None, folds=None, metric=None,
          random=None, set=None, out=None, jobs=0):
    """Searches for the best settings: vary={"algorithm.step": [0.01, 0.1]} or "log:0.01..1:5"."""
    keep = None
    if out is None:
        keep = tempfile.TemporaryDirectory(prefix="porterdp-")
        out = os.path.join(keep.name, "sweep")
    place = Path(str(out) + ".config")
    place.mkdir(parents=True, exist_ok=True)
    settings = dict(set or {})
    if data is not None:
        settings.update(_saved(place, data, test, label, classes, make_config(config, settings)))
    if isinstance(config, (str, os.PathLike)) and "\n" not in str(config) and "=" not in str(config):
        path = Path(config)
    else:
        path = place / "config.toml"
        path.write_text(config if isinstance(config, str) else to_toml(config or {}), encoding="utf-8")
    texts = [(key, values if isinstance(values, str) else ",".join(
        value if isinstance(value, str) else _value(value) for value in values)) for key, values in (vary or {}).items()]
    found = _core.sweep(config=os.fspath(path), overrides=_overrides(settings), vary=texts, random=random, seeds=seeds,
                        folds=folds, metric=metric, out=os.fspath(out), jobs=jobs)
    return Sweep(out, found, keep)


def _saved(place, data, test, label, classes, config):
    """Arrays as files, which the runs of a sweep share."""
    keys, labels = {}, None
    for name, given in (("train", data), ("test", test)):
        if given is None:
            continue
        X, y = _checked(_pair(given, label))
        labels = labels or Labels(config, classes, y)
        np.savez(place / f"{name}.npz", X=X, y=labels.numbers(y))
        keys[f"data.{name}"] = str((place / f"{name}.npz").resolve())
    return keys
