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


class Run:
    """Before each round and at the end X, the true gradients there and H; the noise of each round; the periods."""

    def __init__(self, problem, W, eta, sigma, rounds, draw, beta=1.0, dense=0):
        c, order, visited = correction(W), draw.permutation(DIM), np.zeros(DIM, int)
        X, H, M = np.zeros((3, AGENTS, DIM))
        Xs, Gs, Hs, noises = [X], [problem.gradients(X)], [H], []
        for t in range(1, rounds + 1):
            noises.append(sigma / np.sqrt(DIM) * draw.normal(size=X.shape))
            M = (1 - beta) * M + beta * (Gs[-1] + noises[-1])
            X, H = X - eta * (M - H), H.copy()
            J = np.append(np.split(order[dense:], BLOCKS)[(t - 1) % BLOCKS], order[:dense])
            repair = (W - np.eye(AGENTS)) @ X[:, J]
            H[:, J] += c * repair / (eta * (t - visited[J]))
            X[:, J] += repair
            visited[J] = t
            Xs.append(X)
            Gs.append(problem.gradients(X))
            Hs.append(H)
        self.X, self.G, self.H, self.noise = (np.array(values) for values in (Xs, Gs, Hs, noises))
        self.periods = np.full(DIM, BLOCKS)
        self.periods[order[:dense]] = 1


def low_passed(values, beta):
    out, M = np.empty_like(values), 0.0
    for t, value in enumerate(values):
        out[t] = M = (1 - beta) * M + beta * value
    return out


def spread(X):
    """Takes the mean over agents away: of the last axis but one."""
    return X - X.mean(-2, keepdims=True)


def check_recursion(draw):
    """(x, z) of one coordinate, from visit to visit, with the noise in nu and with the noise in a: steps 2 and 10."""
    W, eta, worst = metropolis(ring()), 0.02, 0.0
    c = correction(W)
    for beta, dense in ((1.0, 0), (0.3, 0), (0.05, 6)):
        run = Run(Problem(draw), W, eta, 0.5, 20 * BLOCKS, draw, beta, dense)
        gradients, noise = (spread(low_passed(part, beta)) for part in (run.G[:-1], run.noise))
        points, nothing = spread(run.X), np.zeros_like(noise)
        for j, L in enumerate(run.periods):
            jumps = [t for t in range(1, len(run.X)) if np.any(run.H[t, :, j] != run.H[t - 1, :, j])]
            assert np.all(np.diff(jumps) == L)
            for of_a, of_nu in ((gradients, noise), (gradients + noise, nothing)):
                for t in (t for t in jumps if t + 2 * L < len(run.X)):
                    a, a_next = (of_a[s : s + L, :, j].mean(0) for s in (t, t + L))
                    nu = of_nu[t : t + L, :, j].mean(0)
                    x, z = points[t, :, j], eta * L * (a - run.H[t, :, j])
                    met = x - z - eta * L * nu
                    z_next = z + c * (np.eye(AGENTS) - W) @ met + eta * L * (a_next - a)
                    worst = max(worst, np.abs(W @ met - points[t + L, :, j]).max(),
                                np.abs(z_next - eta * L * (a_next - run.H[t + L, :, j])).max())
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


def check_low_pass():
    """Step 8 for noise: of its low-pass the differences over a lag, and what the recursion makes of it (step 11)."""
    for beta in (1.0, 0.3, 0.05, 0.01):
        kernel = beta * (1 - beta) ** np.arange(3000)
        for lag in (1, 6, 12):
            exact = 2 * beta * (1 - (1 - beta) ** lag) / (2 - beta)
            difference = np.append(kernel, np.zeros(lag)) - np.append(np.zeros(lag), kernel)
            assert np.isclose(difference @ difference, exact) and exact <= 2 * beta**2 * lag / (2 - beta) * (1 + 1e-12)
            for w in (-0.3, 0.0, 0.5, 0.9):
                c = min(0.7, (1 + w) / (1 - w))
                S, Q = sums(w, c)
                visits, rounds = noise_left(w, c, lag, beta)
                assert visits <= lag * Q and rounds <= 4 * lag * noise_factor(S, Q, beta, lag), (beta, lag, w)
    print("the low-pass of noise: as said")


