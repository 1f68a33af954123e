#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""All benchmarks of the round in one run: ours, NumPy's and PyTorch's by turns, against the limits of the machine.

    bench/run.py [--quick] [--no-torch] [--build build/release] [--out bench-report]

Prints one table and writes index.html, table.md and results.json. docs/performance.md says how to read them.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import typing

from measure import Program, Samples, Task, interleave
from page import Row, Section, html_page, markdown_table, text_table

HERE = pathlib.Path(__file__).resolve().parent
CHECK_ROUNDS = 20


class Problem(typing.NamedTuple):
    title: str
    config: str
    overrides: list
    peers: dict  # the least that a peer should take of our time: with our state in float, in double
    floors: float  # the most that our round should take


PROBLEMS = {
    "mlp": Problem("MLP 784-64-10, n = 10, b = 1", "mlp", [], {"NumPy": (15, None), "PyTorch": (18, None)}, 1.8),
    "mlp_b128": Problem("MLP 784-64-10, n = 10, b = 128", "mlp", ["algorithm.batch=128"],
                        {"NumPy": (2.5, 1.8), "PyTorch": (3, None)}, 1.5),
    "a9a": Problem("logistic like a9a, n = 10, b = 1", "a9a", [], {"NumPy": (25, None), "PyTorch": (12, None)}, 3),
}
PARTS = ["gradient", "noise", "compress", "mix", "update", "stream", "stream_1"]
FLOAT = "round, state in float"
SPARSE_NET = ["network.graph=regular:8", "network.mixing=metropolis"]  # the same degree for every n
MOST_BYTES = 72  # per agent and coordinate, state in double
MOST_BOUNDS = 1.35  # of many agents: noise, and the bytes of a round at the rate of the streaming pass


