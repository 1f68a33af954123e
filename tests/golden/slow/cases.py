# SPDX-License-Identifier: Apache-2.0
"""The cases and their configs."""
import math
from dataclasses import dataclass

from slow.rows import make_rows

ROUNDS = (1, 10, 50, 200)  # where states are compared


@dataclass(frozen=True)
class Case:
    name: str
    algorithm: str
    seed: int
    step: float
    consensus: float = 1.0
    batch: object = 3
    clip: str = "none"
    clip_target: str = "sample"
    compressor: str = "identity"
    unbiased: bool = False
    sigma: object = None  # None: the config has no [privacy]
    sampler: str = "fixed"
    adjacency: str = "replace"
    shape: str = ""  # of noise that neighbours share, and the two keys of it
    colluders: int = 1
    pair_ratio: object = None
    shift: object = None
    trigger: object = None
    momentum: float = 1.0
    gossip: int = 1
    local_steps: int = 1
    mask: str = "own"
    acceleration: str = "none"
    dense: str = ""
    snapshot: object = None
    start: str = "normal:0.2"
    agents: int = 5
    graph: str = "ring"
    mixing: str = "metropolis"
    schedule: str = "static"
    dropout: str = "0"
    model: str = "logistic"
    regulariser: float = 0.2
    hidden: tuple = ()
    activation: str = "sigmoid"
    loss: str = ""  # of a regression
    data: str = "binary.csv"

    @property
    def changes(self):
        """Whether the network does."""
        return self.schedule != "static" or self.dropout != "0"

    @property
    def features(self):
        return len(make_rows(self.data)[0][0])

    @property
    def scores(self):
        """One for each class; one number in a regression."""
        return 1 if self.loss else 1 + max(label for _, label in make_rows(self.data))


BIG_SEED = 7 * 2**32 + 11  # its high word must reach the key
GC = dict(algorithm="porter-gc", clip_target="batch", step=0.1)
DP = dict(algorithm="porter-dp", step=0.05)
SOTERIA = dict(algorithm="soteriafl-sgd", sigma=0.05)
MLP = dict(model="mlp", regulariser=0.0, agents=4, data="three_classes.csv")
NUMBERS = dict(regulariser=0.0, agents=4, data="numbers.csv")

