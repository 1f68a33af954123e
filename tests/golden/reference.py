#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The slow reference: short runs of every algorithm, written from the documents and not from our C++.

It follows Algorithm 1 of the paper and docs/randomness.md in the most direct form: full surrogates Q,
W as a dense matrix, G_prev kept, one sample at a time. Running it writes into its own folder, or into
the folder that is given, for every case a config (.toml) and the iterates at a few rounds (.csv),
and the data sets they use.

    /usr/bin/python3 tests/golden/reference.py [folder]
"""
import dataclasses
import functools
import math
import pathlib
import sys
from dataclasses import dataclass

import numpy as np

ROUNDS = (1, 10, 50, 200)  # where states are compared

# ---- Randomness (docs/randomness.md) -----------------------------------------------------------

START, BATCH, NOISE, COMPRESS_V, COMPRESS_X, TEST, SNAPSHOT, MASK = 0, 3, 4, 5, 6, 9, 10, 11
MASK32 = 2**32 - 1


def philox(counter, key):
    """Philox4x32-10 of Salmon et al., SC 2011."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        product0 = 0xD2511F53 * c0
        product1 = 0xCD9E8D57 * c2
        c0, c1 = (product1 >> 32) ^ c1 ^ k0, product1 & MASK32
        c2, c3 = (product0 >> 32) ^ c3 ^ k1, product0 & MASK32
        k0 = (k0 + 0x9E3779B9) & MASK32
        k1 = (k1 + 0xBB67AE85) & MASK32
    return c0, c1, c2, c3


F = np.float32  # every operation on two of these is rounded to float


def hex_floats(*texts):
    return [F(float.fromhex(text)) for text in texts]


LOG = hex_floats("-0x1.31e2f2p-1", "-0x1.995ebap-1", "-0x1.55557ap0", "-4")
SIN = hex_floats("-0x1.2d9302p-15", "0x1.465e92p-9", "-0x1.4abbbap-4", "0x1.921fb6p-1")
COS = hex_floats("-0x1.4e844ap-12", "0x1.03b090p-6", "-0x1.3bd39cp-2", "1")


def polynomial(coefficients, z):
    value = coefficients[0]
    for c in coefficients[1:]:
        value = value * z + c
    return value


def signed(word):
    return word - 2**32 if word >= 2**31 else word


def turned(word, cosine, sine):
    """The two highest bits of the angle word mirror the cosine and swap the two."""
    if word >> 31:
        cosine = -cosine
    return (sine, cosine) if word >> 30 & 1 else (cosine, sine)


def angle_steps(word):
    return signed((4 * word + 2) & MASK32)


def plain_pair(radius_word, angle_word):
    t = (F(signed(radius_word)) + F(0.5)) * F(2.0**-32)
    b = F(1) if t < 0 else F(0)
    exponent = math.floor((int((b + t).view(np.uint32)) - 0x3F3504F3) / 2**23)
    scale = F(2.0**-exponent)
    y = scale * t + (scale * b - F(1))
    s = y / (y + F(2))
    radius = np.sqrt(F(exponent) * hex_floats("-0x1.62e430p0")[0] + s * polynomial(LOG, s * s))
    t = F(angle_steps(angle_word)) * F(2.0**-31)
    z = t * t
    return [radius * x for x in turned(angle_word, polynomial(COS, z), t * polynomial(SIN, z))]


def refined_pair(radius_word, angle_word, more):
    radius = math.sqrt(-2 * math.log((radius_word + (more + 0.5) * 2.0**-64) * 2.0**-32))
    angle = math.pi / 4 * angle_steps(angle_word) * 2.0**-31
    return [F(radius * x) for x in turned(angle_word, math.cos(angle), math.sin(angle))]


