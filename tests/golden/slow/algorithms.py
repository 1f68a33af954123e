# SPDX-License-Identifier: Apache-2.0
"""The algorithms: generators of the state after every round."""
import dataclasses
import math

import numpy as np

from slow.cases import ROUNDS, kept_entries
from slow.messages import all_gradients, clip, compress_rows, draw_batch, mix, noise, stochastic_gradient, sweep_block
from slow.models import GRADIENTS, dimension
from slow.network import mixing_matrix
from slow.randomness import COMPRESS_V, COMPRESS_X, NOISE, SNAPSHOT, Stream


def gradients(case, data):
    """G of every round, low-passed where the case has momentum: M = (1 - beta) M + beta G."""
    M = 0.0

    def estimate(X, t):
        nonlocal M
        M = (1 - case.momentum) * M + case.momentum * all_gradients(case, data, X, t)
        return M

    return estimate


def recursive_gradients(case, data):
    """M = G(X; Z) + (1 - beta) (M - G(X_prev; Z)), both gradients on the batch Z of the round; what a sample has
    in both is clipped as one vector, and their mean is noised."""
    M, X_prev = 0.0, None

    def estimate(X, t):
        nonlocal M, X_prev
        keep = 0.0 if t == 1 else 1 - case.momentum

        def released(i):
            bracket = lambda at: clip(case, at(X[i]) - (keep * at(X_prev[i]) if keep else 0))
            g = two_point_gradient(case, data, i, t, bracket)
            return g + noise(case, i, t, len(g)) if case.sigma else g

        M = keep * M + np.array([released(i) for i in range(case.agents)])
        X_prev = X.copy()
        return M

    return estimate


def porter(case, data, x0):
    """Algorithm 1. porter-dp, porter-gc and beer differ in clip, clip_target and sigma only; motef is beer
    with momentum; dsgt compresses nothing. Further gossip steps of a round mix without a gradient."""
    n, d = case.agents, len(x0)
    gap = mixing_matrix(case) - np.eye(n)
    gamma = 1.0 if case.algorithm == "dsgt" else case.consensus
    estimate = (recursive_gradients if case.algorithm == "motef-vr" else gradients)(case, data)
    X = np.tile(x0, (n, 1))
    Qx = X.copy()
    V, Qv, G_prev = np.zeros((n, d)), np.zeros((n, d)), np.zeros((n, d))
    for t in range(1, max(ROUNDS) + 1):
        for s in range(case.gossip):
            step = (t - 1) * case.gossip + s + 1
            if s == 0:
                G = estimate(X, t)
            Qv = Qv + compress_rows(case, V - Qv, COMPRESS_V, step)
            V = V + gamma * mix(gap, Qv) + (G - G_prev if s == 0 else 0)
            Qx = Qx + compress_rows(case, X - Qx, COMPRESS_X, step)
            X = X + gamma * mix(gap, Qx) - (case.step * V if s == 0 else 0)
            G_prev = G
        yield X


def swept(case, d, t):
    """What a round mixes, one after the other: coordinates, and the matrix on them."""
    W, k = mixing_matrix(case), kept_entries(case, d)
    if case.acceleration == "none":
        return [(sweep_block(case, d, k, (t - 1) * case.gossip + s + 1), W) for s in range(case.gossip)]
    return [(sweep_block(case, d, k, t), chebyshev(W, case.gossip)[0])]


def chebyshev(W, s):
    """T_s(y(W)) / T_s(y(1)), where y takes the eigenvalues of W but for 1 to [-1, 1]; and 1 / T_s(y(1))."""
    values, vectors = np.linalg.eigh(W)
    alpha = max(abs(values[:-1]))
    high = (round(alpha * 1e6) + 1) / 1e6
    low = min((round(values[0] * 1e6) - 1) / 1e6, high - 1e-3)
    y = lambda x: (2 * x - low - high) / (high - low)
    T = np.polynomial.chebyshev.Chebyshev.basis(s)
    return vectors @ np.diag(T(y(values)) / T(y(1.0))) @ vectors.T, 1 / T(y(1.0))