def noise_left(w, c, L, beta):
    """Mean squares of x / eta along an eigenvector, at visits and over all rounds, of noise of variance 1: exact."""
    rounds = L * int(200 / (1 - w) + 40 / (beta * L) + 40)
    x, h, m = np.zeros((3, L))  # one column for each round within a period at which the only noise falls
    visits = total = 0.0
    for t in range(rounds):
        total += x @ x
        m = (1 - beta) * m + beta * (np.arange(L) == t)
        x = x - (m - h)
        if (t + 1) % L == 0:
            h, x = h + c * (w - 1) * x / L, w * x
            visits += x @ x
    return visits, total / L


def noise_factor(S, Q, beta, L):
    """K of a group."""
    return min(1 + 2 * Q, 5 * (beta * L * S) ** 2 / (2 - beta))


class Bounds:
    """What the right sides are made of: measured in a run, by groups of one period."""

    def __init__(self, problem, W, run, eta, sigma, beta):
        self.S, self.Q = worst_sums(W)
        self.smooth, self.T, self.L = problem.smoothness, len(run.noise), max(run.periods)
        T, periods = self.T, np.unique(run.periods)
        self.span = np.sqrt(np.sum(periods**2))  # L with a hat
        X, G = run.X[:T], run.G[:T]
        self.slope = (G_at_mean(problem, X.mean(1)) ** 2).sum() / T
        self.C, self.V = (spread(X) ** 2).sum(), AGENTS * T * self.slope
        self.D = max(((X[lag:] - X[:-lag]) ** 2).sum() for lag in range(1, self.L + 1))
        self.noise = self.start = 0.0
        for L in periods:
            of = run.periods == L
            variance = sigma**2 * of.mean()
            self.noise += noise_factor(self.S, self.Q, beta, L) * L * variance
            self.start += self.S**2 * L**2 * (spread(G[:L])[..., of] ** 2).sum() / AGENTS  # S^2 L^3 zeta^2
        self.gap = problem.value(np.zeros(DIM)) - problem.lowest_value()


def G_at_mean(problem, means):
    return means @ problem.D.mean(0).T - problem.b.mean(0)


def check_momentum(draw):
    """Steps 8, 9, 12 and 13, and the second theorem, in runs with momentum, with and without a dense part."""
    closest = {"first": 0.0, "second": 0.0}
    for edges in (ring(), np.ones((AGENTS, AGENTS), bool) ^ np.eye(AGENTS, dtype=bool)):
        W = metropolis(edges)
        S, _ = worst_sums(W)
        for beta, dense, sigma in ((0.3, 0, 0.0), (0.3, 6, 0.3), (0.3, 0, 3.0),
                                   (0.01, 6, 0.0), (0.01, 0, 0.3), (0.01, 6, 3.0)):
            problem, T = Problem(draw), 4000
            smooth, span = problem.smoothness, np.hypot(BLOCKS, dense > 0)
            eta = min(1 / (10 * smooth * span * S), beta / (4 * smooth * (1 - beta)))
            run = Run(problem, W, eta, sigma, T, draw, beta, dense)
            check_shifted_mean(run, eta, beta)
            check_delays(run, beta)
            of = Bounds(problem, W, run, eta, sigma, beta)
            assert of.span == span
            scale, drift = eta**2 * T * AGENTS, (eta * of.L * smooth) ** 2
            found = 2 * of.gap / (eta * T) + 1.5 * eta * smooth * sigma**2 / AGENTS + smooth**2 * of.C / (AGENTS * T)
            assert of.slope <= found, ("step 9", of.slope, found)
            found = 4 * scale * of.noise + 12 * (eta * span * S * smooth) ** 2 * of.D + 12 * eta**2 * AGENTS * of.start
            assert of.C <= found, ("step 12", of.C, found)
            found = (4 + 4 * drift) * of.C + 4 * (eta * of.L) ** 2 * of.V + 2 * eta**2 * of.L * T * sigma**2
            assert of.D <= found, ("step 13", of.D, found)
            noise = of.noise + of.L * sigma**2 / (16 * AGENTS)
            bound = (2.1 * of.gap / (eta * T) + 1.6 * eta * smooth * sigma**2 / AGENTS
                     + 8.1 * (eta * smooth) ** 2 * noise + 25 * (eta * smooth) ** 2 * of.start / T)
            consensus = of.C / (AGENTS * T)
            apart = (eta * of.L) ** 2 * of.slope + 8 * eta**2 * noise + 24 * eta**2 * of.start / T
            assert of.slope <= bound and consensus <= apart, (beta, sigma, of.slope, bound, consensus, apart)
            closest["first"] = max(closest["first"], of.slope / bound)
            closest["second"] = max(closest["second"], consensus / apart)
            print(f"momentum {beta}, dense {dense}, noise {sigma}: slope {of.slope:.2e} <= {bound:.2e},"
                  f" consensus {consensus:.2e} <= {apart:.2e}")
    print(f"the second theorem: at most {closest['first']:.2f} and {closest['second']:.2f} of its bounds")