class Stream:
    def __init__(self, seed, use, agent, round_):
        self.key = (seed & MASK32, seed >> 32)
        self.address = (round_, agent, use)
        self.next_block = 0
        self.words = []  # of the current block, not yet used

    def block(self, number):
        return philox((number, *self.address), self.key)

    def word(self):
        if not self.words:
            self.words = list(self.block(self.next_block))
            self.next_block += 1
        return self.words.pop(0)

    def bits64(self):
        low = self.word()
        return low + (self.word() << 32)

    def uniform(self):
        return (self.bits64() >> 11) * 2.0**-53

    def below(self, n):
        threshold = (2**64 - n) % n
        while True:
            w = self.bits64()
            if w >= threshold:
                return w % n

    def normals(self, count):
        self.words = []
        out = []
        while len(out) < count:
            number = self.next_block
            self.next_block += 1
            w0, w1, w2, w3 = self.block(number)
            W = w0 + (w1 << 32)
            u = (W + 0.5) * 2.0**-64
            if W < 2**12:
                m0, m1, _, _ = self.block(number + 2**31)
                u = (W + (m0 + (m1 << 32) + 0.5) * 2.0**-64) * 2.0**-64
            r = math.sqrt(-2 * math.log(u))
            a = 2 * math.pi * ((w2 + (w3 << 32)) >> 11) * 2.0**-53
            out += [r * math.cos(a), r * math.sin(a)]
        return np.array(out[:count])

    def below32(self, n):
        while True:
            product = self.word() * n
            if product % 2**32 >= 2**32 % n:
                return product // 2**32

    def noise(self, count):
        """Groups of 64 floats: the cosines of 32 pairs, then their sines; two pairs from each block."""
        out = []
        while len(out) < count:
            pairs = []
            for _ in range(16):
                number = self.next_block
                self.next_block += 1
                words = self.block(number)
                for at in (0, 2):
                    if words[at] >= 2**20:
                        pairs.append(plain_pair(words[at], words[at + 1]))
                    else:
                        more = self.block(number + 2**31)
                        pairs.append(refined_pair(words[at], words[at + 1], more[at] + (more[at + 1] << 32)))
            out += [pair[0] for pair in pairs] + [pair[1] for pair in pairs]
        return np.array(out[:count], dtype=float)

    def choose(self, k, n):
        taken = set()
        for j in range(n - k, n):
            t = self.below32(j + 1)
            taken.add(j if t in taken else t)
        return sorted(taken)


# ---- Models: the gradient of one sample --------------------------------------------------------


def logistic_loss(case, x, f, label):
    y = 1.0 if label == 1 else -1.0
    regulariser = case.regulariser * np.sum(x**2 / (1 + x**2))
    return math.log1p(math.exp(-y * np.sum(x * f))) + regulariser


def logistic_gradient(case, x, f, label):
    y = 1.0 if label == 1 else -1.0
    slope = -y / (1 + math.exp(y * np.sum(x * f)))
    return slope * f + case.regulariser * 2 * x / (1 + x**2) ** 2


ACTIVATIONS = {  # the function, and its derivative in terms of its value
    "sigmoid": (lambda z: 1 / (1 + np.exp(-z)), lambda h: h * (1 - h)),
    "tanh": (np.tanh, lambda h: 1 - h**2),
}


def mlp_widths(case):
    return [case.features, *case.hidden, case.classes]


def mlp_layers(case, x):
    """x = vec(W1, c1, W2, c2, ...); W is outputs x inputs, row by row."""
    layers, at = [], 0
    widths = mlp_widths(case)
    for inputs, outputs in zip(widths, widths[1:]):
        W = x[at : at + inputs * outputs].reshape(outputs, inputs)
        at += inputs * outputs
        layers.append((W, x[at : at + outputs]))
        at += outputs
    return layers


def mlp_forward(case, x, f):
    activation, _ = ACTIVATIONS[case.activation]
    layers = mlp_layers(case, x)
    values = [f]  # what goes into each layer
    for W, c in layers[:-1]:
        values.append(activation(W @ values[-1] + c))
    W, c = layers[-1]
    scores = W @ values[-1] + c
    log_sum = np.max(scores) + math.log(np.sum(np.exp(scores - np.max(scores))))
    return layers, values, scores - log_sum


