#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tunes every method of the successors' studies by one rule, and writes the studies.

    python3 experiments/search/successors.py --porter build/release/porter --work runs/successors

Every method gets the same number of settings, 24, in each cell: on a9a every split on ER(0.8) and once more on the
ring, on MNIST Dirichlet(1) and by label; an agent alone on shuffled data besides. A sixth of the training rows is held out; agents train on the others, with batches of five
sixths where there is privacy, and with seed 101, which no study reports. The best has the highest mean accuracy of
the agents on the rows held out; of equals the first tried. The rule, the same for all:

  1. four steps, a factor of 4 apart                                         4 settings
  2. at the best, momentum times and by 4                                    2
  3. consensus times and by 3; without one, momentum times and by 2          2
  4. step times and by 2                                                     2
  5. four times (by 4) past every edge of what was tried that the best is
     at, one at a time; where there is none, sqrt(2) times the step          2
  6. step, momentum and consensus times and by 2, and step times 2 with
     momentum by 2 and the reverse, around the best until all of these
     were tried, then the same with sqrt(2)                                 12

MoTEF-VR with privacy has a clip of momentum times that of the others (docs/algorithms.md: its noise adds up).
What was tried is written to successors-DATA-CELL-METHOD.toml, which `porter sweep` repeats; a best that
lies at an edge of what was tried is listed at the end. Studies go to experiments/successors-*.toml.
"""
import argparse
import concurrent.futures
import csv
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
# Where is searched: a split and a graph.
SPLITS = {"alike": "shuffled", "unlike-10": "dirichlet:10", "unlike": "dirichlet:1", "unlike-0.1": "dirichlet:0.1", "by-label": "by-label"}
CELLS = {cell: (split, "er") for cell, split in SPLITS.items()} | {f"ring-{cell}": (split, "ring") for cell, split in SPLITS.items()}
GRAPHS = {"er": ("ER(0.8)", "erdos-renyi:0.8"), "ring": ("ring", "ring"), "exponential": ("exponential", "exponential")}
# By split, the cell whose settings it has.
EACH = {split: cell for cell, split in SPLITS.items()}
TWO = {split: "by-label" if split == "by-label" else "unlike" for split in SPLITS.values()}

# label, what is set, the keys that are tuned beside the step.
SHORT, TENTH = {"compressor": "random_k:0.05"}, {"compressor": "random_k:0.1"}
SWEEP, DENSE = {"mask": "sweep"}, {"compressor": "identity"}
M, MC = ["momentum"], ["momentum", "consensus"]
PRIVATE = {
    "porter-sweep": ("porter-sweep, 0.10 d", SHORT, M),
    "sweep-led": ("sweep-led, 0.10 d", TENTH, M),
    "porter-dp": ("PORTER-DP with momentum (MoTEF), 0.10 d", SHORT, MC),
    "motef-vr": ("MoTEF-VR, private form, 0.10 d, two gradients", SHORT, MC),
    "porter-dp-sweep": ("PORTER-DP with momentum and a sweeping mask, 0.10 d", SHORT | SWEEP, MC),
    "choco-sgd": ("CHOCO-SGD with momentum and a sweeping mask, 0.10 d", TENTH | SWEEP, MC),
    "sparq-sgd": ("SPARQ-SGD with momentum, at most 0.10 d", TENTH, MC),
    "deepsqueeze": ("DeepSqueeze, 0.10 d", TENTH, ["consensus"]),
    "lead": ("LEAD with momentum, natural compression, 0.28 d", {"compressor": "natural"}, MC),
    "led": ("LED with momentum, d", DENSE, M),
    "lt-admm": ("LT-ADMM, d / 5", DENSE, ["consensus"]),
    "dp-dsgd": ("DP-DSGD with momentum, d", DENSE, M),
    "push-sum": ("push-sum with momentum, d", DENSE, M),
    "dp-csgp": ("DP-CSGP with momentum, 0.10 d", TENTH, MC),
    "dsgt": ("DSGT with momentum, 2 d", DENSE, M),
    "soteriafl-sgd": ("SoteriaFL-SGD with momentum, 0.10 d up, d down", TENTH, M),
    "soteriafl-svrg": ("SoteriaFL-SVRG with momentum, 0.10 d up, d down, two gradients", TENTH, M),
    "cdp-sgd": ("CDP-SGD with momentum, 0.10 d up, d down", TENTH, M),
    "ldp-sgd": ("LDP-SGD with momentum, d up, d down", DENSE, M),
    "ddp-srm": ("DDP-SRM, d into a secure aggregation, noise of central privacy", DENSE, M),
    "dp-sgd": ("DP-SGD pooled (central)", DENSE | {"batch": "POOLED"}, M),
    "dp-sgd-alone": ("DP-SGD alone, 0", DENSE, M),
}
PLAIN = {
    "beer": ("BEER, 0.10 d", SHORT, ["consensus"]),
    "motef": ("MoTEF, 0.10 d", SHORT, MC),
    "motef-vr": ("MoTEF-VR, 0.10 d, two gradients", SHORT, MC),
    "porter-gc": ("PORTER-GC with momentum, 0.10 d", SHORT, MC),
    "porter-sweep": ("porter-sweep, 0.10 d", SHORT, M),
    "sweep-led": ("sweep-led, 0.10 d", TENTH, M),
    "choco-sgd": ("CHOCO-SGD with momentum and a sweeping mask, 0.10 d", TENTH | SWEEP, MC),
    "sparq-sgd": ("SPARQ-SGD with momentum, at most 0.10 d", TENTH, MC),
    "deepsqueeze": ("DeepSqueeze, 0.10 d", TENTH, ["consensus"]),
    "dp-csgp": ("DP-CSGP without noise, with momentum, 0.10 d", TENTH, MC),
    "lead": ("LEAD with momentum, natural compression, 0.28 d", {"compressor": "natural"}, MC),
    "led": ("LED with momentum, d", DENSE, M),
    "lt-admm": ("LT-ADMM, d / 5", DENSE, ["consensus"]),
    "dsgd": ("DSGD with momentum, d", DENSE, M),
    "push-sum": ("push-sum with momentum, d", DENSE, M),
    "dsgt": ("DSGT with momentum, 2 d", DENSE, M),
    "gt-nsgdm": ("GT-NSGDm, 2 d", DENSE, M),
    "soteriafl-sgd": ("SoteriaFL-SGD with momentum, 0.10 d up, d down", TENTH, M),
    "clip21-sgd2m": ("Clip21-SGD2M, d up, d down", DENSE, M),
    "dp-sgd": ("SGD pooled (central)", DENSE | {"batch": "POOLED"}, M),
    "dp-sgd-alone": ("SGD alone, 0", DENSE, M),
}
BUDGET = 24
HELD_OUT = 0.1666666667
METRIC = "agent_accuracy_mean"
PROBLEMS = {
    "a9a": {
        "data": {"name": "a9a"}, "model": {"name": "logistic", "lambda": 0.001},
        "clip": "linear:1", "batch": 326, "step": 1.0, "fallback": {"data.name": "synthetic"},
        "title": "a9a, logistic regression with lambda = 0.001 (d = 124)", "cells": EACH,
        "about": "A quarter of the records is of one of the two classes, so that Dirichlet(10), which wants about half of each, "
                 "leaves the last agents none of it: only the first column is of agents who are alike.",
    },
    "mnist": {
        "data": {"name": "mnist", "transform": "hog-centred", "bias": False}, "model": {"name": "softmax"},
        "clip": "linear:0.25", "batch": 600, "step": 64.0, "fallback": {"data.name": "synthetic-digits"},
        "title": "MNIST as centred histograms of gradients, softmax (d = 3,920)", "cells": TWO, "about": "",
    },
}
# The kinds of study: which methods, how many rounds, and what all of them share.
KINDS = {
    "": {"methods": PRIVATE, "rounds": 200, "private": True},
    "plain-": {"methods": PLAIN, "rounds": 300, "private": False},
}
# What adds noise unless told not to, and a clip that never acts for it.
NOISED = ("porter-sweep", "sweep-led", "dp-csgp", "soteriafl-sgd", "dp-sgd", "dp-sgd-alone")
NO_CLIP = "linear:1e9"
# A server or an aggregation, or one agent: no graph.
SERVED = ("soteriafl-sgd", "soteriafl-svrg", "cdp-sgd", "ldp-sgd", "ddp-srm", "clip21-sgd2m", "dp-sgd", "dp-sgd-alone")


def text(value):
    return json.dumps(value)  # strings, numbers, booleans as TOML writes them


def table(name, entries):
    return f"[{name}]\n" + "".join(f"{key} = {text(value)}\n" for key, value in entries.items()) + "\n"


def base_of(problem, kind, method, fixed, share=1.0):
    """The algorithm's section without what is tuned; private batches are of that share of the rows."""
    name = method.removesuffix("-sweep") if method == "porter-dp-sweep" else method
    algorithm = {"name": name, "rounds": kind["rounds"], "start": "zeros"}
    batch = algorithm["batch"] = round(problem["batch"] * share) if kind["private"] else 32
    if kind["private"] or method in ("porter-gc", "clip21-sgd2m"):
        algorithm["clip"] = problem["clip"]
    elif name in NOISED:
        algorithm["clip"] = NO_CLIP
    algorithm |= fixed
    if algorithm["batch"] == "POOLED":
        algorithm["batch"] = 10 * batch
    return algorithm