def check_shifted_mean(run, eta, beta):
    """z = mean x - eta (1 - beta) / beta mean m follows SGD without momentum."""
    gradient = (run.G[:-1] + run.noise).mean(1)
    m = np.vstack([np.zeros(DIM), low_passed(gradient, beta)])  # m of the round before
    z = run.X.mean(1) - eta * (1 - beta) / beta * m
    worst = np.abs(z[1:] - z[:-1] + eta * gradient).max()
    assert worst < 1e-11 * np.abs(z).max(), worst


def check_delays(run, beta):
    """Differences of the low-passed gradients over a lag are no larger than those of the gradients and the start."""
    G = spread(run.G[:-1])
    M = low_passed(G, beta)
    for lag in range(1, BLOCKS + 1):
        of_m, of_g = (((part[lag:] - part[:-lag]) ** 2).sum() for part in (M, G))
        assert (M[:lag] ** 2).sum() + of_m <= (G[:lag] ** 2).sum() + of_g


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
            run = Run(problem, W, eta, sigma, T, draw)
            slope = (G_at_mean(problem, run.X[:T].mean(1)) ** 2).sum() / T
            consensus = (spread(run.X[:T]) ** 2).sum() / (AGENTS * T)
            zeta = (spread(run.G[:L].mean(0)) ** 2).sum() / AGENTS
            gap = problem.value(np.zeros(DIM)) - problem.lowest_value()
            noise, start = eta**2 * L * sigma**2 * (8.5 + 16 * Q), 16 * eta**2 * L**3 * S**2 * zeta / T
            apart = (eta * L) ** 2 * slope + noise + start
            bound = (2.1 * gap / (eta * T) + 1.1 * eta * smooth * sigma**2 / AGENTS
                     + 9 * eta**2 * smooth**2 * L * sigma**2 * (1 + 2 * Q)
                     + 17 * eta**2 * smooth**2 * L**3 * S**2 * zeta / T)
            assert slope <= bound and consensus <= apart, (sigma, slope, bound, consensus, apart)
            closest = max(closest, slope / bound, consensus / apart)
            print(f"noise {sigma}: slope {slope:.2e} <= {bound:.2e}, consensus {consensus:.2e} <= {apart:.2e}")
    print(f"the theorem: at most {closest:.2f} of the bound")


def check_tables():
    page = (pathlib.Path(__file__).parents[2] / "docs/sweep-led.md").read_text()
    for w in (0.0, 0.25, 0.5, 0.75, 0.9, 0.99):
        row = "| {} | {} | {} |".format(w, *(f"{value:.3g}" for value in sums(w, 0.7)))
        assert row in page, row
    for beta in (1.0, 0.3, 0.1, 0.025, 0.005):
        cells = []
        for w in (0.0, 0.5, 0.9):
            _, exact = noise_left(w, 0.7, 12, beta)
            cells.append(f"{exact / 12:.2g}, {4 * noise_factor(*sums(w, 0.7), beta, 12):.3g}")
        row = f"| {beta:g} | {' | '.join(cells)} |"
        assert row in page, row
    print("the tables: as computed")


if __name__ == "__main__":
    check_eigenvalues()
    check_tables()
    check_recursion(np.random.default_rng(1))
    check_theorem(np.random.default_rng(2))
    check_low_pass()
    check_momentum(np.random.default_rng(3))
