#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tunes methods on networks that change by the rule of successors.py, and writes the studies.

    python3 experiments/search/changing_network.py --porter build/release/porter --work runs/successors

Every method has the settings of the successors' study of a9a on ER(0.8), whose searches are gone on with in the same
folder, and, tuned there, the best of 24 settings on each network, chosen like those: by the agents' mean accuracy on
a sixth of the training rows, held out, with seed 101. What was tried is written to changing-network-METHOD.toml, which
`porter sweep` repeats, the studies to experiments/changing-network-*.toml.
"""
import argparse
import concurrent.futures
import pathlib

from successors import BUDGET, GRAPHS, HELD_OUT, KINDS, METRIC, PROBLEMS, Search, base_of, config_text, inline, privacy_of, search_cell
from successors import start_of, sweep_section, table, text, tune

HERE = pathlib.Path(__file__).resolve().parent
PROBLEM, KIND = PROBLEMS["a9a"], KINDS[""]
SPLITS = {"unlike": "Dirichlet(1)", "by-label": "by label"}
STUDIES = {
    "absence": {
        "title": "agents that are absent", "key": "network.dropout", "values": ["0", "0.1", "0.3"],
        "methods": ["sweep-led", "porter-sweep", "led", "dsgt", "dp-dsgd", "push-sum"],
        "about": "In every round every agent is absent with the same probability, computes and sends nothing, and comes back with the state "
                 "it had; its epsilon counts these rounds, too."},
    "meetings": {
        "title": "who meets whom", "key": "network.schedule", "values": ["static", "matching", "one-peer"],
        "methods": ["porter-sweep", "dsgt", "dp-dsgd", "push-sum"],
        "about": "Random matchings of neighbours, or one peer after another at distances 1, 2, 4 and 8, instead of all neighbours: an agent "
                 "sends at most one message. LED and sweep-led need a graph that stays."},
    "epidemic": {
        "title": "epidemics", "key": "network.schedule", "values": ["epidemic:1", "epidemic:2", "epidemic:4"],
        "methods": ["dp-dsgd", "push-sum"],
        "about": "Every agent sends to one other, two or four, drawn anew in every round, and messages go one way: DP-DSGD averages what "
                 "arrives, push-sum corrects for what some got more of. All other methods need weights whose rows and columns have the sum 1."},
    "directed": {
        "title": "arcs one way", "key": "network.schedule", "values": ["directed-exponential", "directed-ring"],
        "methods": ["push-sum", "dp-csgp"],
        "about": "Directed graphs that stay: to those 1, 2, 4 and 8 places further on, or to the next one."},
}
METRICS = ["agent_accuracy_mean", "agent_accuracy_worst", "test_accuracy", "agent_loss_mean", "consensus_error", "bits_per_agent",
           "link_bits_per_agent"]
WHERE_IT_WAS = ("0", "static")  # the network of the successors' studies


def search_there(arguments, method, cell, key, value):
    """The best setting on this network, and what was tried."""
    _, fixed, tuned = KIND["methods"][method]
    network = {key.split(".")[1]: value}
    config = config_text(PROBLEM, cell, KIND, base_of(PROBLEM, KIND, method, fixed, 1 - HELD_OUT), f"{method}, {value}", network)
    folder = arguments.work / "changing-network" / method / cell / value.replace(":", "-")
    search = Search(arguments.porter, folder, config, metric=METRIC)
    best = tune(search, start_of(PROBLEM, KIND, tuned), BUDGET)
    edge = [name for name, _ in search.at_edge()]
    print(f"{method} {cell} {value}: {best} accuracy {-min(search.losses.values()):.4f}, {len(search.losses)} settings"
          + (f", at the edge in {', '.join(edge)}" if edge else ""), flush=True)
    return best, [dict(tried) for tried in search.losses]


def dotted(setting):
    return {f"algorithm.{key}": value for key, value in setting.items()}


def study_text(study, rows):
    """`rows`: label, what is set, the settings by value, where they were tried."""
    series = "\n".join(
        f"[[series]]\nlabel = {text(label)}\nset = {inline(settings)}\nwith = [{', '.join(map(inline, by_value))}]\n"
        f"tuned = {text(tried)}\n" for label, settings, by_value, tried in rows)
    return (
        "# Written by experiments/search/changing_network.py.\n"
        f'title = "Networks that change: {study["title"]}"\n'
        'about = """\na9a (lambda = 0.001), ten agents on ER(0.8) with Metropolis weights, certified epsilon = 2 (delta = 1e-5, '
        f'replace-one neighbours, Poisson sampling of a tenth of the records, 200 gradients).\n{study["about"]}\nSettings are those of the '
        "successors' study on ER(0.8), where everybody is always there, and, tuned there, the best of "
        f"{BUDGET} by the same rule on the network itself (experiments/search/changing_network.py).\n"
        '"""\nkind = "bars"\nseeds = 5\n'
        f'quick = {{ rounds = 10, seeds = 1, keep = 1, set = {inline({study["key"]: study["values"][-1]})} }}\n\n[config]\n'
        f'data = {inline(PROBLEM["data"])}\nmodel = {inline(PROBLEM["model"])}\n'
        f'network = {inline({"agents": 10, "graph": GRAPHS["er"][1], "mixing": "metropolis"})}\n'
        f'algorithm = {inline({"rounds": KIND["rounds"]})}\nprivacy = {inline(privacy_of(KIND, ""))}\n'
        f'run = {inline({"evaluate": "end", "threads": 1})}\n\n' + table("fallback", {text("data.name"): "synthetic"}) + series
        + f'\n[bars]\nvary = {text(study["key"])}\nvalues = {text(study["values"])}\nmetrics = {text(METRICS)}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--porter", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="the folder of successors.py; a second call goes on there")
    parser.add_argument("--jobs", type=int, default=1, help="searches at a time; none depends on another")
    arguments = parser.parse_args()
    arguments.porter, arguments.work = arguments.porter.resolve(), arguments.work.resolve()
    wanted = {(method, cell, study["key"], value) for study in STUDIES.values() for method in study["methods"] for cell in SPLITS
              for value in study["values"] if value not in WHERE_IT_WAS}
    methods = sorted({method for method, *_ in wanted})
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        usual = {(method, cell): pool.submit(search_cell, arguments, "a9a", PROBLEM, KIND, method, cell) for method in methods for cell in SPLITS}
        there = {case: pool.submit(search_there, arguments, *case) for case in sorted(wanted)}
        usual = {pair: search.result() for pair, search in usual.items()}
        there = {case: search.result() for case, search in there.items()}
    for method in methods:
        tried = [{"data.split": "by-label" if cell == "by-label" else "dirichlet:1", key: value} | setting
                 for (name, cell, key, value), (_, settings) in there.items() if name == method for setting in settings]
        label, fixed, _ = KIND["methods"][method]
        config = config_text(PROBLEM, "unlike", KIND, base_of(PROBLEM, KIND, method, fixed, 1 - HELD_OUT),
                             f"{label}: networks that change; what was tried.")
        keys = dict.fromkeys(key for setting in tried for key in setting)
        defaults = {"network.dropout": "0", "network.schedule": "static"}
        whole = [{key: setting.get(key, defaults.get(key)) for key in keys} for setting in tried]
        (HERE / f"changing-network-{method}.toml").write_text(config + sweep_section(whole, metric=METRIC))
    for name, study in STUDIES.items():
        rows = []
        for cell, split in SPLITS.items():
            for method in study["methods"]:
                label, fixed, _ = KIND["methods"][method]
                settings = dotted(base_of(PROBLEM, KIND, method, fixed)) | {"data.split": "by-label" if cell == "by-label" else "dirichlet:1"}
                before = dotted(usual[method, cell])
                rows.append((f"{label}, {split}", settings, [before] * len(study["values"]), f"experiments/search/successors-a9a-{cell}-{method}.toml"))
                tuned = [before if value in WHERE_IT_WAS else dotted(there[method, cell, study["key"], value][0]) for value in study["values"]]
                rows.append((f"{label}, {split}, tuned there", settings, tuned, f"experiments/search/changing-network-{method}.toml"))
        (HERE.parent / f"changing-network-{name}.toml").write_text(study_text(study, rows))


if __name__ == "__main__":
    main()