def privacy_of(kind, name):
    """Methods that always add noise, at epsilon = 1 unless told otherwise, have none of it without privacy."""
    if kind["private"]:
        return {"epsilon": 2.0, "delta": 1e-5, "sampler": "poisson"}
    return {"calibration": "sigma", "sigma": 0.0} if name in NOISED else {}


def scaled(clip, factor):
    name, threshold = clip.split(":")
    return f"{name}:{round_to(float(threshold) * factor):g}"


def whole(problem, kind, method, setting):
    """The setting with what follows from it: a bracket of MoTEF-VR is about momentum times a gradient."""
    if method == "motef-vr" and kind["private"]:
        return setting | {"clip": scaled(problem["clip"], setting["momentum"])}
    return setting


def cells_of(method, cell):
    """Where the settings of a method are searched for a split whose cell on ER(0.8) this is; on the ring, too.

    An agent alone has besides settings of shuffled data: it cannot know its accuracy on rows of all classes, by
    which those of its split are chosen."""
    if method == "dp-sgd-alone":
        return {"er": cell, "alike": "alike"}
    return {"er": cell} | ({"ring": f"ring-{cell}"} if method not in SERVED else {})


def start_of(problem, kind, tuned):
    start = {"step": problem["step"] if kind["private"] else problem["step"] / 4}
    if "momentum" in tuned:
        start["momentum"] = 0.1
    if "consensus" in tuned:
        start["consensus"] = 0.1
    return start