def mlp_loss(case, x, f, label):
    return -mlp_forward(case, x, f)[2][label]


def mlp_gradient(case, x, f, label):
    _, derivative = ACTIVATIONS[case.activation]
    layers, values, log_probabilities = mlp_forward(case, x, f)
    delta = np.exp(log_probabilities)
    delta[label] -= 1
    parts = []
    for (W, _), value in zip(reversed(layers), reversed(values)):
        parts = [np.outer(delta, value).ravel(), delta] + parts
        delta = (W.T @ delta) * derivative(value)
    return np.concatenate(parts)


def dimension(case):
    if case.model == "logistic":
        return case.features + 1
    widths = mlp_widths(case)
    return sum((inputs + 1) * outputs for inputs, outputs in zip(widths, widths[1:]))


# ---- Clipping, gradients, compression ----------------------------------------------------------


def clip(case, g):
    norm = math.sqrt(np.sum(g * g))
    if case.clip == "none":
        return g
    kind, tau = case.clip.split(":")
    if kind == "smooth":
        return float(tau) / (float(tau) + norm) * g
    return g if norm == 0 else min(1.0, float(tau) / norm) * g


def stochastic_gradient(case, data, agent, x, t):
    features, labels = data
    m = len(labels) // case.agents
    if case.batch == "full":
        batch = range(m)
    else:
        batch = Stream(case.seed, BATCH, agent, t).choose(case.batch, m)
    gradient = logistic_gradient if case.model == "logistic" else mlp_gradient
    per_sample = case.clip_target == "sample"
    total = np.zeros(len(x))
    for z in batch:
        row = agent * m + z  # split = "contiguous"
        g = gradient(case, x, features[row], labels[row])
        total = total + (clip(case, g) if per_sample else g)
    g = total / len(batch)
    if not per_sample:
        g = clip(case, g)
    if case.sigma:
        g = g + case.sigma * Stream(case.seed, NOISE, agent, t).noise(len(x))
    return g


def all_gradients(case, data, X, t):
    return np.array([stochastic_gradient(case, data, i, X[i], t) for i in range(case.agents)])


def kept_entries(case, d):
    _, argument = case.compressor.split(":")
    return int(argument[2:]) if argument.startswith("k=") else max(1, math.floor(float(argument) * d))


def compress(case, difference, use, agent, t):
    """C of the difference rounded to float; what comes back are floats, too."""
    x = difference.astype(np.float32)
    name = case.compressor.split(":")[0]
    if name == "identity":
        return x.astype(float)
    d = len(x)
    k = kept_entries(case, d)
    stream = Stream(case.seed, use, agent if case.mask == "own" else 0, t)
    if name == "top_k":
        kept = sorted(range(d), key=lambda j: (-abs(float(x[j])), j))[:k]
    elif name == "random_k":
        kept = sweep_block(case, d, k, t) if case.mask == "sweep" else stream.choose(k, d)
    else:
        assert name == "bernoulli"
        kept = [j for j in range(d) if stream.uniform() < k / d]
    out = np.zeros(d, np.float32)
    for j in kept:
        out[j] = x[j] if not case.unbiased else np.float32(float(x[j]) * (d / k))
    return out.astype(float)


