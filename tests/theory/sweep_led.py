#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds every step of docs/sweep-led.md against runs of the method, in the page's own notation.

    /usr/bin/python3 tests/theory/sweep_led.py
"""
import pathlib

import numpy as np

AGENTS, DIM, BLOCKS = 8, 24, 6


def transfer(w, c):
    return np.array([[w, -w], [c * (1 - w), 1 - c * (1 - w)]])


def sums(w, c):
    """S = sum |A^k e|, Q = sum |A^k b|^2."""
    A, u, v = transfer(w, c), np.array([0.0, 1.0]), np.array([w, c * (1 - w)])
    S = Q = 0.0
    while np.hypot(*u) > 1e-13 or np.hypot(*v) > 1e-13:
        S, Q = S + np.hypot(*u), Q + v @ v
        u, v = A @ u, A @ v
    return S, Q


def correction(W):
    lowest = np.linalg.eigvalsh(W)[0]
    return min(0.7, (1 + lowest) / (1 - lowest))


def worst_sums(W):
    return np.max([sums(w, correction(W)) for w in np.linalg.eigvalsh(W)[:-1]], axis=0)


def metropolis(edges):
    degree = edges.sum(1)
    W = np.where(edges, 1 / (1 + np.maximum(degree[:, None], degree)), 0.0)
    return W + np.diag(1 - W.sum(1))


def ring():
    near = np.roll(np.eye(AGENTS, dtype=bool), 1, axis=0)
    return near | near.T


class Problem:
    """f_i(x) = x'D_i x / 2 - b_i'x with 0 <= D_i <= smoothness, of agents that differ."""

    def __init__(self, draw):
        turns = [np.linalg.qr(draw.normal(size=(DIM, DIM)))[0] for _ in range(AGENTS)]
        self.D = np.array([q @ np.diag(draw.uniform(0, 1, DIM)) @ q.T for q in turns])
        self.b = draw.normal(size=(AGENTS, DIM))
        self.smoothness = max(np.linalg.eigvalsh(D)[-1] for D in self.D)

    def gradients(self, X):
        return np.einsum("nij,nj->ni", self.D, X) - self.b

    def value(self, x):
        return np.mean([x @ D @ x / 2 - b @ x for D, b in zip(self.D, self.b)])

    def lowest_value(self):
        return self.value(np.linalg.solve(self.D.mean(0), self.b.mean(0)))


def run(problem, W, eta, sigma, rounds, draw):
    """Yields X, the true gradients there and H, before each round and at the end."""
    c = correction(W)
    X, H = np.zeros((AGENTS, DIM)), np.zeros((AGENTS, DIM))
    order, visited = draw.permutation(DIM), np.zeros(DIM, int)
    for t in range(1, rounds + 1):
        true = problem.gradients(X)
        yield X.copy(), true, H.copy()
        X = X - eta * (true + sigma / np.sqrt(DIM) * draw.normal(size=X.shape) - H)
        J = np.split(order, BLOCKS)[(t - 1) % BLOCKS]
        repair = (W - np.eye(AGENTS)) @ X[:, J]
        H[:, J] += c * repair / (eta * (t - visited[J]))
        X[:, J] += repair
        visited[J] = t
    yield X.copy(), problem.gradients(X), H.copy()


def spread(X):
    return X - X.mean(0)


def check_recursion(draw):
    """(x, z) of one coordinate, from visit to visit, without noise."""
    problem, W, eta = Problem(draw), metropolis(ring()), 0.02
    states = list(run(problem, W, eta, 0.0, 20 * BLOCKS, draw))
    X, G, H = (np.array([state[i] for state in states]) for i in range(3))
    c, L, worst = correction(W), BLOCKS, 0.0
    for j in range(DIM):
        jumps = [t for t in range(1, len(X)) if np.any(H[t, :, j] != H[t - 1, :, j])]
        at = [t for t in jumps if t + 2 * L < len(X)]
        assert np.all(np.diff(jumps) == L)
        for t in at:
            average = [spread(G[s : s + L, :, j].mean(0)) for s in (t, t + L)]
            x, z = spread(X[t, :, j]), eta * L * (average[0] - H[t, :, j])
            x_next = W @ (x - z)
            z_next = z + c * (np.eye(AGENTS) - W) @ (x - z) + eta * L * (average[1] - average[0])
            worst = max(worst, np.abs(x_next - spread(X[t + L, :, j])).max(),
                        np.abs(z_next - eta * L * (average[1] - H[t + L, :, j])).max())
    assert worst < 1e-12, worst
    print(f"the recursion of (x, z): {worst:.1e}")


def check_eigenvalues():
    """det A = w, trace A = w + 1 - c (1 - w), stable below 2 (1 + w) / (1 - w) and not above."""
    for w in np.linspace(-0.95, 0.999, 200):
        limit = 2 * (1 + w) / (1 - w)
        for c in np.linspace(0.01, 1.5, 40) * limit:
            A = transfer(w, c)
            assert np.isclose(np.linalg.det(A), w) and np.isclose(np.trace(A), w + 1 - c * (1 - w))
            assert (np.abs(np.linalg.eigvals(A)).max() < 1) == (c < limit) or np.isclose(c, limit), (w, c)
    for w in (0.99, 0.999):  # what S and Q grow like
        for c in (0.3, 0.7, 1.0):
            S, Q = sums(w, c)
            assert abs(S * np.sqrt(c) * (1 - w) ** 1.5 * np.pi / 4 - 1) < 0.01, (w, c, S)
            assert abs(2 * Q * (1 - w) - 1) < 0.02, (w, c, Q)
    print("eigenvalues and growth of S and Q: as said")


def check_theorem(draw):
    """The theorem's left side, measured, is below its right side; the same for consensus."""
    closest = 0.0
    for edges in (ring(), np.ones((AGENTS, AGENTS), bool) ^ np.eye(AGENTS, dtype=bool)):
        W = metropolis(edges)
        S, Q = worst_sums(W)
        for sigma in (0.0, 0.3, 3.0):
            problem = Problem(draw)
            smooth, L, T = problem.smoothness, BLOCKS, 4000
            eta = 1 / (10 * smooth * L * S)
            states = list(run(problem, W, eta, sigma, T, draw))[:-1]
            slopes = [((problem.D @ X.mean(0) - problem.b).mean(0) ** 2).sum() for X, _, _ in states]
            consensus = np.mean([(spread(X) ** 2).sum() for X, _, _ in states]) / AGENTS
            zeta = (spread(np.mean([G for _, G, _ in states[:L]], axis=0)) ** 2).sum() / AGENTS
            gap = problem.value(np.zeros(DIM)) - problem.lowest_value()
            noise, start = eta**2 * L * sigma**2 * (8.5 + 16 * Q), 16 * eta**2 * L**3 * S**2 * zeta / T
            apart = (eta * L) ** 2 * np.mean(slopes) + noise + start
            bound = (2.1 * gap / (eta * T) + 1.1 * eta * smooth * sigma**2 / AGENTS
                     + 9 * eta**2 * smooth**2 * L * sigma**2 * (1 + 2 * Q)
                     + 17 * eta**2 * smooth**2 * L**3 * S**2 * zeta / T)
            assert np.mean(slopes) <= bound and consensus <= apart, (sigma, np.mean(slopes), bound, consensus, apart)
            closest = max(closest, np.mean(slopes) / bound, consensus / apart)
            print(f"noise {sigma}: slope {np.mean(slopes):.2e} <= {bound:.2e}, consensus {consensus:.2e} <= {apart:.2e}")
    print(f"the theorem: at most {closest:.2f} of the bound")


def check_table():
    page = (pathlib.Path(__file__).parents[2] / "docs/sweep-led.md").read_text()
    for w in (0.0, 0.25, 0.5, 0.75, 0.9, 0.99):
        row = "| {} | {} | {} |".format(w, *(f"{value:.3g}" for value in sums(w, 0.7)))
        assert row in page, row
    print("the table of S and Q: as computed")


if __name__ == "__main__":
    check_eigenvalues()
    check_table()
    check_recursion(np.random.default_rng(1))
    check_theorem(np.random.default_rng(2))