class Search:
    """Runs lists of settings as sweeps; every setting once, with each of the seeds."""

    def __init__(self, porter, folder, config, whole=dict, metric="agent_loss_mean", seeds=1, hopeless=None):
        self.porter, self.folder, self.config, self.whole, self.metric, self.seeds = porter, folder, config, whole, metric, seeds
        self.hopeless = hopeless
        self.losses, self.rows = {}, {}  # by setting: the mean of the metric, less than 0 for accuracies, and the lines of results.csv
        folder.mkdir(parents=True, exist_ok=True)

    def try_all(self, settings, most=99):
        settings = [s for s in {self.key(s): s for s in settings}.values() if self.key(s) not in self.losses][:most]
        if not settings:
            return
        path = self.folder / f"stage{len(self.losses)}.toml"
        path.write_text(self.config + self.section([self.whole(s) for s in settings]))
        out = path.with_suffix("")
        if not (out / "results.csv").exists():
            # Fails where every run diverged, with results all the same.
            subprocess.run([self.porter, "sweep", path, "--out", out, "--force"], stdout=subprocess.DEVNULL)
        with open(out / "results.csv") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == len(settings) * self.seeds, path
        if not self.losses and all(row["status"] == "failed" for row in rows):
            (out / "results.csv").unlink()  # a folder that was gone on with would not try again
            raise SystemExit(f"{path}: no run began: {rows[0]['reason']}")
        for i, setting in enumerate(settings):
            mine = rows[i * self.seeds:(i + 1) * self.seeds]
            for row in mine:
                assert all(abs(float(row[f"algorithm.{k}"]) - v) < 1e-9 * abs(v) for k, v in setting.items()), row
            self.rows[self.key(setting)] = mine
            mean = self.mean(setting, self.metric)
            self.losses[self.key(setting)] = -mean if "accuracy" in self.metric and mean < float("inf") else mean

    def section(self, settings):
        return sweep_section(settings, self.seeds, self.metric, self.hopeless)

    def mean(self, setting, column):
        """Over the seeds; infinity where a run did not end, or not with a number."""
        rows = self.rows[self.key(setting)]
        values = [float(row[column] or "inf") if row["status"] == "finished" else float("inf") for row in rows]
        mean = sum(values) / len(values)
        return mean if mean == mean else float("inf")

    @staticmethod
    def key(setting):
        return tuple(setting.items())

    def best(self):
        return dict(min(self.losses, key=self.losses.get))

    def around(self, name, factor):
        """Two neighbours of the best."""
        best = self.best()
        self.try_all([best | {name: moved(name, best[name], f)} for f in (factor, 1 / factor)])

    def near(self, factor):
        """All neighbours of the best that step 6 asks for."""
        best = self.best()
        names = [name for name in ("step", "momentum", "consensus") if name in best]
        moves = [{name: f} for name in names for f in (factor, 1 / factor)]
        if "momentum" in best:
            moves += [{"step": f, "momentum": 1 / f} for f in (factor, 1 / factor)]
        return [best | {name: moved(name, best[name], f) for name, f in move.items()} for move in moves]

    def at_edge(self):
        """Keys in which the best is the largest or the smallest value tried; 1 is no edge for shares."""
        best, edges = self.best(), []
        for name, value in best.items():
            values = {dict(key)[name] for key in self.losses}
            if len(values) > 1 and (value == min(values) or (value == max(values) and not (name != "step" and value == 1))):
                edges.append((name, value == max(values)))
        return edges


