#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tunes every method of a study by one rule, with the same number of settings for each.

    python3 experiments/search/figures.py --porter build/release/porter --work runs/figures fig2a fig2b fig3a fig3b budget-a9a

The best has the least mean loss on the training rows over seeds from 101 on, which no study reports: the loss at
the average for the paper's figures, of the agents for budget-a9a. The rule, the same for all:

  1. steps over the study's whole range, by equal factors; momentum starts at 0.1, and the consensus step
     at the share that a message keeps
  2. at the best so far momentum times and by 4, then consensus times and by 3, then the step times and by
     sqrt(10); again from the new best, with the same factors if one of these was better, else with
     their square roots
  3. until the budget is spent. Where a best then lies at an edge of what its method tried, every method of
     the study gets four more, and so on, for the figures at most 16 more, for budget-a9a four.

A value that comes back rounded (0.05 / 3 * 3 = 0.05001) counts as another setting, for every method alike.

What was tried is written, in its order, to STUDY-METHOD.toml beside this file, which `porter sweep` repeats; the
choices are printed.
"""
import argparse
import concurrent.futures
import json
import pathlib

from successors import Search, round_to, sweep_section, table

HERE = pathlib.Path(__file__).resolve().parent
FACTORS = {"momentum": 4.0, "consensus": 3.0, "step": 10**0.5}  # in this order
SHORT, TENTH, DENSE = {"compressor": "random_k:0.05"}, {"compressor": "random_k:0.1"}, {"compressor": "identity"}
SWEEP = {"mask": "sweep"}
C, M, MC = {"consensus": 0.05}, {"momentum": 0.1}, {"momentum": 0.1, "consensus": 0.05}

# By file name: label, what is set, what is tuned beside the step and where it starts.
PAPER = {
    "porter-dp": ("PORTER-DP", {"name": "porter-dp"} | SHORT, C),
    "soteriafl-sgd": ("SoteriaFL-SGD with the biased compressor of the paper, shift 1", {"name": "soteriafl-sgd", "unbiased": False} | SHORT, {}),
    "dp-dsgd": ("DP-DSGD, dense messages", {"name": "dp-dsgd"} | DENSE, {}),
    "choco-sgd": ("CHOCO-SGD with clip and noise", {"name": "choco-sgd"} | SHORT, C),
}
BUDGET = {
    "porter-sweep": ("porter-sweep, 0.10 d", {"name": "porter-sweep"} | SHORT, M),
    "porter-dp": ("PORTER-DP with momentum, 0.10 d", {"name": "porter-dp"} | SHORT, MC),
    "porter-dp-sweep": ("PORTER-DP with momentum and a sweeping mask, 0.10 d", {"name": "porter-dp"} | SHORT | SWEEP, MC),
    "soteriafl-sgd": ("SoteriaFL-SGD with momentum, 0.10 d up, d down", {"name": "soteriafl-sgd"} | TENTH, M),
    "dp-dsgd": ("DP-DSGD with momentum, d", {"name": "dp-dsgd"} | DENSE, M),
    "choco-sgd": ("CHOCO-SGD with momentum, 0.10 d", {"name": "choco-sgd"} | TENTH, M | {"consensus": 0.1}),
    "dp-sgd": ("DP-SGD with momentum, pooled (central)", {"name": "dp-sgd", "batch": 3000} | DENSE, M),
    "dp-sgd-alone": ("DP-SGD with momentum, alone", {"name": "dp-sgd-alone"} | DENSE, M),
}
A9A, MNIST = {"name": "a9a", "split": "shuffled"}, {"name": "mnist", "scale": "standard", "split": "shuffled"}
STRONG, WEAK = {"name": "logistic", "lambda": 0.2}, {"name": "logistic", "lambda": 0.001}
AS_PUBLISHED = {"batch": 1, "clip": "smooth:1", "start": "normal:0.2"}


def decades(first, last, mantissa):
    return [float(f"{mantissa}e{i}") for i in range(first, last + 1)]


def figure2(epsilon):
    # To 300, as utility is least where a step blew the model up: with hopeless = 0 such runs have figures.
    return {"methods": PAPER, "data": A9A, "model": STRONG, "algorithm": {"rounds": 10000} | AS_PUBLISHED,
            "epsilons": [epsilon], "privacy": {"delta": 1e-3, "calibration": "paper"}, "evaluate": "log-all:40",
            "metric": "loss", "seeds": 5, "hopeless": 0.0, "steps": decades(-6, 2, 3), "budget": 24, "more": 16}


def figure3(epsilon, steps):
    return {"methods": PAPER, "data": MNIST, "model": {"name": "mlp", "hidden": [64], "activation": "sigmoid"},
            "algorithm": {"rounds": 2000} | AS_PUBLISHED, "epsilons": [epsilon],
            "privacy": {"delta": 1e-3, "calibration": "paper"}, "evaluate": "end",
            "metric": "loss", "seeds": 1, "hopeless": None, "steps": steps, "budget": 12, "more": 16}


STUDIES = {
    "fig2a": figure2(0.01), "fig2b": figure2(0.1), "fig3a": figure3(0.01, decades(-4, -1, 1)), "fig3b": figure3(0.1, decades(-3, 0, 1)),
    "budget-a9a": {
        "methods": BUDGET, "data": A9A, "model": WEAK,
        "algorithm": {"rounds": 200, "batch": 300, "clip": "linear:1", "start": "zeros"},
        "epsilons": [0.5, 1.0, 2.0, 4.0, 8.0], "privacy": {"delta": 1e-5, "sampler": "poisson"}, "evaluate": "end",
        "metric": "agent_loss_mean", "seeds": 2, "hopeless": None, "steps": [0.25, 1.0, 4.0, 16.0], "budget": 12, "more": 4},
}


def config_text(study, fixed, epsilon):
    privacy = study["privacy"] | ({} if epsilon is None else {"epsilon": epsilon})
    return (table("data", study["data"]) + table("model", study["model"])
            + table("network", {"agents": 10, "graph": "erdos-renyi:0.8", "mixing": "fdla"})
            + table("algorithm", study["algorithm"] | fixed) + table("privacy", privacy)
            + table("run", {"seed": 101, "threads": 1, "evaluate": study["evaluate"]}))


class Climb:
    """The rule above for one method, as far as its budget goes."""

    def __init__(self, search, start, steps):
        self.search, self.moves, self.queue = search, self.propose(start, steps), []

    def propose(self, start, steps):
        yield [{"step": step} | start for step in steps]
        factors = dict(FACTORS)
        while True:
            before = self.search.best()
            for name in (n for n in FACTORS if n in before):
                best = self.search.best()
                values = [round_to(best[name] * factors[name]), round_to(best[name] / factors[name])]
                yield [best | {name: value if name == "step" else min(value, 1.0)} for value in values]
            if self.search.best() == before:
                factors = {name: factor**0.5 for name, factor in factors.items()}

    def spend(self, budget):
        while (room := budget - len(self.search.losses)) > 0:
            if not self.queue:
                fresh = {Search.key(s): s for s in next(self.moves)}
                self.queue = [s for k, s in fresh.items() if k not in self.search.losses]
            now, self.queue = self.queue[:room], self.queue[room:]
            self.search.try_all(now)


def tune_study(name, study, arguments):
    climbs = {}
    for method, (_, fixed, start) in study["methods"].items():
        for epsilon in study["epsilons"]:
            search = Search(arguments.porter, arguments.work / name / method / str(epsilon), config_text(study, fixed, epsilon),
                            metric=study["metric"], seeds=study["seeds"], hopeless=study["hopeless"])
            climbs[method, epsilon] = Climb(search, start, study["steps"])
    budget = study["budget"]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        while True:
            list(pool.map(lambda climb: climb.spend(budget), climbs.values()))
            edges = [f"{m} at {e}: {', '.join(k for k, _ in c.search.at_edge())}" for (m, e), c in climbs.items() if c.search.at_edge()]
            if not edges or budget >= study["budget"] + study["more"]:
                break
            print(f"{name}: with {budget} settings at an edge: {'; '.join(edges)}", flush=True)
            budget += 4
    print(f"{name}: {budget} settings for every method" + (f" and epsilon; still at an edge: {'; '.join(edges)}" if edges else ""))
    return {key: climb.search for key, climb in climbs.items()}


def write_tried(name, study, searches):
    for method, (label, fixed, _) in study["methods"].items():
        many = len(study["epsilons"]) > 1
        settings = [({"privacy.epsilon": e} if many else {}) | dict(key) for e in study["epsilons"] for key in searches[method, e].losses]
        text = (f"# {label}. Written by figures.py: what was tried, in its order.\n"
                + config_text(study, fixed, None if many else study["epsilons"][0])
                + sweep_section(settings, study["seeds"], study["metric"], study["hopeless"]))
        (HERE / f"{name}-{method}.toml").write_text(text)


def chosen(search, column, at_most=float("inf")):
    """The setting of the least `column` among those whose loss is at most so much."""
    settings = [dict(key) for key in search.losses if search.mean(dict(key), "loss") <= at_most]
    return min(settings, key=lambda s: search.mean(s, column))


def describe(search, setting, columns):
    figures = ", ".join(f"{c} {search.mean(setting, c):.4g}" for c in columns)
    return "{ " + ", ".join(f'"algorithm.{k}" = {json.dumps(v)}' for k, v in setting.items()) + " }  # " + figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--porter", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="where the sweeps go; a second call goes on there")
    parser.add_argument("--jobs", type=int, default=1, help="searches at a time; none depends on another")
    parser.add_argument("studies", nargs="+", choices=STUDIES)
    arguments = parser.parse_args()
    for name in arguments.studies:
        study = STUDIES[name]
        searches = tune_study(name, study, arguments)
        write_tried(name, study, searches)
        columns = ["loss", "agent_loss_mean"] + (["utility"] if name.startswith("fig") else [])
        for (method, epsilon), search in searches.items():
            print(f"{name} {epsilon} {method}: {describe(search, search.best(), columns)}")
            if name.startswith("fig2"):  # for fig2-utility; a model has blown up if it ends above the loss of the start, 1.76
                print(f"  by utility: {describe(search, chosen(search, 'utility'), columns)}")
                print(f"  by utility, not blown up: {describe(search, chosen(search, 'utility', 1.76), columns)}", flush=True)


if __name__ == "__main__":
    main()