def sweep_block(case, d, k, step):
    """Block number `step` of a walk through permutations of all coordinates, k at a time."""
    blocks = -(-d // k)
    sweep, block = divmod(step - 1, blocks)
    stream = Stream(case.seed, MASK, 0, sweep)
    order = list(range(d))
    for i in range(d - 1, 0, -1):
        j = stream.below(i + 1)
        order[i], order[j] = order[j], order[i]
    return sorted(order[block * k : (block + 1) * k])


def compress_rows(case, difference, use, t):
    return np.array([compress(case, difference[i], use, i, t) for i in range(case.agents)])


# ---- Graph -------------------------------------------------------------------------------------


def one_way_ring(n):
    """Not symmetric: W and its transpose are different runs."""
    return 0.75 * np.eye(n) + 0.25 * np.roll(np.eye(n), 1, axis=1)


def mixing_matrix(case):
    """Metropolis: 1 / (1 + the larger degree) on every edge, the rest of each row on its diagonal."""
    n = case.agents
    if case.mixing == "file:one_way.npy":
        return one_way_ring(n)
    if case.graph == "ring":
        edges = {frozenset((i, (i + 1) % n)) for i in range(n)}
    else:
        assert case.graph == "star"  # agent 0 is the centre
        edges = {frozenset((0, i)) for i in range(1, n)}
    degree = [sum(i in edge for edge in edges) for i in range(n)]
    W = np.zeros((n, n))
    for i, j in edges:
        W[i, j] = W[j, i] = 1 / (1 + max(degree[i], degree[j]))
    for i in range(n):
        W[i, i] = 1 - sum(W[i])
    return W


def mix(A, Q):
    """A^T Q, summed over agents in ascending order."""
    out = np.zeros_like(Q)
    for i in range(len(A)):
        for j in range(len(A)):
            out[i] = out[i] + A[j, i] * Q[j]
    return out


# ---- Algorithms: generators of the state after every round -------------------------------------


def gradients(case, data):
    """G of every round, low-passed where the case has momentum: M = (1 - beta) M + beta G."""
    M = 0.0

    def estimate(X, t):
        nonlocal M
        M = (1 - case.momentum) * M + case.momentum * all_gradients(case, data, X, t)
        return M

    return estimate


def porter(case, data, x0):
    """Algorithm 1. porter-dp, porter-gc and beer differ in clip, clip_target and sigma only; dsgt
    compresses nothing. Further gossip steps of a round mix without a gradient."""
    n, d = case.agents, len(x0)
    gap = mixing_matrix(case) - np.eye(n)
    gamma = 1.0 if case.algorithm == "dsgt" else case.consensus
    estimate = gradients(case, data)
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


def porter_sweep(case, data, x0):
    n, d = case.agents, len(x0)
    W = mixing_matrix(case)
    estimate = gradients(case, data)
    X = np.tile(x0, (n, 1))
    V, M_prev = np.zeros((n, d)), np.zeros((n, d))
    for t in range(1, max(ROUNDS) + 1):
        M = estimate(X, t)
        V = V + M - M_prev
        M_prev = M
        X = X - case.step * V
        for s in range(case.gossip):
            J = sweep_block(case, d, kept_entries(case, d), (t - 1) * case.gossip + s + 1)
            V[:, J], X[:, J] = mix(W, V[:, J]), mix(W, X[:, J])
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
    batch = range(m) if case.batch == "full" else Stream(case.seed, BATCH, agent, t).choose(case.batch, m)
    gradient = logistic_gradient if case.model == "logistic" else mlp_gradient
    total = 0.0
    for z in batch:
        row = agent * m + z
        total = total + per_sample(lambda x: gradient(case, x, features[row], labels[row]))
    return total / len(batch)


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
        omega = 0.0 if case.compressor == "identity" else d / kept_entries(case, d) - 1
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


ALGORITHMS = {
    "porter-gc": porter,
    "porter-dp": porter,
    "porter-sweep": porter_sweep,
    "beer": porter,
    "choco-sgd": choco_sgd,
    "deepsqueeze": deepsqueeze,
    "dsgd": dsgd,
    "dp-dsgd": dsgd,
    "dsgt": porter,
    "soteriafl-sgd": soteriafl,
    "soteriafl-svrg": soteriafl,
    "cdp-sgd": soteriafl,
    "ldp-sgd": soteriafl,
    "ddp-srm": ddp_srm,
    "dp-sgd": sgd,
    "dp-sgd-alone": sgd,
}

# ---- Cases -------------------------------------------------------------------------------------


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
    shift: object = None
    momentum: float = 1.0
    gossip: int = 1
    mask: str = "own"
    snapshot: object = None
    start: str = "normal:0.2"
    agents: int = 5
    graph: str = "ring"
    mixing: str = "metropolis"
    model: str = "logistic"
    regulariser: float = 0.2
    hidden: tuple = ()
    activation: str = "sigmoid"
    data: str = "binary.csv"

    @property
    def features(self):
        return len(make_rows(self.data)[0][0])

    @property
    def classes(self):
        return 1 + max(label for _, label in make_rows(self.data))


BIG_SEED = 7 * 2**32 + 11  # its high word must reach the key
GC = dict(algorithm="porter-gc", clip_target="batch", step=0.1)
DP = dict(algorithm="porter-dp", step=0.05)
SOTERIA = dict(algorithm="soteriafl-sgd", sigma=0.05)
MLP = dict(model="mlp", regulariser=0.0, agents=4, data="three_classes.csv")

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
    Case("porter_dp_momentum_shared", **DP, seed=20, clip="smooth:1.0", compressor="random_k:0.5", consensus=0.2,
         sigma=0.1, momentum=0.2, gossip=2, mask="shared"),
    Case("porter_dp_sweep_mask", **DP, seed=21, clip="smooth:1.0", compressor="random_k:0.4", consensus=0.2,
         sigma=0.1, gossip=3, mask="sweep"),
    Case("porter_sweep", algorithm="porter-sweep", seed=22, step=0.1, clip="smooth:1.0", compressor="random_k:0.4",
         sigma=0.1, momentum=0.3, gossip=2, mask="sweep"),
    Case("choco_sgd_gossip", algorithm="choco-sgd", seed=23, step=0.05, compressor="random_k:0.4", consensus=0.3,
         clip="linear:0.5", sigma=0.05, momentum=0.5, gossip=2),
    Case("dsgt", algorithm="dsgt", seed=24, step=0.05),
    Case("dp_dsgd_gossip", algorithm="dp-dsgd", seed=25, step=0.05, clip="smooth:0.5", sigma=0.05, gossip=3,
         graph="star"),
    Case("deepsqueeze_top_k", algorithm="deepsqueeze", seed=26, step=0.05, compressor="top_k:0.5", consensus=0.3),
    Case("soteriafl_svrg", algorithm="soteriafl-svrg", seed=27, step=0.1, clip="smooth:1.0", sigma=0.05,
         compressor="random_k:0.25", unbiased=True, snapshot=0.1),
    Case("cdp_sgd", algorithm="cdp-sgd", seed=28, step=0.1, clip="smooth:1.0", sigma=0.05, compressor="random_k:0.5",
         unbiased=True),
    Case("ldp_sgd", algorithm="ldp-sgd", seed=29, step=0.1, clip="linear:0.5", sigma=0.05),
    Case("ddp_srm", algorithm="ddp-srm", seed=30, step=0.1, clip="smooth:1.0", sigma=0.02, momentum=0.3),
    Case("dp_sgd", algorithm="dp-sgd", seed=31, step=0.1, clip="smooth:1.0", sigma=0.05, agents=1),
    Case("dp_sgd_alone", algorithm="dp-sgd-alone", seed=32, step=0.1, clip="smooth:1.0", sigma=0.05),
]


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
    if case.model == "mlp":
        sections["model"] |= {"hidden": list(case.hidden), "activation": case.activation}
    for key, default in (("shift", None), ("momentum", 1.0), ("gossip", 1), ("mask", "own"), ("snapshot", None)):
        if getattr(case, key) != default:
            sections["algorithm"][key] = getattr(case, key)
    if case.sigma is not None:
        sections["privacy"] = {"calibration": "sigma", "sigma": case.sigma}
    lines = ["# written by reference.py"]
    for section, entries in sections.items():
        lines += ["", f"[{section}]"] + [f"{key} = {quoted(value)}" for key, value in entries.items()]
    return "\n".join(lines) + "\n"


