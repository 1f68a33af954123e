#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The PORTER-DP round in NumPy, float32, as fast as we could write it.

Agents are a batch dimension of every operation. As in porter, V is kept as U + G, per-sample norms come from inputs and
deltas, and the clipped sum is one weighted product; random_k sets Q to the state at the entries that travel.

Plain, one Python thread and a BLAS with two. With the last argument "--threaded" the agents are halved between two
Python threads (NumPy lets go of the interpreter lock inside its loops), each with a single-threaded BLAS.
"""
import os
import sys

THREADED = sys.argv[-1] == "--threaded"
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1" if THREADED else "2"

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import peer


def clip_weights(p, squared_norms):
    return (p.clip / (p.clip + np.sqrt(squared_norms)) / p.batch).astype(np.float32)


class LogisticGradient:
    def __init__(self, p):
        self.p = p
        self.squares = np.einsum("rj,rj->r", p.rows, p.rows)
        self.signs = (2 * p.labels - 1).astype(np.float32)

    def __call__(self, X, batch, G):
        """G = the mean over the batch of clip(slope f + r), r the gradient of the regulariser."""
        p = self.p
        F, y = p.rows[batch], self.signs[batch]
        r = (2 * p.regulariser) * X / np.square(1 + np.square(X))
        slope = -y / (1 + np.exp(y * np.matmul(F, X[:, :, None])[:, :, 0]))
        products = np.matmul(F, r[:, :, None])[:, :, 0]
        squares = np.square(slope) * self.squares[batch] + 2 * slope * products
        w = clip_weights(p, squares + np.einsum("nj,nj->n", r, r)[:, None])
        np.multiply(r, w.sum(axis=1, keepdims=True), out=G)
        G += np.matmul((w * slope)[:, None, :], F)[:, 0]


class MlpGradient:
    def __init__(self, p):
        self.p = p
        self.squares = np.einsum("rj,rj->r", p.rows, p.rows)

    def __call__(self, X, batch, G):
        p, n = self.p, len(X)
        inputs, layers = [p.rows[batch]], []
        for w, c, end, outputs, width in p.layers():
            W = X[:, w:c].reshape(n, outputs, width)
            z = np.matmul(inputs[-1], W.transpose(0, 2, 1)) + X[:, None, c:end]
            layers.append((W, w, c, end))
            inputs.append(1 / (1 + np.exp(-z)))
        delta = np.exp(z - z.max(axis=2, keepdims=True))
        delta /= delta.sum(axis=2, keepdims=True)
        delta[np.arange(n)[:, None], np.arange(p.batch), p.labels[batch]] -= 1
        deltas = [delta]
        for (W, *_), a in zip(layers[:0:-1], inputs[-2:0:-1]):
            deltas.append(np.matmul(deltas[-1], W) * (a * (1 - a)))
        deltas.reverse()
        squares = 0
        for i, delta in enumerate(deltas):
            a = inputs[i]
            sizes = self.squares[batch] if i == 0 else np.einsum("nbj,nbj->nb", a, a)
            squares = squares + (1 + sizes) * np.einsum("nbj,nbj->nb", delta, delta)
        weights = clip_weights(p, squares)[:, :, None]
        for (W, w, c, end), a, delta in zip(layers, inputs, deltas):
            delta = delta * weights
            out = G[:, w:c].reshape(W.shape)
            if p.batch == 1:
                np.multiply(delta[:, 0, :, None], a, out=out)
            else:
                np.matmul(delta.transpose(0, 2, 1), a, out=out)
            G[:, c:end] = delta.sum(axis=1)


class Round:
    def __init__(self, problem, make_draws=None):
        p = self.p = problem
        n, d = p.agents, p.dim
        threads = peer.THREADS if THREADED else 1
        self.pool = ThreadPoolExecutor(threads)
        agents = np.array_split(np.arange(n), threads)
        self.own = [slice(a[0], a[-1] + 1) for a in agents]  # of each thread
        self.columns = [slice(2 * d * i // threads, 2 * d * (i + 1) // threads) for i in range(threads)]
        self.draws = [make_draws(p, a) if make_draws else peer.Draws(p, a, seed) for seed, a in enumerate(agents)]
        self.gradient = LogisticGradient(p) if p.model == "logistic" else MlpGradient(p)
        self.gap = (p.consensus * (p.mixing - np.eye(n)).T).astype(np.float32)  # gamma (W - I)^T
        # V and X side by side, so that one product mixes both.
        self.S = np.zeros((n, 2 * d), np.float32)
        self.S[:, d:] = p.start
        self.Q, self.R = self.S.copy(), np.empty_like(self.S)
        self.V, self.X = self.S[:, :d], self.S[:, d:]
        self.U, self.G, self.N = (np.zeros((n, d), np.float32) for _ in range(3))

    def on_threads(self, work):
        if THREADED:
            list(self.pool.map(work, range(len(self.own))))
        else:
            work(0)

    def step(self, t):
        self.on_threads(lambda i: self.local(i, t))
        self.on_threads(self.mix)
        self.on_threads(self.update)

    def local(self, i, t):
        own, draws = self.own[i], self.draws[i]
        entries = draws.masks(t)
        self.Q[own].ravel()[entries] = self.S[own].ravel()[entries]  # Q += C(S - Q)
        G, N = self.G[own], self.N[own]
        self.gradient(self.X[own], draws.batch(t), G)
        draws.noise(t, N)
        N *= np.float32(self.p.sigma)
        G += N

    def mix(self, i):
        np.matmul(self.gap, self.Q[:, self.columns[i]], out=self.R[:, self.columns[i]])

    def update(self, i):
        d = self.p.dim
        own = self.own[i]
        V, X, U, G, R = self.V[own], self.X[own], self.U[own], self.G[own], self.R[own]
        U += R[:, :d]
        np.add(U, G, out=V)
        X += R[:, d:]
        np.multiply(V, np.float32(self.p.step), out=G)
        X -= G

    def iterates(self):
        return self.X


if __name__ == "__main__":
    peer.main(f"NumPy {np.__version__}{', threaded' if THREADED else ''}", Round)