def round_to(value):
    return float(f"{value:.4g}")


def moved(name, value, factor):
    """Times the factor; momentum and consensus are shares."""
    value = round_to(value * factor)
    return value if name == "step" else min(value, 1.0)


def sweep_section(settings, seeds=1, metric="agent_loss_mean", hopeless=None):
    lines = ",\n".join("  { " + ", ".join(f"{k if '.' in k else 'algorithm.' + k} = {text(v)}" for k, v in s.items()) + " }" for s in settings)
    given_up = "" if hopeless is None else f"hopeless = {hopeless}\n"
    return f'[sweep]\nseeds = {seeds}\nmetric = "{metric}"\n{given_up}settings = [\n{lines},\n]\n'


def tune(search, start, budget=12):
    search.try_all([start | {"step": round_to(start["step"] * f)} for f in (0.25, 1, 4, 16)])
    if "momentum" in start:
        search.around("momentum", 4)
    if "consensus" in start:
        search.around("consensus", 3)
    elif "momentum" in start:
        search.around("momentum", 2)
    search.around("step", 2)
    while len(search.losses) < 12:
        edges = search.at_edge()
        tried = len(search.losses)
        best = search.best()
        for name, up in edges or [("step", True)]:
            factor = (4 if up else 0.25) if edges else 2 ** 0.5
            value = round_to(best[name] * factor)
            search.try_all([best | {name: min(value, 1.0) if name != "step" else value}])
            if len(search.losses) >= 12:
                break
        if len(search.losses) == tried:  # nothing new in that direction
            search.try_all([best | {"step": round_to(best["step"] * 2 ** -0.5)}])
            if len(search.losses) == tried:
                break
    factor = 2
    while len(search.losses) < budget and factor > 1.1:
        tried = len(search.losses)
        search.try_all(search.near(factor), budget - tried)
        if len(search.losses) == tried:
            factor **= 0.5
    return search.best()


def config_text(problem, cell, kind, algorithm, title, network={}):
    split, graph = CELLS[cell]
    privacy = privacy_of(kind, algorithm["name"])
    return (f"# {title}\n" + table("data", problem["data"] | {"without_test": True, "holdout": HELD_OUT, "split": split}) + table("model", problem["model"])
            + table("network", {"agents": 10, "graph": GRAPHS[graph][1], "mixing": "metropolis"} | network)
            + table("algorithm", algorithm) + (table("privacy", privacy) if privacy else "")
            + table("run", {"seed": 101, "threads": 1, "evaluate": "end"}))


def inline(entries):
    return "{ " + ", ".join(f"{text(k)} = {text(v)}" for k, v in entries.items()) + " }"