CASES = [
    Case("porter_gc_top_k_smooth", **GC, seed=1, clip="smooth:1.0", compressor="top_k:0.3", consensus=0.3),
    Case("porter_gc_top_k_linear", **GC, seed=2, clip="linear:0.5", compressor="top_k:k=3", consensus=0.3),
    Case("porter_gc_identity_smooth", **GC, seed=3, clip="smooth:0.5"),
    Case("porter_gc_identity_linear", **GC, seed=4, clip="linear:0.6", consensus=0.9, graph="star"),
    # From zero, equal columns of the data tie, so that top_k must choose by position.
    Case("porter_gc_top_k_ties", **GC, seed=5, clip="smooth:1.0", compressor="top_k:k=1", consensus=0.2,
         start="zeros", batch="full"),
    Case("porter_gc_one_way", **GC, seed=16, clip="smooth:1.0", compressor="top_k:k=3", consensus=0.3,
         mixing="file:one_way.npy"),
    Case("porter_dp_random_k", **DP, seed=6, clip="smooth:1.0", compressor="random_k:0.4", consensus=0.2, sigma=0.0,
         data="binary.libsvm"),
    Case("porter_dp_bernoulli", **DP, seed=BIG_SEED, clip="linear:0.5", compressor="bernoulli:0.5", consensus=0.2,
         sigma=0.0),
    Case("porter_dp_noise", **DP, seed=8, clip="smooth:1.0", compressor="random_k:0.5", consensus=0.2, sigma=0.1),
    Case("beer_top_k", algorithm="beer", seed=9, step=0.1, batch="full", compressor="top_k:0.25", consensus=0.3),
    Case("choco_sgd_top_k", algorithm="choco-sgd", seed=10, step=0.05, compressor="top_k:0.25", consensus=0.3),
    Case("sparq_sgd", algorithm="sparq-sgd", seed=46, step=0.05, compressor="top_k:0.25", consensus=0.3, trigger=0.5),
    Case("sparq_sgd_noise", algorithm="sparq-sgd", **MLP, seed=47, hidden=(5,), step=0.05, clip="smooth:1.0",
         sigma=0.05, compressor="random_k:0.5", consensus=0.3, trigger=4.0, gossip=2),
    Case("dsgd", algorithm="dsgd", seed=11, step=0.05),
    Case("dsgd_noise", algorithm="dsgd", seed=17, step=0.05, clip="linear:0.5", sigma=0.05, batch=1),
    Case("soteriafl_sgd_random_k", **SOTERIA, seed=12, step=0.1, clip="smooth:1.0", compressor="random_k:0.25",
         unbiased=True),
    Case("soteriafl_sgd_identity", **SOTERIA, seed=13, step=0.2, clip="smooth:1.0"),
    Case("soteriafl_sgd_batch_clip", **SOTERIA, seed=18, step=0.1, clip="linear:0.5", clip_target="batch",
         compressor="bernoulli:0.5", unbiased=True, shift=0.25),
    Case("porter_gc_mlp", **GC, **MLP, seed=14, hidden=(5,), clip="smooth:1.0", compressor="top_k:0.2",
         consensus=0.3),
    Case("porter_dp_mlp_noise", **DP, **MLP, seed=15, hidden=(5,), clip="smooth:1.0", compressor="random_k:0.8",
         consensus=0.2, sigma=0.1),
    Case("choco_sgd_mlp_tanh", algorithm="choco-sgd", **MLP, seed=19, hidden=(3, 2), activation="tanh", step=0.05,
         compressor="random_k:0.5", consensus=0.4),
    Case("porter_gc_mlp_tempered", **GC, **MLP, seed=70, hidden=(4, 3), activation="tempered:1.58:3.0:0.71",
         clip="linear:0.5", compressor="top_k:0.3", consensus=0.3),
    Case("porter_dp_poisson", **DP, seed=74, clip="smooth:1.0", compressor="random_k:0.5", consensus=0.2, sigma=0.1,
         sampler="poisson"),
    Case("porter_dp_momentum_shared", **DP, seed=20, clip="smooth:1.0", compressor="random_k:0.5", consensus=0.2,
         sigma=0.1, momentum=0.2, gossip=2, mask="shared"),
    Case("porter_dp_sweep_mask", **DP, seed=21, clip="smooth:1.0", compressor="random_k:0.4", consensus=0.2,
         sigma=0.1, gossip=3, mask="sweep"),
    Case("porter_sweep", algorithm="porter-sweep", seed=22, step=0.1, clip="smooth:1.0", compressor="random_k:0.4",
         sigma=0.1, momentum=0.3, gossip=2, mask="sweep"),
    Case("sweep_led", algorithm="sweep-led", seed=36, step=0.1, clip="smooth:1.0", compressor="random_k:0.4", sigma=0.1,
         momentum=0.3, mask="sweep"),
    # Some coordinates twice in a round.
    Case("sweep_led_gossip", algorithm="sweep-led", seed=37, step=0.1, clip="smooth:1.0", compressor="random_k:0.4",
         sigma=0.1, momentum=0.3, gossip=4, mask="sweep", graph="star"),
    Case("sweep_led_dense", algorithm="sweep-led", **MLP, seed=38, hidden=(5,), step=0.1, clip="smooth:1.0",
         compressor="random_k:0.2", sigma=0.1, momentum=0.3, gossip=2, mask="sweep", dense="W2,b2"),
    # A third of the batches is empty.
    Case("sweep_led_poisson", algorithm="sweep-led", **MLP, seed=75, hidden=(5,), step=0.1, clip="smooth:1.0", batch=1,
         sampler="poisson", compressor="random_k:0.2", sigma=0.1, momentum=0.3, mask="sweep", dense="W2,b2"),
    Case("porter_sweep_dense", algorithm="porter-sweep", **MLP, seed=39, hidden=(3, 2), step=0.1, clip="smooth:1.0",
         compressor="random_k:0.2", sigma=0.1, momentum=0.3, mask="sweep", dense="b3,W2"),
    Case("porter_sweep_chebyshev", algorithm="porter-sweep", seed=67, step=0.1, clip="smooth:1.0",
         compressor="random_k:0.4", sigma=0.1, momentum=0.3, gossip=3, mask="sweep", acceleration="chebyshev"),
    Case("sweep_led_chebyshev", algorithm="sweep-led", **MLP, seed=68, hidden=(5,), step=0.1, clip="smooth:1.0",
         compressor="random_k:0.2", sigma=0.1, momentum=0.3, gossip=4, mask="sweep", acceleration="chebyshev",
         dense="W2,b2", graph="star"),
    Case("motef_top_k", algorithm="motef", seed=40, step=0.1, compressor="top_k:0.25", consensus=0.3, momentum=0.2),
    Case("motef_vr_top_k", algorithm="motef-vr", seed=41, step=0.1, compressor="top_k:0.25", consensus=0.3,
         momentum=0.2),
    Case("motef_vr_noise", algorithm="motef-vr", **MLP, seed=70, hidden=(5,), step=0.1, clip="smooth:0.3", sigma=0.05,
         compressor="random_k:0.5", consensus=0.3, momentum=0.2),
    Case("motef_vr_poisson", algorithm="motef-vr", seed=77, step=0.1, clip="linear:0.5", sigma=0.05, batch=4,
         sampler="poisson", compressor="random_k:0.5", consensus=0.3, momentum=0.2),
    Case("led", algorithm="led", seed=42, step=0.1, batch=2, gossip=2),
    Case("lead", algorithm="lead", seed=48, step=0.1, compressor="random_k:0.5", unbiased=True),
    Case("lead_noise", algorithm="lead", **MLP, seed=49, hidden=(5,), step=0.1, clip="smooth:1.0", sigma=0.05,
         compressor="bernoulli:0.4", unbiased=True, consensus=0.6, momentum=0.3, graph="star"),
    Case("lt_admm", algorithm="lt-admm", seed=65, step=0.1, batch=2, local_steps=3),
    Case("lt_admm_noise", algorithm="lt-admm", **MLP, seed=66, hidden=(5,), step=0.1, clip="smooth:1.0", sigma=0.05,
         consensus=0.6, momentum=0.3, local_steps=4, graph="star"),
    Case("gt_nsgdm", algorithm="gt-nsgdm", seed=43, step=0.02, batch=2, momentum=0.2),
    Case("gt_nsgdm_gossip", algorithm="gt-nsgdm", **MLP, seed=44, hidden=(5,), step=0.05, momentum=0.3, gossip=2,
         graph="star"),
    Case("choco_sgd_gossip", algorithm="choco-sgd", seed=23, step=0.05, compressor="random_k:0.4", consensus=0.3,
         clip="linear:0.5", sigma=0.05, momentum=0.5, gossip=2),
    Case("dsgt", algorithm="dsgt", seed=24, step=0.05),
    Case("dp_dsgd_gossip", algorithm="dp-dsgd", seed=25, step=0.05, clip="smooth:0.5", sigma=0.05, gossip=3,
         graph="star"),
    Case("dp_dsgd_pairwise", algorithm="dp-dsgd", seed=37, step=0.05, clip="smooth:0.5", sigma=0.05, shape="pairwise",
         pair_ratio=2.0),
    Case("sweep_led_optimal", algorithm="sweep-led", seed=38, step=0.1, clip="smooth:1.0", compressor="random_k:0.4",
         sigma=0.1, momentum=0.3, gossip=3, mask="sweep", shape="optimal", colluders=0),
    Case("deepsqueeze_top_k", algorithm="deepsqueeze", seed=26, step=0.05, compressor="top_k:0.5", consensus=0.3),
    Case("dsgd_dropout", algorithm="dsgd", seed=60, step=0.05, gossip=2, dropout="0.3"),
    Case("led_dropout", algorithm="led", seed=61, step=0.1, dropout="0.2"),
    Case("dsgt_one_peer", algorithm="dsgt", seed=62, step=0.05, schedule="one-peer"),
    Case("dsgt_matching", algorithm="dsgt", seed=64, step=0.05, schedule="matching", dropout="0.2"),
    Case("push_sum", algorithm="push-sum", seed=63, step=0.05, schedule="epidemic:2", dropout="0.2", gossip=2),
    Case("push_sum_directed", algorithm="push-sum", seed=69, step=0.05, schedule="arcs:arcs.txt", dropout="0.1"),
    Case("dp_csgp", algorithm="dp-csgp", seed=71, step=0.05, clip="smooth:0.5", sigma=0.05, compressor="top_k:0.25",
         consensus=0.3, schedule="arcs:arcs.txt"),
    Case("dp_csgp_exponential", algorithm="dp-csgp", **MLP, seed=72, hidden=(5,), step=0.05, clip="smooth:1.0",
         sigma=0.05, compressor="random_k:0.5", consensus=0.3, momentum=0.3, gossip=2,
         schedule="directed-exponential"),
    Case("dp_csgp_undirected", algorithm="dp-csgp", seed=73, step=0.05, clip="linear:0.5", sigma=0.05,
         compressor="bernoulli:0.5", consensus=0.3, graph="star"),
    Case("soteriafl_svrg", algorithm="soteriafl-svrg", seed=27, step=0.1, clip="smooth:1.0", sigma=0.05,
         compressor="random_k:0.25", unbiased=True, snapshot=0.1),
    Case("cdp_sgd", algorithm="cdp-sgd", seed=28, step=0.1, clip="smooth:1.0", sigma=0.05, compressor="random_k:0.5",
         unbiased=True),
    Case("ldp_sgd", algorithm="ldp-sgd", seed=29, step=0.1, clip="linear:0.5", sigma=0.05),
    Case("clip21_sgd2m", algorithm="clip21-sgd2m", seed=45, step=0.1, clip="linear:0.1", clip_target="batch",
         momentum=0.3, shift=0.5),
    Case("ddp_srm", algorithm="ddp-srm", seed=30, step=0.1, clip="smooth:1.0", sigma=0.02, momentum=0.3),
    Case("dp_sgd", algorithm="dp-sgd", seed=31, step=0.1, clip="smooth:1.0", sigma=0.05, agents=1),
    Case("dp_sgd_poisson", algorithm="dp-sgd", seed=76, step=0.1, clip="linear:0.5", sigma=0.05, batch=7,
         sampler="poisson", adjacency="add-remove", agents=1),
    Case("dp_sgd_alone", algorithm="dp-sgd-alone", seed=32, step=0.1, clip="smooth:1.0", sigma=0.05),
    Case("beer_linear_squared", algorithm="beer", **NUMBERS, model="linear", loss="squared", seed=33, step=0.02,
         compressor="top_k:0.5", consensus=0.3),
    Case("choco_sgd_linear_cauchy", algorithm="choco-sgd", **(NUMBERS | dict(regulariser=0.1)), model="linear",
         loss="cauchy", seed=34, step=0.05, batch=1, compressor="top_k:0.5", consensus=0.3),
    Case("porter_dp_mlp_huber", **DP, **NUMBERS, model="mlp", loss="huber", seed=35, hidden=(5,), activation="tanh",
         clip="smooth:1.0", compressor="random_k:0.5", consensus=0.2, sigma=0.05),
]


