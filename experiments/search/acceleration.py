#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tunes porter-sweep and sweep-led on rings with plain and with Chebyshev gossip steps, and writes the studies.

    python3 experiments/search/acceleration.py --porter build/release/porter --work runs/acceleration

Every row, a method with or without acceleration on a ring with a split and so many gossip steps, gets at most
12 settings of step and momentum by the rule of successors.py with seed 101, which no study reports; the best has
the least mean loss of the agents on the training rows. All rows send 32 values a gradient. What was tried is
written to acceleration-ring.toml and acceleration-ring-plain.toml, which `porter sweep` repeats, the studies to
experiments/ under the same names.
"""
import argparse
import concurrent.futures
import pathlib

from successors import NO_CLIP, Search, inline, table, text, tune

HERE = pathlib.Path(__file__).resolve().parent
AGENTS, STEPS = (10, 30), (4, 8)
SPLITS = {"dirichlet:1": "Dirichlet(1)", "by-label": "by label"}
# 32 values a gradient of the 124: one vector or two in each of so many messages.
COMPRESSORS = {"porter-sweep": {4: "random_k:0.033", 8: "random_k:0.0165"},
               "sweep-led": {4: "random_k:0.065", 8: "random_k:0.033"}}
KINDS = {
    "acceleration-ring": {"rounds": 200, "batch": {10: 326, 30: 109}, "clip": "linear:1", "step": 1.0,
                          "privacy": {"epsilon": 2.0, "delta": 1e-5, "sampler": "poisson"}},
    "acceleration-ring-plain": {"rounds": 300, "batch": {10: 32, 30: 32}, "clip": NO_CLIP, "step": 0.25,
                                "privacy": {"calibration": "sigma", "sigma": 0.0}},
}
METRICS = ["agent_loss_mean", "agent_accuracy_mean", "agent_accuracy_worst", "test_accuracy", "consensus_error", "bits_per_agent"]


def rows_of():
    return [(method, acceleration, agents, split) for method in COMPRESSORS for agents in AGENTS for split in SPLITS
            for acceleration in ("none", "chebyshev")]


def settings_of(kind, row, gossip):
    """All that is set in a row's run, but for step and momentum."""
    method, acceleration, agents, split = row
    return {"data.split": split, "network.agents": agents, "algorithm.name": method,
            "algorithm.batch": kind["batch"][agents], "algorithm.compressor": COMPRESSORS[method][gossip],
            "algorithm.gossip": gossip, "algorithm.acceleration": acceleration}


def sections_of(kind, settings):
    sections = {"data": {"name": "a9a"}, "model": {"name": "logistic", "lambda": 0.001},
                "network": {"graph": "ring", "mixing": "metropolis"},
                "algorithm": {"rounds": kind["rounds"], "start": "zeros", "clip": kind["clip"]}, "privacy": kind["privacy"]}
    for key, value in settings.items():
        section, name = key.split(".")
        sections[section][name] = value
    return sections


def config_text(kind, settings):
    run = {"seed": 101, "threads": 1, "evaluate": "end"}
    return "".join(table(name, entries) for name, entries in (sections_of(kind, settings) | {"run": run}).items())


def search_row(arguments, name, row, gossip):
    kind = KINDS[name]
    settings = settings_of(kind, row, gossip)
    folder = "-".join(str(part).replace(":", "-") for part in row) + f"-{gossip}"
    search = Search(arguments.porter, arguments.work / name / folder, config_text(kind, settings))
    best = tune(search, {"step": kind["step"], "momentum": 0.1})
    edge = [key for key, _ in search.at_edge()]
    print(f"{name} {folder}: {best} loss {min(search.losses.values()):.5f}, {len(search.losses)} settings"
          + (f", at the edge in {', '.join(edge)}" if edge else ""), flush=True)
    keyed = lambda setting: {f"algorithm.{key}": value for key, value in setting.items()}
    return keyed(best), [settings | keyed(dict(key)) for key in search.losses]


def study_text(name, best):
    kind = KINDS[name]
    private = "epsilon" in kind["privacy"]
    about = (f"Certified epsilon = 2 (delta = 1e-5, replace-one neighbours, Poisson sampling of a tenth of the records, {kind['rounds']} gradients)."
             if private else f"Without privacy, batches of 32, {kind['rounds']} gradients.")
    series = []
    for row in rows_of():
        method, acceleration, agents, split = row
        label = f"{method}, {agents} agents, {SPLITS[split]}, {'Chebyshev' if acceleration == 'chebyshev' else 'plain'}"
        fixed = settings_of(kind, row, STEPS[0])
        fixed = {key: value for key, value in fixed.items() if key not in ("algorithm.gossip", "algorithm.compressor")}
        with_list = ", ".join(inline({"algorithm.compressor": COMPRESSORS[method][gossip]} | best[row, gossip]) for gossip in STEPS)
        series.append(f"[[series]]\nlabel = {text(label)}\nset = {inline(fixed)}\nwith = [{with_list}]\n")
    config = "".join(f"{section} = {inline(entries)}\n" for section, entries in sections_of(kind, {}).items())
    return (
        "# Written by experiments/search/acceleration.py.\n"
        f'title = "Chebyshev gossip on rings: a9a, lambda = 0.001, {"epsilon = 2" if private else "without privacy"}"\n'
        f'about = """\n{about} porter-sweep and sweep-led on rings with Metropolis weights, 4 or 8 gossip steps a gradient: plain steps, '
        "each on the next coordinates, beside a Chebyshev polynomial of W on the same ones. Every row sends 32 values a gradient (0.26 d).\n"
        "Every row and number of steps had at most 12 settings of step and momentum by one rule, chosen by the agents' mean loss on the "
        'training rows with seed 101 (experiments/search/acceleration.py).\n"""\n'
        'kind = "bars"\nseeds = 5\nquick = { rounds = 10, seeds = 1, keep = 2 }\n\n'
        f'[config]\n{config}run = {inline({"evaluate": "end", "threads": 1})}\n\n[fallback]\n"data.name" = "synthetic"\n\n'
        + "\n".join(series) + f'\n[bars]\nvary = "algorithm.gossip"\nvalues = {text(list(STEPS))}\nmetrics = {text(METRICS)}\n')


def sweep_text(name, tried):
    run = {"seed": 101, "threads": 1, "evaluate": "end"}
    sections = sections_of(KINDS[name], {}) | {"run": run}
    lines = "".join("  { " + ", ".join(f"{key} = {text(value)}" for key, value in setting.items()) + " },\n" for setting in tried)
    return ("# Written by acceleration.py: what was tried.\n" + "".join(table(part, entries) for part, entries in sections.items())
            + f'[sweep]\nseeds = 1\nmetric = "agent_loss_mean"\nsettings = [\n{lines}]\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--porter", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="where the sweeps go; a second call goes on there")
    parser.add_argument("--jobs", type=int, default=1, help="searches at a time; none depends on another")
    arguments = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        searches = {(name, row, gossip): pool.submit(search_row, arguments, name, row, gossip)
                    for name in KINDS for row in rows_of() for gossip in STEPS}
        for name in KINDS:
            found = {(row, gossip): searches[name, row, gossip].result() for row in rows_of() for gossip in STEPS}
            tried = [setting for _, settings in found.values() for setting in settings]
            (HERE / f"{name}.toml").write_text(sweep_text(name, tried))
            (HERE.parent / f"{name}.toml").write_text(study_text(name, {key: best for key, (best, _) in found.items()}))


if __name__ == "__main__":
    main()