def porter_sweep(case, data, x0):
    n, d = case.agents, len(x0)
    estimate = gradients(case, data)
    X = np.tile(x0, (n, 1))
    V, M_prev = np.zeros((n, d)), np.zeros((n, d))
    for t in range(1, max(ROUNDS) + 1):
        M = estimate(X, t)
        V = V + M - M_prev
        M_prev = M
        X = X - case.step * V
        for J, W in swept(case, d, t):
            V[:, J], X[:, J] = mix(W, V[:, J]), mix(W, X[:, J])
        yield X


def sweep_led(case, data, x0):
    n, d = case.agents, len(x0)
    W = mixing_matrix(case)
    lowest = np.linalg.eigvalsh(W)[0] if case.acceleration == "none" else -chebyshev(W, case.gossip)[1]
    c = min(0.7, (1 + lowest) / (1 - lowest))
    estimate = gradients(case, data)
    X = np.tile(x0, (n, 1))
    H = np.zeros((n, d))
    visits = [[0] for _ in range(d)]  # the rounds of each coordinate's visits
    for t in range(1, max(ROUNDS) + 1):
        X = X - case.step * (estimate(X, t) - H)
        for J, W in swept(case, d, t):
            N = mix(W, X[:, J])
            L = np.array([t - max(round for round in visits[j] if round < t) for j in J])
            H[:, J] += c * (N - X[:, J]) / (case.step * L)
            X[:, J] = N
            for j in J:
                visits[j].append(t)
        yield X


def led(case, data, x0):
    """In the primal-dual form; with c = 1 also X = W^T (2 X - X_prev - step (G - G_prev))."""
    W = mixing_matrix(case)
    lowest = np.linalg.eigvalsh(W)[0]
    c = min(1.0, (1 + lowest) / (1 - lowest))
    estimate = gradients(case, data)
    X = np.tile(x0, (case.agents, 1))
    H = np.zeros_like(X)
    for t in range(1, max(ROUNDS) + 1):
        X = X - case.step * (estimate(X, t) - H)
        for _ in range(case.gossip):
            N = mix(W, X)
            H = H + c * (N - X) / case.step
            X = N
        yield X


def gt_nsgdm(case, data, x0):
    W = mixing_matrix(case)
    estimate = gradients(case, data)
    X = np.tile(x0, (case.agents, 1))
    V, M_prev = np.zeros_like(X), np.zeros_like(X)
    for t in range(1, max(ROUNDS) + 1):
        M = estimate(X, t)
        V = V + M - M_prev
        M_prev = M
        X = X - case.step * np.array([v / math.sqrt(sum(v * v)) for v in V])
        for _ in range(case.gossip):
            V, X = mix(W, V), mix(W, X)
        yield X


def choco_sgd(case, data, x0):
    gap = mixing_matrix(case) - np.eye(case.agents)
    estimate = gradients(case, data)
    X = np.tile(x0, (case.agents, 1))
    Q = X.copy()
    for t in range(1, max(ROUNDS) + 1):
        X = X - case.step * estimate(X, t)
        for s in range(case.gossip):
            Q = Q + compress_rows(case, X - Q, COMPRESS_X, (t - 1) * case.gossip + s + 1)
            X = X + case.consensus * mix(gap, Q)
        yield X


def sparq_sgd(case, data, x0):
    gap = mixing_matrix(case) - np.eye(case.agents)
    estimate = gradients(case, data)
    X = np.tile(x0, (case.agents, 1))
    Q = X.copy()
    for t in range(1, max(ROUNDS) + 1):
        X = X - case.step * estimate(X, t)
        for s in range(case.gossip):
            moved = np.array([sum((x - q) ** 2) > case.trigger * case.step**2 for x, q in zip(X, Q)])
            sent = compress_rows(case, X - Q, COMPRESS_X, (t - 1) * case.gossip + s + 1)
            Q = Q + sent * moved[:, None]
            X = X + case.consensus * mix(gap, Q)
        yield X


