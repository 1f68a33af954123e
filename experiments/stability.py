#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which recursions without gradients bring agents together in mean square: lead, dp-csgp, led where some are absent.

    python3 experiments/stability.py

Each round multiplies the state s of a coordinate by a random matrix A that is drawn anew, so E ss' follows a linear
map, E[A x A] on its entries. Below 1, the largest modulus of its eigenvalues is the factor by which the squared
disagreement falls in a round; above 1 it grows. Nothing is simulated. A coordinate of a message is there with
probability p, as in `bernoulli`; a coordinate of `random_k` alone has the same law, with omega = 1/p - 1. What never
changes (the sum of X, and of what is learned of it) is 0, which takes nothing away. NumPy alone, nothing of porter.
"""
import itertools

import numpy as np


def ring(n):
    near = np.roll(np.eye(n, dtype=bool), 1, axis=0)
    return near | near.T


def path(n):
    return np.eye(n, k=1, dtype=bool) | np.eye(n, k=-1, dtype=bool)


def star(n):
    edges = np.zeros((n, n), dtype=bool)
    edges[0, 1:] = edges[1:, 0] = True
    return edges


def complete(n):
    return ~np.eye(n, dtype=bool)


def metropolis(edges):
    degree = edges.sum(1)
    W = np.where(edges, 1 / (1 + np.maximum(degree[:, None], degree)), 0.0)
    return W + np.diag(1 - W.sum(1))


def one_way(n, sends_to):
    """Row i: the shares 1 / (1 + messages) that agent i sends to the others, and keeps."""
    W = np.eye(n)
    for agent in range(n):
        W[agent, [(agent + step) % n for step in sends_to(agent)]] = 1
    return W / W.sum(1, keepdims=True)


def of_sum_zero(n):
    """Columns: an orthonormal basis of the vectors of sum 0."""
    return np.linalg.svd(np.ones((1, n)))[2][1:].T


def factor(basis, weighted):
    """The largest modulus for the matrices A of (weight, A), which map the span of the basis to itself."""
    reduced = [(weight, basis.T @ A @ basis) for weight, A in weighted]
    return np.abs(np.linalg.eigvals(sum(weight * np.kron(A, A) for weight, A in reduced))).max()


def blocks(*parts):
    """The basis of a state whose vectors have these bases."""
    whole = np.zeros((sum(len(part) for part in parts), sum(part.shape[1] for part in parts)))
    row = column = 0
    for part in parts:
        whole[row : row + len(part), column : column + part.shape[1]] = part
        row, column = row + len(part), column + part.shape[1]
    return whole


def with_losses(n, mean, spread):
    """A = mean + sum over agents of noise_i spread_i, noise_i of variance 1: (weight, matrix) of E[A x A]."""
    return [(1, mean), *((1, spread(np.diag(agent))) for agent in np.eye(n))]


def lead(W, omega, gamma):
    """s = (X, H, eta D):  Y = X - eta D;  q = C(Y - H);  Z = H + q."""
    n, alpha = len(W), 1 / (1 + omega)
    I, O = np.eye(n), np.zeros((n, n))
    repair = gamma / 2 * (np.eye(n) - W)
    Y, H = np.hstack([I, O, -I]), np.hstack([O, I, O])
    of_q = np.vstack([-repair, alpha * I, repair])  # how q enters (X, H, eta D)
    rest = np.vstack([Y - repair @ H, H, np.hstack([O, O, I]) + repair @ H])
    weighted = with_losses(n, rest + of_q @ (Y - H), lambda at: np.sqrt(omega) * of_q @ at @ (Y - H))
    U = of_sum_zero(n)
    return factor(blocks(U, I, U), weighted)


def dp_csgp(W, p, gamma):
    """s = (X, Q):  Q += C(X - Q);  X += gamma (W - I)'Q."""
    n = len(W)
    I, O = np.eye(n), np.zeros((n, n))
    pull = gamma * (W - I).T
    X, Q = np.hstack([I, O]), np.hstack([O, I])
    of_message = np.vstack([pull, I])
    mean = np.vstack([X + pull @ Q, Q]) + p * of_message @ (X - Q)
    weighted = with_losses(n, mean, lambda at: np.sqrt(p * (1 - p)) * of_message @ at @ (X - Q))
    return factor(blocks(of_sum_zero(n), I), weighted)