def study_text(name, problem, kind, graph, series):
    """`series`: label, method, what is fixed, the settings by split."""
    private = kind["private"]
    about = (
        "Every method that releases clipped gradients with noise, at the same certified epsilon = 2 (delta = 1e-5, replace-one "
        "neighbours, Poisson sampling of a tenth of the records, 200 gradients)."
        if private else
        "Methods without privacy, batches of 32, 300 gradients.")
    twice = problem["cells"] is EACH
    where = "" if graph == "er" or (graph == "ring" and not twice) else "; these are used here"
    if graph == "ring" and twice:
        where = "; each stands here a second time with settings that were found on the ring"
    cells = (("in every split" if twice else "in each of two cells, Dirichlet(1), whose settings the other splits use, and by label,")
             + (" on the ring" if graph == "ring" and not twice else " on ER(0.8)"))
    label, spec = GRAPHS[graph]
    rows = []
    for text_label, fixed, by_split in series:
        with_list = ", ".join(inline({f"algorithm.{k}": v for k, v in by_split[split].items()}) for split in problem["cells"])
        settings = {f"algorithm.{k}": v for k, v in fixed.items()}
        if not private:
            settings |= {f"privacy.{k}": v for k, v in privacy_of(kind, fixed["name"]).items()}
        rows.append(f'[[series]]\nlabel = {text(text_label)}\nset = {inline(settings)}\n'
                    f"with = [{with_list}]\n")
    algorithm = {"rounds": kind["rounds"]}
    privacy = privacy_of(kind, "")
    return (
        f"# Written by experiments/search/successors.py.\n"
        f'title = "Successors: {problem["title"]}, {label}, {"epsilon = 2" if private else "without privacy"}"\n'
        f'about = """\n{about} Ten agents, Metropolis weights; columns are splits, to one or two classes an agent. '
        f'Values sent per gradient stand behind each method. {problem["about"]}'.rstrip() + "\n"
        f"Every method had at most {BUDGET} settings {cells}, by one rule, chosen by the agents' mean accuracy on a sixth of the training rows, "
        f"held out, with seed 101 (experiments/search/successors.py){where}."
        + (" An agent alone stands there a second time with settings that were found on shuffled data.\n" if graph == "er" else "\n") +
        '"""\nkind = "bars"\nseeds = 5\nquick = { rounds = 10, seeds = 1, keep = 2 }\n\n[config]\n'
        f'data = {inline(problem["data"])}\nmodel = {inline(problem["model"])}\n'
        f'network = {inline({"agents": 10, "graph": spec, "mixing": "metropolis"})}\n'
        f"algorithm = {inline(algorithm)}\n" + (f"privacy = {inline(privacy)}\n" if privacy else "")
        + f'run = {inline({"evaluate": "end", "threads": 1})}\n\n' + table("fallback", {text(k): v for k, v in problem["fallback"].items()})
        + "\n".join(rows)
        + f'\n[bars]\nvary = "data.split"\nvalues = {text(list(problem["cells"]))}\n'
        'metrics = ["agent_accuracy_mean", "agent_accuracy_worst", "test_accuracy", "agent_loss_mean", "consensus_error", "bits_per_agent"]\n')


# Over the internet, as docs/network.md models it: 50 ms, 10 Mbit/s, a tenth of a second for a gradient.
PACE = {"latency": 0.05, "bandwidth": 1.25e6, "compute": 0.1, "straggling": 0.5}


# Those whose way through the seconds is drawn: more lines than these nobody can tell apart.
DRAWN = ("porter-sweep", "sweep-led", "porter-dp", "choco-sgd", "lead", "led", "lt-admm", "dp-dsgd", "dsgt")


