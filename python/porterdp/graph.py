# SPDX-License-Identifier: Apache-2.0
"""Who talks to whom, and with what weights."""
from dataclasses import dataclass

import numpy as np

from . import _core
from ._errors import UsageError

__all__ = ["Mixing", "graph", "mixing", "to_networkx"]


@dataclass(frozen=True)
class Mixing:
    """`W` with its rate `alpha` = |W - 11'/n|. For fdla `alpha_lower_bound`: no W on the graph has a smaller one."""

    W: np.ndarray
    alpha: float
    alpha_error: float
    method: str
    alpha_lower_bound: "float | None"

    @property
    def gap(self):
        """1 - alpha, what is certain of it."""
        return 1 - self.alpha

    def __array__(self, dtype=None):
        return self.W if dtype is None else self.W.astype(dtype)


def graph(spec, agents=None, seed=1):
    """A connected graph: a text as `network.graph` has it, a networkx graph, or pairs of nodes.

    >>> graph("ring", 5).edges
    [(0, 1), (0, 4), (1, 2), (2, 3), (3, 4)]
    """
    if isinstance(spec, _core.Graph):
        return spec
    if isinstance(spec, str):
        if agents is None:
            raise UsageError("agents: how many nodes the graph has")
        return _core.make_graph(spec, agents, seed)
    if hasattr(spec, "nodes") and hasattr(spec, "edges"):  # networkx
        names = {node: i for i, node in enumerate(spec.nodes())}
        return _core.Graph(len(names), [(names[a], names[b]) for a, b in spec.edges()])
    edges = [(int(a), int(b)) for a, b in spec]
    return _core.Graph(agents if agents is not None else 1 + max(map(max, edges)), edges)


def mixing(of, rule="fdla", agents=None, seed=1):
    """W of a graph (or of what `graph` takes) by a rule as `network.mixing` has it."""
    return Mixing(**_core.make_mixing(rule, graph(of, agents, seed)))


def to_networkx(of):
    """The graph for networkx."""
    import networkx
    out = networkx.Graph()
    out.add_nodes_from(range(of.nodes))
    out.add_edges_from(of.edges)
    return out
