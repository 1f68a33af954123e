#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tunes every method of a study by one rule, with the same number of settings for each.

    python3 experiments/search/figures.py --porter build/release/porter --work runs/figures fig2a fig2b fig3a fig3b \
        budget-a9a budget-mnist surpass-shuffled surpass-by-label

Seeds are from 101 on, which no study reports. The best has the least mean loss on the training rows: the loss at
the average for the paper's figures, of the agents for budget-a9a. For the other three, which it writes as well, the
best has the highest mean accuracy of the agents on a sixth of the training rows that is held out; agents train on
the others, with batches of five sixths. The rule, the same for all:

  1. steps over the study's whole range, by equal factors; momentum starts at 0.1, and the consensus step
     at the share that a message keeps
  2. at the best so far momentum times and by 4, then consensus times and by 3, then the step times and by
     sqrt(10); again from the new best, with the same factors if one of these was better, else with
     their square roots
  3. until the budget is spent. Where a best then lies at an edge of what its method tried, every method of
     the study gets four more, and so on, for the figures at most 16 more, for the budgets four.

A value that comes back rounded (0.05 / 3 * 3 = 0.05001) counts as another setting, for every method alike.

What was tried is written, in its order, to STUDY-METHOD.toml beside this file, which `porter sweep` repeats; the
choices are printed.
"""
import argparse
import concurrent.futures
import pathlib

from successors import HELD_OUT, METRIC, Search, inline, round_to, sweep_section, table, text

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
MNIST_BUDGET = BUDGET | {
    "sweep-led": ("sweep-led, 0.10 d", {"name": "sweep-led"} | TENTH, M),
    "choco-sgd": ("CHOCO-SGD with momentum and a sweeping mask, 0.10 d", {"name": "choco-sgd"} | TENTH | SWEEP, M | {"consensus": 0.1}),
    "dp-sgd": ("DP-SGD with momentum, pooled (central)", {"name": "dp-sgd", "batch": 6000} | DENSE, M),
}
# The output layer in every message, as in experiments/mlp_mnist.toml: 0.095 d in all.
DENSE_OUTPUT = {"name": "sweep-led", "compressor": "random_k:0.0825", "dense": "W2,b2"}


def values_of(gossip):
    """The methods at 0.10, 0.20 or 0.40 d: so many messages for a gradient, or one as long to a server."""
    share = f"0.{gossip}0 d"
    return {
        f"porter-sweep-{gossip}0": (f"porter-sweep, {share}", {"name": "porter-sweep", "gossip": gossip} | SHORT, M),
        f"porter-dp-sweep-{gossip}0": (f"PORTER-DP with momentum and a sweeping mask, {share}", {"name": "porter-dp", "gossip": gossip} | SHORT | SWEEP, MC),
        f"sweep-led-{gossip}0": (f"sweep-led, {share}", {"name": "sweep-led", "gossip": gossip} | TENTH, M),
        f"choco-sgd-{gossip}0": (f"CHOCO-SGD with momentum and a sweeping mask, {share}",
                                 {"name": "choco-sgd", "gossip": gossip} | TENTH | SWEEP, M | {"consensus": 0.1}),
        f"soteriafl-sgd-{gossip}0": (f"SoteriaFL-SGD with momentum, {share} up, d down",
                                     {"name": "soteriafl-sgd", "compressor": f"random_k:0.{gossip}"}, M),
    }


SURPASS = {
    "sweep-led-dense-10": ("sweep-led, its output layer in every message, 0.095 d", DENSE_OUTPUT, M),
    "porter-sweep-dense-10": ("porter-sweep, its output layer in every message, 0.10 d",
                              {"name": "porter-sweep", "compressor": "random_k:0.037", "dense": "W2,b2"}, M),
    "porter-dp-10": ("PORTER-DP with momentum, 0.10 d", {"name": "porter-dp"} | SHORT, MC),
    "porter-dp-published": ("PORTER-DP as published, 0.10 d", {"name": "porter-dp"} | SHORT, C),
    "choco-sgd-published": ("CHOCO-SGD as published, 0.10 d", {"name": "choco-sgd"} | TENTH, {"consensus": 0.1}),
    "soteriafl-sgd-published": ("SoteriaFL-SGD as published, 0.10 d up, d down", {"name": "soteriafl-sgd"} | TENTH, {}),
    "porter-dp-dense": ("PORTER-DP dense with momentum, 2 d", {"name": "porter-dp", "consensus": 1.0} | DENSE, M),
    "dp-dsgd": MNIST_BUDGET["dp-dsgd"], "dp-sgd": MNIST_BUDGET["dp-sgd"], "dp-sgd-alone": MNIST_BUDGET["dp-sgd-alone"],
}
A9A, MNIST = {"name": "a9a", "split": "shuffled"}, {"name": "mnist", "scale": "standard", "split": "shuffled"}
STRONG, WEAK = {"name": "logistic", "lambda": 0.2}, {"name": "logistic", "lambda": 0.001}
AS_PUBLISHED = {"batch": 1, "clip": "smooth:1", "start": "normal:0.2"}


def decades(first, last, mantissa):
    return [float(f"{mantissa}e{i}") for i in range(first, last + 1)]


MLP = {"name": "mlp", "hidden": [64], "activation": "sigmoid"}


def figure2(epsilon):
    # To 300, as utility is least where a step blew the model up: with hopeless = 0 such runs have figures.
    return {"methods": PAPER, "data": A9A, "model": STRONG, "algorithm": {"rounds": 10000} | AS_PUBLISHED,
            "privacy": {"epsilon": epsilon, "delta": 1e-3, "calibration": "paper"}, "evaluate": "log-all:40",
            "metric": "loss", "seeds": 5, "hopeless": 0.0, "steps": decades(-6, 2, 3), "budget": 24, "more": 16}


def figure3(epsilon, steps):
    return {"methods": PAPER, "data": MNIST, "model": MLP,
            "algorithm": {"rounds": 2000} | AS_PUBLISHED,
            "privacy": {"epsilon": epsilon, "delta": 1e-3, "calibration": "paper"}, "evaluate": "end",
            "metric": "loss", "seeds": 1, "hopeless": None, "steps": steps, "budget": 12, "more": 16}


def budget_mnist(methods, vary, title, about, metrics):
    """At epsilon = 2 where epsilon is not what varies. Searches measure the pixels' mean and deviation; what is shown has the published ones,
    which no record moves."""
    return {"methods": methods, "data": MNIST, "model": MLP,
            "algorithm": {"rounds": 200, "batch": 600, "clip": "linear:1", "start": "normal:0.05"}, "vary": vary,
            "privacy": {"epsilon": 2.0, "delta": 1e-5, "sampler": "poisson"}, "evaluate": "end", "hold_out": True,
            "metric": METRIC, "seeds": 1, "hopeless": None, "steps": [0.25, 1.0, 4.0, 16.0], "budget": 12, "more": 4,
            "title": title, "about": about, "metrics": metrics, "shown": {"data.moments": [0.1307, 0.3081]}}


def surpass(methods, split, title, about):
    study = budget_mnist(methods, ("privacy.epsilon", [2.0]), title, about, ["agent_accuracy_mean", "agent_accuracy_worst", "test_accuracy", "loss",
                                                                           "agent_loss_mean", "consensus_error", "bits_per_agent"])
    return study | {"data": MNIST | {"split": split}}


STUDIES = {
    "fig2a": figure2(0.01), "fig2b": figure2(0.1), "fig3a": figure3(0.01, decades(-4, -1, 1)), "fig3b": figure3(0.1, decades(-3, 0, 1)),
    "budget-a9a": {
        "methods": BUDGET, "data": A9A, "model": WEAK,
        "algorithm": {"rounds": 200, "batch": 300, "clip": "linear:1", "start": "zeros"},
        "vary": ("privacy.epsilon", [0.5, 1.0, 2.0, 4.0, 8.0]), "privacy": {"delta": 1e-5, "sampler": "poisson"}, "evaluate": "end",
        "metric": "agent_loss_mean", "seeds": 2, "hopeless": None, "steps": [0.25, 1.0, 4.0, 16.0], "budget": 12, "more": 4},
    "budget-mnist": budget_mnist(
        MNIST_BUDGET, ("privacy.epsilon", [0.5, 2.0, 8.0]), "What a budget buys: MNIST, epsilon 0.5, 2 and 8",
        "Each agent spends a certified epsilon on 200 gradients of 600 samples, as in surpass-shuffled. DP-SGD on pooled data trusts one "
        "place with everything (central privacy); DP-SGD alone is an agent that does not take part. Every method has momentum.",
        ["agent_accuracy_mean", "agent_accuracy_worst", "test_accuracy", "loss"]),
    "surpass-shuffled": surpass(
        values_of(1) | SURPASS, "shuffled", "The same budget, spent well: MNIST, epsilon = 2, shuffled",
        "Ten agents with the paper's perceptron, 200 gradients of 600 samples. Labels say how many values are sent for a gradient."),
    "surpass-by-label": surpass(
        values_of(1) | values_of(2) | values_of(4) | SURPASS, "by-label", "The same budget, spent well: MNIST, epsilon = 2, by label",
        "As surpass-shuffled, but every agent has one or two digits. Since only gradients cost privacy, several gossip steps may follow each; "
        "SoteriaFL-SGD sends as many values to a server, which sends d back. Methods without gradient tracking settle on agents that know "
        "their own digits only: the average hides some of that, the mean accuracy of the agents shows it."),
}


def sections_of(study, settings):
    """The config's sections; of the settings those without a dot are of the algorithm."""
    sections = {"data": study["data"], "model": study["model"],
                "network": {"agents": 10, "graph": "erdos-renyi:0.8", "mixing": "fdla"}, "algorithm": study["algorithm"],
                "privacy": study["privacy"], "run": {"evaluate": study["evaluate"]}}
    for key, value in settings.items():
        section, _, name = key.rpartition(".")
        section = section or "algorithm"
        sections[section] = sections[section] | {name: value}
    return sections