# ---- Data: values are multiples of 1/8, so that every reader gets the same floats ---------------


@functools.cache
def make_rows(name):
    """60 rows of features and a class from a noisy linear teacher. In the binary set, column 5 repeats
    column 2 and column 6 is column 3 negated, so that their entries of x tie."""
    binary = name.startswith("binary")
    features, classes = (7, 2) if binary else (4, 3)
    rng = Stream(2024, TEST, classes, 0)
    teacher = rng.normals(features * classes).reshape(classes, features)
    rows = []
    for _ in range(60):
        f = np.array([(rng.below(33) - 16) / 8 for _ in range(features)])
        if binary:
            f[5], f[6] = f[2], -f[3]
        label = rng.below(classes) if rng.below(8) == 0 else int(np.argmax(teacher @ f))
        rows.append((f, label))
    return rows


def write_csv(rows):
    return "".join(",".join(f"{v:g}" for v in f) + f",{label}\n" for f, label in rows)


def write_libsvm(rows):
    """Columns from 1, without zeros; classes 0, 1 as -1, +1."""
    entries = lambda f: "".join(f" {j + 1}:{v:g}" for j, v in enumerate(f) if v != 0)
    return "".join(("-1", "+1")[label] + entries(f) + "\n" for f, label in rows)


def load(case):
    rows = make_rows(case.data)
    features = np.array([f for f, _ in rows])
    if case.model == "logistic":
        features = np.hstack([features, np.ones((len(rows), 1))])
    return features, [label for _, label in rows]