def compressed_push(case, data, x0, W):
    """X is pushed by what receivers know of it, and w by the same weights, in full."""
    gap = W - np.eye(case.agents)
    estimate = gradients(case, data)
    X, w = np.tile(x0, (case.agents, 1)), np.ones((case.agents, 1))
    Q, Z = X.copy(), X
    for t in range(1, max(ROUNDS) + 1):
        X = X - case.step * estimate(Z, t)
        for s in range(case.gossip):
            Q = Q + compress_rows(case, X - Q, COMPRESS_X, (t - 1) * case.gossip + s + 1)
            X = X + case.consensus * mix(gap, Q)
            w = w + case.consensus * mix(gap, w)
        Z = X / w
        yield Z


def dp_csgp(case, data, x0):
    return compressed_push(case, data, x0, mixing_matrix(case))


def omega_of(case, d):
    """Of an unbiased compressor."""
    return 0.0 if case.compressor == "identity" else d / kept_entries(case, d) - 1


def lead(case, data, x0):
    W = mixing_matrix(case)
    alpha = 1 / (1 + omega_of(case, len(x0)))
    gamma = case.consensus / (1 + omega_of(case, len(x0))) ** 3
    estimate = gradients(case, data)
    X = np.tile(x0, (case.agents, 1))
    H, D = X.copy(), np.zeros_like(X)
    for t in range(1, max(ROUNDS) + 1):
        G = estimate(X, t)
        Y = X - case.step * G - case.step * D
        Y_hat = H + compress_rows(case, Y - H, COMPRESS_X, t)
        H = (1 - alpha) * H + alpha * Y_hat
        D = D + gamma / (2 * case.step) * (Y_hat - mix(W, Y_hat))
        X = X - case.step * G - case.step * D
        yield X


def lt_admm(case, data, x0):
    """In the paper's form: a pair of variables on every edge, whose penalty is rho times its weight."""
    W, n, rho = mixing_matrix(case), case.agents, 0.7
    beta = case.consensus / (case.local_steps * rho)
    neighbours = [[j for j in range(n) if j != i and W[i, j]] for i in range(n)]
    z = {(i, j): rho * W[i, j] * x0 for i in range(n) for j in neighbours[i]}
    estimate = gradients(case, data)
    X = np.tile(x0, (n, 1))
    for t in range(1, max(ROUNDS) + 1):
        if (t - 1) % case.local_steps == 0:
            pull = np.array([sum(rho * W[i, j] * X[i] - z[i, j] for j in neighbours[i]) for i in range(n)])
        X = X - case.step * estimate(X, t) - beta * pull
        if t % case.local_steps == 0:
            z = {(i, j): (z[i, j] - z[j, i]) / 2 + rho * W[i, j] * X[j] for i, j in z}
        yield X


def deepsqueeze(case, data, x0):
    gap = mixing_matrix(case) - np.eye(case.agents)
    X = np.tile(x0, (case.agents, 1))
    E = np.zeros_like(X)
    for t in range(1, max(ROUNDS) + 1):
        half = X - case.step * all_gradients(case, data, X, t)
        V = half + E
        C = compress_rows(case, V, COMPRESS_X, t)
        E = V - C
        X = half + case.consensus * mix(gap, C)
        yield X


def dsgd(case, data, x0):
    W = mixing_matrix(case)
    estimate = gradients(case, data)
    X = np.tile(x0, (case.agents, 1))
    for t in range(1, max(ROUNDS) + 1):
        X = mix(W, X) - case.step * estimate(X, t)
        for _ in range(case.gossip - 1):
            X = mix(W, X)
        yield X


def sgd(case, data, x0):
    """Without messages: pooled data are one agent's."""
    X = np.tile(x0, (case.agents, 1))
    for t in range(1, max(ROUNDS) + 1):
        X = X - case.step * all_gradients(case, data, X, t)
        yield X


def two_point_gradient(case, data, agent, t, per_sample):
    """The mean of per_sample(gradient at a point) over the agent's batch of round t."""
    features, labels = data
    m = len(labels) // case.agents
    batch, divisor = draw_batch(case, agent, t, m)
    gradient = GRADIENTS[case.model]
    total = np.zeros(dimension(case))
    for z in batch:
        row = agent * m + z
        total = total + per_sample(lambda x: gradient(case, x, features[row], labels[row]))
    return total / divisor