def config_text(study, settings):
    """Of what the search runs."""
    sections = sections_of(study, settings)
    sections["run"] = {"seed": 101, "threads": 1} | sections["run"]
    if study.get("hold_out"):
        sections["data"] = sections["data"] | {"without_test": True, "holdout": HELD_OUT}
        sections["algorithm"] = sections["algorithm"] | {"batch": round(sections["algorithm"]["batch"] * (1 - HELD_OUT))}
    return "".join(table(name, entries) for name, entries in sections.items())


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


def cases_of(study):
    """What varies in a study, as settings; nothing does in a figure."""
    key, values = study.get("vary", (None, []))
    return [{key: value} for value in values] or [{}]


def tune_study(name, study, arguments):
    climbs = {}
    for method, (_, fixed, start) in study["methods"].items():
        for number, case in enumerate(cases_of(study)):
            search = Search(arguments.porter, arguments.work / name / method / str(number), config_text(study, fixed | case),
                            metric=study["metric"], seeds=study["seeds"], hopeless=study["hopeless"])
            climbs[method, number] = Climb(search, start, study["steps"])
    budget = study["budget"]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        while True:
            list(pool.map(lambda climb: climb.spend(budget), climbs.values()))
            edges = [f"{m}, {n}: {', '.join(k for k, _ in c.search.at_edge())}" for (m, n), c in climbs.items() if c.search.at_edge()]
            if not edges or budget >= study["budget"] + study["more"]:
                break
            print(f"{name}: with {budget} settings at an edge: {'; '.join(edges)}", flush=True)
            budget += 4
    print(f"{name}: {budget} settings for every method and case" + (f"; still at an edge: {'; '.join(edges)}" if edges else ""))
    return {key: climb.search for key, climb in climbs.items()}, edges