def led(draws, c):
    """s = (X, eta H):  X += eta H;  N = W'X;  eta H += c (N - X);  X = N; draws: (weight, W, who is there).

    X is without its mean, which moves where agents are absent, but drives nothing."""
    weighted = []
    for weight, W, there in draws:
        n = len(W)
        met = np.hstack([np.eye(n), np.diag(there)])
        weighted.append((weight, np.vstack([W @ met, np.eye(n, 2 * n, k=n) + c * (W - np.eye(n)) @ met])))
    U = of_sum_zero(n)
    return factor(blocks(U, U), weighted)


def absences(edges, away):
    W, n = metropolis(edges), len(edges)
    for there in itertools.product((0.0, 1.0), repeat=n):
        there = np.array(there)
        left = np.where(edges, W, 0) * np.outer(there, there)
        yield away ** (n - there.sum()) * (1 - away) ** there.sum(), left + np.diag(1 - left.sum(1)), there


def star_matchings(n):
    for leaf in range(1, n):
        W = np.eye(n)
        W[np.ix_([0, leaf], [0, leaf])] = 0.5
        yield 1 / (n - 1), W, np.ones(n)


def main():
    graphs = {"ring": ring, "path": path, "star": star, "complete": complete}
    print("lead, 8 agents: the factor less 1, by gamma = 1 / (1 + omega)^power")
    for power in (2, 3):
        for omega in (0.125, 1, 4, 9, 19, 39):
            row = [f"{name} {lead(metropolis(make(8)), omega, (1 + omega) ** -power) - 1:+.1e}"
                   for name, make in graphs.items()]
            print(f"power {power}  omega {omega:5}  " + "  ".join(row))

    print("\ndp-csgp: the factor less 1, by gamma over p")
    arcs = {"directed ring of 8": (8, lambda i: [1]), "directed ring of 12": (12, lambda i: [1]),
            "directed exponential of 8": (8, lambda i: [1, 2, 4]),
            "directed exponential of 12": (12, lambda i: [1, 2, 4, 8]),
            "ring of 8 of whom one sends to five": (8, lambda i: [1, 2, 3, 4, 5] if i == 0 else [1])}
    for name, (n, sends_to) in arcs.items():
        for p in (0.05, 0.1, 0.3):
            row = [f"{over}: {dp_csgp(one_way(n, sends_to), p, over * p) - 1:+.1e}" for over in (0.5, 1, 2)]
            print(f"{name}  p {p}  " + "  ".join(row))

    print("\nled: the factor less 1, c = 0.5; with c of led on that graph, half of min(1, (1 + w) / (1 - w))")
    for n, (name, make) in itertools.product((5, 8), graphs.items()):
        w = np.linalg.eigvalsh(metropolis(make(n)))[0]
        half = min(1, (1 + w) / (1 - w)) / 2
        row = []
        for away in (0.0, 0.05, 0.1, 0.3, 0.6):
            found = [led(absences(make(n), away), c) - 1 for c in (0.5, half)]
            row.append(f"{away:.0%} away {found[0]:+.1e}, {found[1]:+.1e}")
        print(f"{name} of {n}  " + "  ".join(row))
    for n in (5, 8):
        row = [f"c {c}: {led(star_matchings(n), c) - 1:+.1e}" for c in (0.1, 0.25, 0.5, 1.0)]
        print(f"matchings of a star of {n}  " + "  ".join(row))


if __name__ == "__main__":
    main()