def seconds_text(problem, kind, series, drawn=False):
    """By label with modelled seconds, on every graph or, drawn against them, on ER(0.8); `series` as in study_text."""
    rows = []
    for text_label, fixed, by_split in series:
        if fixed["name"] not in SERVED and (fixed["name"] in DRAWN or not drawn):
            settings = {f"algorithm.{k}": v for k, v in (fixed | by_split["by-label"]).items()}
            if fixed["name"] == "motef-vr":
                settings["network.compute"] = 2 * PACE["compute"]
            rows.append(f"[[series]]\nlabel = {text(text_label)}\nset = {inline(settings)}\n")
    return (
        "# Written by experiments/search/successors.py.\n"
        f'title = "Successors: {problem["title"]}, by label, {"against modelled" if drawn else "modelled"} seconds"\n'
        f'about = """\nThe settings of the studies by label, {"on ER(0.8)" if drawn else "on three graphs"}, with the modelled clock of docs/network.md: messages take '
        "50 ms, an agent sends 10 Mbit a second, a gradient takes a tenth of a second and up to a few times that at random. Methods "
        'with a server have no model of their time' + ("" if drawn else ", and MoTEF-VR has two gradients")
        + '.\n"""\n'
        f'kind = "{"curves" if drawn else "bars"}"\nseeds = 5\nquick = {{ rounds = 10, seeds = 1, keep = 1 }}\n\n[config]\n'
        f'data = {inline(problem["data"] | {"split": "by-label"})}\nmodel = {inline(problem["model"])}\n'
        f'network = {inline({"agents": 10, "graph": GRAPHS["er"][1], "mixing": "metropolis"} | PACE)}\n'
        f'algorithm = {inline({"rounds": kind["rounds"]})}\nprivacy = {inline(privacy_of(kind, ""))}\n'
        f'run = {inline({"evaluate": "every:10" if drawn else "end", "threads": 1})}\n\n'
        + table("fallback", {text(k): v for k, v in problem["fallback"].items()})
        + "\n".join(rows)
        + ('\n[curves]\nmetrics = ["agent_loss_mean", "agent_accuracy_mean", "agent_accuracy_worst"]\n' if drawn else
           f'\n[bars]\nvary = "network.graph"\nvalues = {text([spec for _, spec in GRAPHS.values()])}\n'
           'metrics = ["seconds", "bits_per_agent", "agent_accuracy_mean", "agent_accuracy_worst"]\n'))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--porter", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="where the sweeps go; a second call goes on there")
    parser.add_argument("--only", default="", help="data sets and kinds, as in a9a,plain-a9a")
    parser.add_argument("--jobs", type=int, default=1, help="searches at a time; none depends on another")
    arguments = parser.parse_args()
    arguments.porter, arguments.work = pathlib.Path(arguments.porter).resolve(), arguments.work.resolve()
    wanted = set(filter(None, arguments.only.split(",")))
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for kind_name, kind in KINDS.items():
            for data, problem in PROBLEMS.items():
                name = kind_name + data
                if not wanted or name in wanted:
                    write_studies(name, problem, kind, pool, arguments)


def search_cell(arguments, name, problem, kind, method, cell):
    """The best setting of one method in one cell; what was tried goes to a file."""
    label, fixed, tuned = kind["methods"][method]
    title = f"{label}: {problem['title']}, {CELLS[cell][0]}{', ring' if CELLS[cell][1] == 'ring' else ''}; what was tried."
    config = config_text(problem, cell, kind, base_of(problem, kind, method, fixed, 1 - HELD_OUT), title)
    search = Search(arguments.porter, arguments.work / name / method / cell, config, lambda s: whole(problem, kind, method, s), METRIC)
    best = tune(search, start_of(problem, kind, tuned), BUDGET)
    path = HERE / f"successors-{name}-{cell}-{method}.toml"
    path.write_text(config + sweep_section([search.whole(dict(key)) for key in search.losses], metric=METRIC))
    edge = [key for key, _ in search.at_edge()]
    print(f"{name} {cell} {method}: {best} accuracy {-min(search.losses.values()):.4f}, "
          f"{len(search.losses)} settings" + (f", at the edge in {', '.join(edge)}" if edge else ""), flush=True)
    return search.whole(best)


def write_studies(name, problem, kind, pool, arguments):
    where = {(method, split): cells_of(method, cell) for method in kind["methods"] for split, cell in problem["cells"].items()}
    pairs = dict.fromkeys((method, cell) for (method, _), cells in where.items() for cell in cells.values())
    found = {pair: pool.submit(search_cell, arguments, name, problem, kind, *pair) for pair in pairs}
    series, there = [], []
    for method, (label, fixed, _) in kind["methods"].items():
        for graph, rows, more in (("er", series, ""), ("alike", series, ", tuned on shuffled data"), ("ring", there, ", tuned there")):
            by_split = {split: found[method, where[method, split][graph]].result()
                        for split in problem["cells"] if graph in where[method, split]}
            if by_split:
                rows.append((label + more, base_of(problem, kind, method, fixed), by_split))
    networked = [row for row in series if row[1]["name"] not in SERVED]
    twice = problem["cells"] is EACH
    shown = {"er": series, "exponential": networked, "ring": (networked if twice else []) + there}
    for graph in GRAPHS:
        study = HERE.parent / f"successors-{name}-{graph}.toml"
        study.write_text(study_text(name, problem, kind, graph, shown[graph]))
    if kind["private"]:
        (HERE.parent / f"successors-{name}-seconds.toml").write_text(seconds_text(problem, kind, series))
        if twice:
            (HERE.parent / f"successors-{name}-clock.toml").write_text(seconds_text(problem, kind, series, drawn=True))


if __name__ == "__main__":
    main()
