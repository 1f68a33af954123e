# SPDX-License-Identifier: Apache-2.0
"""Networks that change, and the algorithms on them. Messages are whole states, rounded to float; who is
absent in a round does nothing. And directed graphs that stay, on which dp-csgp keeps copies."""
import numpy as np

from slow.algorithms import compressed_push
from slow.cases import ROUNDS
from slow.messages import mix, stochastic_gradient
from slow.network import mixing_matrix
from slow.randomness import ABSENCE, MEETING, Stream


# Of a directed graph of five: a circle, and what makes some send, and some receive, more than others.
ARCS = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (2, 0), (3, 4), (4, 0)]


def presence(case, t):
    p = float(case.dropout)
    return [Stream(case.seed, ABSENCE, i, t).uniform() >= p for i in range(case.agents)]


def neighbours_only(case, here):
    """W without the edges that lead to absent agents; their weight stays at home."""
    W = mixing_matrix(case)
    for i in range(case.agents):
        for j in range(case.agents):
            if i != j and not (here[i] and here[j]):
                W[i, i] += W[i, j]
                W[i, j] = 0
    return W


def arcs_of(case, step):
    """(sender, receiver) of everybody, absent or not."""
    n = case.agents
    if case.schedule == "arcs:arcs.txt":
        return ARCS
    if case.schedule == "directed-exponential":
        shifts = [2**k for k in range(n) if 2**k < n]
        return [(i, (i + shift) % n) for i in range(n) for shift in shifts]
    if case.schedule == "one-peer":
        period = (n - 1).bit_length()
        return [(i, (i + 2 ** ((step - 1) % period)) % n) for i in range(n)]
    peers = int(case.schedule.split(":")[1])
    arcs = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        arcs += [(i, others[at]) for at in Stream(case.seed, MEETING, i, step).choose(peers, n - 1)]
    return arcs


def matching(case, step, here):
    n = case.agents
    assert case.graph == "ring"
    edges = sorted((min(i, (i + 1) % n), max(i, (i + 1) % n)) for i in range(n))
    stream = Stream(case.seed, MEETING, 0, step)
    for left in range(len(edges), 1, -1):
        j = stream.below(left)
        edges[left - 1], edges[j] = edges[j], edges[left - 1]
    W, free = np.eye(n), list(here)
    for i, j in edges:
        if free[i] and free[j]:
            free[i] = free[j] = False
            W[i, i] = W[j, j] = W[i, j] = W[j, i] = 0.5
    return W


def weights(case, step, here):
    """W of a gossip step: X_i becomes the sum over j of W_ji X_j. Senders divide by 1 + the messages they
    send, as push-sum needs it; in one-peer, without absences, that is what receivers would do."""
    if case.schedule == "static":
        return neighbours_only(case, here)
    if case.schedule == "matching":
        return matching(case, step, here)
    assert case.algorithm in ("push-sum", "dp-csgp") or (case.schedule == "one-peer" and all(here))
    arcs = [(i, j) for i, j in arcs_of(case, step) if here[i] and here[j]]
    W = np.eye(case.agents)
    for i in range(case.agents):
        sent = [j for sender, j in arcs if sender == i]
        W[i] /= 1 + len(sent)
        for j in sent:
            W[i, j] = 1 / (1 + len(sent))
    return W


def mixed(W, X):
    """X moved by what messages say, with one's own among them."""
    return X + mix(W - np.eye(len(W)), X.astype(np.float32).astype(float))


def estimates(case, data, X, t, here, G):
    return np.array([stochastic_gradient(case, data, i, X[i], t) if here[i] else G[i] for i in range(case.agents)])


def rounds(case):
    """t, who is here, and the W of the round's steps."""
    for t in range(1, max(ROUNDS) + 1):
        here = presence(case, t)
        steps = [weights(case, (t - 1) * case.gossip + s + 1, here) for s in range(case.gossip)]
        yield t, np.array(here), steps


def dsgd(case, data, x0):
    X = np.tile(x0, (case.agents, 1))
    for t, here, steps in rounds(case):
        G = estimates(case, data, X, t, here, np.zeros_like(X))
        X = mixed(steps[0], X) - case.step * G
        for W in steps[1:]:
            X = mixed(W, X)
        yield X


def dsgt(case, data, x0):
    X = np.tile(x0, (case.agents, 1))
    V, G = np.zeros_like(X), np.zeros_like(X)
    for t, here, (W,) in rounds(case):
        G_prev, G = G, estimates(case, data, X, t, here, G)
        V = mixed(W, V) + G - G_prev
        X = mixed(W, X) - case.step * V * here[:, None]
        yield X


def led(case, data, x0):
    """Half the correction of a network that stays."""
    lowest = np.linalg.eigvalsh(mixing_matrix(case))[0]
    c = min(1.0, (1 + lowest) / (1 - lowest)) / 2
    X = np.tile(x0, (case.agents, 1))
    H = np.zeros_like(X)
    for t, here, steps in rounds(case):
        X = X - case.step * (estimates(case, data, X, t, here, H) - H) * here[:, None]
        for W in steps:
            N = mixed(W, X)
            H = H + c * (N - X) / case.step
            X = N
        yield X


def push_sum(case, data, x0):
    X, w = np.tile(x0, (case.agents, 1)), np.ones((case.agents, 1))
    for t, here, steps in rounds(case):
        X = X - case.step * estimates(case, data, X / w, t, here, np.zeros_like(X))
        for W in steps:
            X, w = mixed(W, X), mix(W, w)
        yield X / w


def dp_csgp(case, data, x0):
    return compressed_push(case, data, x0, weights(case, 1, [True] * case.agents))


CHANGING = {"dsgd": dsgd, "dsgt": dsgt, "led": led, "push-sum": push_sum, "dp-csgp": dp_csgp}