class Bench:
    def __init__(self, options):
        self.quick, self.torch, self.python = options.quick, options.torch, options.python
        self.worker = pathlib.Path(options.build) / "bench" / "round_worker"
        self.passes, self.slice = (9, 0.04) if options.quick else (31, 0.08)
        if options.busy:  # many short slices, so that some are undisturbed
            self.passes, self.slice = 6 * self.passes, 0.004
            Samples.by_least = True
        self.results = {}

    def start(self, config, overrides):
        return Program(self.worker, HERE / "problems" / f"{config}.toml", *overrides)

    def say(self, text):
        print(f"bench: {text}", file=sys.stderr, flush=True)

    def sections(self):
        yield from self.rounds()
        yield from self.growth()

    # ---- the round beside its peers and its limits -----------------------------------------------

    def rounds(self):
        with tempfile.TemporaryDirectory() as folder:
            self.say("exporting the problems and checking that the peers compute the same")
            groups = {key: self.open_group(pathlib.Path(folder) / key, key) for key in PROBLEMS}
        tasks = {(key, name): Task(program, name if program is group["porter"] else "round", self.slice)
                 for key, group in groups.items() for name, program in self.timed(key, group)}
        self.say(f"timing {len(tasks)} tasks by turns, {self.passes} passes")
        samples = dict(zip(tasks, interleave(list(tasks.values()), self.passes)))
        for key, group in groups.items():
            yield self.round_section(key, group, tasks, samples)
            for program in group.values():
                if isinstance(program, Program):
                    program.close()

    def peers(self, config):
        yield "NumPy", ["round_numpy.py"]
        if config == "mlp":
            yield "NumPy, two Python threads", ["round_numpy.py", "--threaded"]
        if self.torch:
            yield "PyTorch", ["round_torch.py"]

    def open_group(self, folder, key):
        config, overrides = PROBLEMS[key].config, PROBLEMS[key].overrides
        group = {"porter": self.start(config, overrides), FLOAT: self.start(config, [*overrides, "run.precision=float"]),
                 "differences": {}}
        group["porter"].ask(f"export {folder} {CHECK_ROUNDS}")
        group["porter"].ask(f"time round {CHECK_ROUNDS}")
        group["porter"].ask(f"iterates {folder / 'iterates.f64'}")
        for name, (script, *flags) in self.peers(config):
            command = [self.python, str(HERE / "peers" / script), str(folder)]
            answer = subprocess.run([*command, "--check", *flags], capture_output=True, text=True, check=True)
            group["differences"][name] = json.loads(answer.stdout)["relative_difference"]
            group[name] = Program(*command, *flags)
        return group

    def timed(self, key, group):
        yield from ((name, group["porter"]) for name in ["round", *PARTS])
        if key == "mlp_b128":
            yield "products", group["porter"]
        yield from ((name, program) for name, program in group.items() if name not in ("porter", "differences"))

    def round_section(self, key, group, tasks, samples):
        problem = PROBLEMS[key]
        facts = group["porter"].facts
        stream = samples[key, "stream"]
        fastest = min(stream.time, samples[key, "stream_1"].time)  # tiny problems gain nothing from threads
        limit = tasks[key, "stream"].bytes / fastest
        ours = samples[key, "round"]
        narrow = samples[key, FLOAT]
        rows = [Row("round", ours, tasks[key, "round"].bytes, limit), Row(FLOAT, narrow, tasks[key, FLOAT].bytes, limit)]
        labels = {"stream": "streaming pass", "stream_1": "streaming pass, one thread"}
        for part in PARTS:
            rows.append(Row("  " + labels.get(part, part), samples[key, part], tasks[key, part].bytes, limit))
        if key == "mlp_b128":
            products = samples[key, "products"]
            rows.append(Row("  matrix products", products))
            rows.append(self.floor_row("  floor: products + round with b = 1", products + samples["mlp", "round"], problem.floors,
                                       {"in double": ours, "in float": narrow}))
        else:
            rows.append(self.floor_row("  floor: noise + streaming pass", samples[key, "noise"] + stream, problem.floors,
                                       {"in float": narrow, "in double": ours}))
        for name, difference in group["differences"].items():
            least, least_wide = problem.peers.get(name, (None, None))
            peer, peer_facts = samples[key, name], group[name].facts
            ratio, wide = peer.over(narrow), peer.over(ours)  # like with like: the peers are float
            rows.append(Row(name, peer, ratio=f"{ratio:.1f}x our time ({wide:.1f}x in double)",
                            target=(f"≥ {least}x" if least else "") + (f" ({least_wide}x in double)" if least_wide else ""),
                            met=ratio >= least and wide >= (least_wide or 0) if least else None,
                            note=f"{peer_facts['peer']}, {peer_facts['blas']}; same result: largest difference {difference:.0e} of the way moved"))
        for row in rows:
            self.record(key, row)
        text = f"d = {facts['dim']:,}, k = {facts['kept']:,}, {facts['edges']} edges"
        return Section(f"{problem.title}  ({text})", rows)

    # The first of the rounds is held to the target.
    def floor_row(self, name, floor, most, rounds):
        ratios = {state: times.over(floor) for state, times in rounds.items()}
        return Row(name, floor, ratio="round = " + ", ".join(f"{ratio:.2f} {state}" for state, ratio in ratios.items()),
                   target=f"≤ {most} {next(iter(ratios))}", met=next(iter(ratios.values())) <= most)

    def record(self, key, row):
        if row.samples:
            self.results.setdefault(key, {})[row.name.strip()] = {
                "time": row.samples.time, "least": row.samples.least, "spread": row.samples.spread(),
                "ratio": row.ratio, "target": row.target, "met": row.met}

    # ---- growth --------------------------------------------------------------------------------------

    def growth(self):
        thousand = [] if self.quick else [1000]
        yield self.sweep("growth with n, MLP, every agent with 8 neighbours", "mlp", "n", [10, 30, 100, 300] + thousand,
                         lambda n: [f"network.agents={n}", *SPARSE_NET], per_agent=True)
        yield self.sweep("growth with n, logistic, every agent with 8 neighbours", "a9a", "n",
                         [10, 100, 1000] + ([] if self.quick else [10000]),
                         lambda n: [f"network.agents={n}", *SPARSE_NET], per_agent=True)
        yield self.sweep("growth with d, MLP with more and more hidden units", "mlp", "d", [16, 64, 256] + ([] if self.quick else [1024]),
                         lambda h: [f"model.hidden=[{h}]"], fact="dim")
        yield self.sweep("growth with k, MLP", "mlp", "k", [0.01, 0.05, 0.2, 1],
                         lambda k: [f"algorithm.compressor=random_k:{k}"], fact="kept")
        yield self.sweep("growth with b, MLP", "mlp", "b", [1, 8, 32, 128] + ([] if self.quick else [512]),
                         lambda b: [f"algorithm.batch={b}"])
        yield self.sweep("threads, MLP", "mlp", "threads", list(range(1, cores() + 1)),
                         lambda t: [f"run.threads={t}"])

    def sweep(self, title, config, symbol, values, overrides, per_agent=False, fact=None):
        self.say(title)
        programs = [self.start(config, overrides(value)) for value in values]
        points = [program.facts[fact] if fact else value for program, value in zip(programs, values)]
        tasks = [Task(program, "round", self.slice) for program in programs]
        samples = interleave(tasks, max(3, self.passes // 3))
        rows = []
        for program, point, task, times in zip(programs, points, tasks, samples):
            row = Row(f"{symbol} = {point:,}", times, task.bytes)
            if per_agent:
                self.describe_agents(row, program, times, samples[0], values[0])
            rows.append(row)
            self.record(title, row)
            program.close()
        return Section(title, rows, points=points, symbol=symbol)

    def describe_agents(self, row, program, times, first, first_n):
        facts, memory = program.facts, program.ask("memory")
        n, cells = facts["agents"], facts["agents"] * facts["dim"]
        if memory["algorithm"] > 2**25:  # what is less drowns in what the process holds anyway
            row.note = f"{memory['algorithm'] / cells:.1f} bytes per agent and coordinate; the process {memory['peak'] / 2**30:.2f} GiB"
        row.ratio = f"{times.over(first) * first_n / n:.2f} per agent"
        if n == 1000 and facts["dim"] > 10000:
            ratio, bound = self.bounds(program)
            row.ratio += f", {ratio:.2f} bounds"
            row.target = f"≤ {MOST_BOUNDS} bounds, {MOST_BYTES} bytes"
            row.met = ratio <= MOST_BOUNDS and memory["algorithm"] / cells <= MOST_BYTES
            row.note += f"; a bound is {1e3 * bound:.0f} ms"

    # The round in units of noise and its bytes at the rate of the streaming pass, and that unit in seconds.
    def bounds(self, program):
        tasks = [Task(program, name, self.slice) for name in ("round", "noise", "stream")]
        ours, noise, stream = interleave(tasks, max(3, self.passes // 3))
        bound = noise + stream.times(tasks[0].bytes / tasks[2].bytes)
        return ours.over(bound), bound.time


def cores():
    return len(os.sched_getaffinity(0))


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    commit = subprocess.run(["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    load = os.getloadavg()[0]
    busy = " (others use it; the figures are the fastest slices)" if Samples.by_least else " (NOT QUIET: see --busy)" if load > cores() / 2 else ""
    return f"{cpu}, {cores()} cores, load {load:.1f} at the start{busy}; commit {commit or 'unknown'}"


def main():
    parser = argparse.ArgumentParser(prog="./porter bench", description="Times the round, its parts and its growth beside NumPy and PyTorch.")
    parser.add_argument("--quick", action="store_true", help="about two minutes: fewer passes, n up to 300")
    parser.add_argument("--busy", action="store_true", help="the machine is not ours alone: short slices, and the fastest of each instead of the median")
    parser.add_argument("--no-torch", dest="torch", action="store_false", help="leave PyTorch out")
    parser.add_argument("--python", default="/usr/bin/python3", help="runs the peers (/usr/bin/python3: it sees the Debian packages)")
    parser.add_argument("--build", default=HERE.parent / "build" / "release", help="the build folder (build/release)")
    parser.add_argument("--out", default="bench-report", type=pathlib.Path, help="the folder to write (bench-report)")
    options = parser.parse_args()
    bench = Bench(options)
    where = machine()
    sections = list(bench.sections())
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "index.html").write_text(html_page(where, sections))
    (options.out / "table.md").write_text(markdown_table(sections))
    (options.out / "results.json").write_text(json.dumps({"machine": where, "results": bench.results}, indent=1) + "\n")
    print(text_table(sections))
    print(f"\n{where}\npage: {options.out / 'index.html'}")


if __name__ == "__main__":
    main()