def ddp_srm(case, data, x0):
    n, d = case.agents, len(x0)
    x, x_prev, v = x0, x0, np.zeros(d)
    for t in range(1, max(ROUNDS) + 1):
        keep = 0.0 if t == 1 else 1 - case.momentum
        parts = []
        for i in range(n):
            g = two_point_gradient(case, data, i, t, lambda at: clip(case, at(x) - keep * at(x_prev)))
            parts.append(g.astype(np.float32).astype(float))
        v = keep * v + sum(parts) / n
        if case.sigma:
            v = v + case.sigma * Stream(case.seed, NOISE, n, t).noise(d)
        x, x_prev = x - case.step * v, x
        yield x.reshape(1, d)


def svrg_gradients(case, data):
    n = case.agents
    m = len(data[1]) // n
    every = dataclasses.replace(case, batch="full", sigma=None, clip_target="sample")
    p = case.batch / m if case.snapshot is None else case.snapshot
    w = F = None

    def estimate(x, t):
        nonlocal w, F
        if t == 1 or Stream(case.seed, SNAPSHOT, 0, t).uniform() < p:
            w = x
            F = [stochastic_gradient(every, data, i, w, t) for i in range(n)]
        G = []
        for i in range(n):
            g = two_point_gradient(case, data, i, t, lambda at: clip(case, at(x)) - clip(case, at(w))) + F[i]
            G.append(g + case.sigma * Stream(case.seed, NOISE, i, t).noise(len(x)))
        return np.array(G)

    return estimate


def soteriafl(case, data, x0):
    """soteriafl-sgd and -svrg; without shifts cdp-sgd, and with dense messages ldp-sgd."""
    n, d = case.agents, len(x0)
    shift = case.shift
    if not case.algorithm.startswith("soteriafl"):
        shift = 0.0
    elif shift is None:
        omega = omega_of(case, d)
        shift = math.sqrt((1 + 2 * omega) / (2 * (1 + omega) ** 3))
    if case.algorithm == "soteriafl-svrg":
        estimate = svrg_gradients(case, data)
    else:
        estimate = lambda x, t: all_gradients(case, data, [x] * n, t)
    x = x0
    S = np.zeros((n, d))
    for t in range(1, max(ROUNDS) + 1):
        broadcast = x.astype(np.float32).astype(float)
        G = estimate(broadcast, t)
        v = compress_rows(case, G - S, COMPRESS_V, t)
        x = x - case.step * (sum(S) / n + sum(v) / n)
        S = S + shift * v
        yield x.astype(np.float32).astype(float).reshape(1, d)


def clip21_sgd2m(case, data, x0):
    n = case.agents
    estimate = gradients(dataclasses.replace(case, clip="none"), data)
    x, g = x0, np.zeros(len(x0))
    known = np.zeros((n, len(x0)))  # g_i
    for t in range(1, max(ROUNDS) + 1):
        v = estimate([x.astype(np.float32).astype(float)] * n, t)
        c = np.array([clip(case, v[i] - known[i]) for i in range(n)]).astype(np.float32).astype(float)
        known = known + case.shift * c
        g = g + case.shift * sum(c) / n
        x = x - case.step * g
        yield x.astype(np.float32).astype(float).reshape(1, len(x0))


ALGORITHMS = {
    "porter-gc": porter,
    "porter-dp": porter,
    "porter-sweep": porter_sweep,
    "sweep-led": sweep_led,
    "beer": porter,
    "motef": porter,
    "motef-vr": porter,
    "gt-nsgdm": gt_nsgdm,
    "choco-sgd": choco_sgd,
    "sparq-sgd": sparq_sgd,
    "led": led,
    "dp-csgp": dp_csgp,
    "lead": lead,
    "lt-admm": lt_admm,
    "deepsqueeze": deepsqueeze,
    "dsgd": dsgd,
    "dp-dsgd": dsgd,
    "dsgt": porter,
    "soteriafl-sgd": soteriafl,
    "soteriafl-svrg": soteriafl,
    "cdp-sgd": soteriafl,
    "ldp-sgd": soteriafl,
    "clip21-sgd2m": clip21_sgd2m,
    "ddp-srm": ddp_srm,
    "dp-sgd": sgd,
    "dp-sgd-alone": sgd,
}