# ---- Running -----------------------------------------------------------------------------------


def starting_point(case):
    if case.start == "zeros":
        return np.zeros(dimension(case))
    return float(case.start.split(":")[1]) * Stream(case.seed, START, 0, 0).normals(dimension(case))


def run(case):
    lines = ["round,agent," + ",".join(f"x_{j}" for j in range(dimension(case)))]
    for t, X in enumerate(ALGORITHMS[case.algorithm](case, load(case), starting_point(case)), start=1):
        if t in ROUNDS:
            lines += [f"{t},{i}," + ",".join(f"{v:.17g}" for v in X[i]) for i in range(len(X))]
    return "\n".join(lines) + "\n"


def check_philox():
    """The known answers published with Random123."""
    ones = MASK32
    assert philox((0, 0, 0, 0), (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    assert philox((ones,) * 4, (ones,) * 2) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    assert philox((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)) == (
        0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)


def check_gradients(case):
    """Central differences: with step 1e-5 they are good to about 1e-10."""
    loss, gradient = (logistic_loss, logistic_gradient) if case.model == "logistic" else (mlp_loss, mlp_gradient)
    features, labels = load(case)
    x = starting_point(case)
    for f, label in zip(features[:4], labels):
        g = gradient(case, x, f, label)
        for j, e in enumerate(1e-5 * np.eye(len(x))):
            slope = (loss(case, x + e, f, label) - loss(case, x - e, f, label)) / 2e-5
            assert abs(slope - g[j]) < 1e-8, (case.name, j, slope, g[j])


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    check_philox()
    for name in ("porter_gc_top_k_smooth", "porter_gc_mlp", "choco_sgd_mlp_tanh"):
        check_gradients(next(case for case in CASES if case.name == name))
    for name in sorted({case.data for case in CASES}):
        write = write_csv if name.endswith(".csv") else write_libsvm
        (folder / name).write_text(write(make_rows(name)))
    np.save(folder / "one_way.npy", one_way_ring(5))
    for case in CASES:
        (folder / f"{case.name}.toml").write_text(to_toml(case))
        (folder / f"{case.name}.csv").write_text(run(case))


if __name__ == "__main__":
    main()