def write_tried(name, study, searches):
    cases = cases_of(study)
    for method, (label, fixed, _) in study["methods"].items():
        settings = [case | dict(key) for number, case in enumerate(cases) for key in searches[method, number].losses]
        (HERE / f"{name}-{method}.toml").write_text(
            f"# {label}. Written by figures.py: what was tried, in its order.\n"
            + config_text(study, fixed | cases[0])
            + sweep_section(settings, study["seeds"], study["metric"], study["hopeless"]))


def dotted(settings):
    return {key if "." in key else f"algorithm.{key}": value for key, value in settings.items()}


def study_text(name, study, searches, edges):
    """Of the budgets that vary one key: the best of every method at each of its values."""
    key, values = study["vary"]
    tried = max(len(search.losses) for search in searches.values())
    rows = []
    for method, (label, fixed, _) in study["methods"].items():
        best = [inline(dotted(searches[method, number].best())) for number in range(len(values))]
        rows.append(f"[[series]]\nlabel = {text(label)}\nset = {inline(dotted(fixed))}\nwith = [{', '.join(best)}]\n"
                    f"tuned = {text(f'experiments/search/{name}-{method}.toml')}\n")
    return (
        f"# Written by experiments/search/figures.py.\ntitle = {text(study['title'])}\n"
        f'about = """\n{study["about"]} delta = 1e-5, Poisson samples, replace-one neighbours.\n'
        f"Every method has, for each column, the best of at most {tried} settings by one rule (experiments/search/figures.py), by the agents' mean "
        "accuracy on a sixth of the training images, held out, with seed 101."
        + (f" {len(edges)} of these {len(searches)} choices {'lies' if len(edges) == 1 else 'lie'} at an edge of what was tried." if edges else "") + '\n"""\n'
        'kind = "bars"\nseeds = 5\nquick = { rounds = 10, seeds = 1, keep = 2 }\n\n[config]\n'
        + "".join(f"{section} = {inline(entries)}\n" for section, entries in sections_of(study, study["shown"]).items())
        + '\n[fallback]\n"data.name" = "synthetic-digits"\n\n' + "\n".join(rows)
        + f"\n[bars]\nvary = {text(key)}\nvalues = {text(values)}\nmetrics = {text(study['metrics'])}\n")