def kept_entries(case, d):
    _, argument = case.compressor.split(":")
    return int(argument[2:]) if argument.startswith("k=") else max(1, math.floor(float(argument) * d))


def to_toml(case):
    quoted = lambda value: f'"{value}"' if isinstance(value, str) else repr(value).lower()
    sections = {
        "data": {"train": case.data, "split": "contiguous"},
        "model": {"name": case.model, "lambda": case.regulariser},
        "network": {"agents": case.agents, "graph": case.graph, "mixing": case.mixing},
        "algorithm": {
            "name": case.algorithm, "rounds": max(ROUNDS), "step": case.step, "consensus": case.consensus,
            "batch": case.batch, "clip": case.clip, "clip_target": case.clip_target,
            "compressor": case.compressor, "unbiased": case.unbiased, "start": case.start,
        },
        "run": {"seed": case.seed, "evaluate": "end"},
    }
    if case.loss:
        sections["model"]["loss"] = case.loss
    for key, default in (("schedule", "static"), ("dropout", "0")):
        if getattr(case, key) != default:
            sections["network"][key] = getattr(case, key)
    if case.model == "mlp":
        sections["model"] |= {"hidden": list(case.hidden), "activation": case.activation}
    for key, default in (("shift", None), ("trigger", None), ("momentum", 1.0), ("gossip", 1),
                         ("local_steps", 1), ("mask", "own"), ("acceleration", "none"), ("dense", ""), ("snapshot", None)):
        if getattr(case, key) != default:
            sections["algorithm"][key] = getattr(case, key)
    if case.sigma is not None:
        sections["privacy"] = {"calibration": "sigma", "sigma": case.sigma}
    for key, default in (("sampler", "fixed"), ("adjacency", "replace")):
        if getattr(case, key) != default:
            sections["privacy"][key] = getattr(case, key)
    if case.shape:
        sections["privacy"] |= {"shape": case.shape, "colluders": case.colluders}
    if case.pair_ratio is not None:
        sections["privacy"]["pair_ratio"] = case.pair_ratio
    lines = ["# written by reference.py"]
    for section, entries in sections.items():
        lines += ["", f"[{section}]"] + [f"{key} = {quoted(value)}" for key, value in entries.items()]
    return "\n".join(lines) + "\n"