def chosen(search, column, at_most=float("inf")):
    """The setting of the least `column` among those whose loss is at most so much."""
    settings = [dict(key) for key in search.losses if search.mean(dict(key), "loss") <= at_most]
    return min(settings, key=lambda s: search.mean(s, column))


def describe(search, setting, columns):
    figures = ", ".join(f"{c} {search.mean(setting, c):.4g}" for c in columns)
    return f"{inline(dotted(setting))}  # {figures}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--porter", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="where the sweeps go; a second call goes on there")
    parser.add_argument("--jobs", type=int, default=1, help="searches at a time; none depends on another")
    parser.add_argument("studies", nargs="+", choices=STUDIES)
    arguments = parser.parse_args()
    arguments.porter, arguments.work = pathlib.Path(arguments.porter).resolve(), arguments.work.resolve()
    for name in arguments.studies:
        study = STUDIES[name]
        searches, edges = tune_study(name, study, arguments)
        write_tried(name, study, searches)
        if "title" in study:
            (HERE.parent / f"{name}.toml").write_text(study_text(name, study, searches, edges))
        columns = ["loss", "agent_loss_mean", METRIC] + (["utility"] if name.startswith("fig") else [])
        for (method, number), search in searches.items():
            print(f"{name} {cases_of(study)[number]} {method}: {describe(search, search.best(), columns)}")
            if name.startswith("fig2"):  # for fig2-utility; a model has blown up if it ends above the loss of the start, 1.76
                print(f"  by utility: {describe(search, chosen(search, 'utility'), columns)}")
                print(f"  by utility, not blown up: {describe(search, chosen(search, 'utility', 1.76), columns)}", flush=True)


if __name__ == "__main__":
    main()
