#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The PORTER-DP round in PyTorch, float32, agents as a batch dimension of every operation, two threads.

The gradient is written out, which beats autograd here, with the algebra that porter uses: per-sample norms from inputs and
deltas, the clipped sum as one weighted product.
"""
import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "2"
os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # spinning threads would steal time from whoever shares the cores

import numpy as np
import peer
import torch

torch.set_num_threads(peer.THREADS)
torch.set_grad_enabled(False)


def clip_weights(p, squared_norms):
    return squared_norms.sqrt_().add_(p.clip).reciprocal_().mul_(p.clip / p.batch)


class LogisticGradient:
    def __init__(self, p):
        self.p = p
        self.rows = torch.from_numpy(p.rows)
        self.signs = torch.from_numpy((2 * p.labels - 1).astype(np.float32))
        self.squares = self.rows.square().sum(dim=1)

    def __call__(self, X, batch, G):
        """G = the mean over the batch of clip(slope f + r), r the gradient of the regulariser."""
        p = self.p
        F, y = self.rows[batch], self.signs[batch]
        r = (2 * p.regulariser) * X / X.square().add_(1).square_()
        products = torch.bmm(F, torch.stack((X, r), dim=2))
        slope = -y * torch.sigmoid(-y * products[:, :, 0])
        squares = slope.square() * self.squares[batch] + 2 * slope * products[:, :, 1]
        w = clip_weights(p, squares.add_(r.square().sum(dim=1, keepdim=True)))
        torch.baddbmm((r * w.sum(dim=1, keepdim=True))[:, None], (w * slope)[:, None], F, out=G[:, None])


class MlpGradient:
    def __init__(self, p):
        self.p = p
        self.rows = torch.from_numpy(p.rows)
        self.labels = torch.from_numpy(p.labels)
        self.squares = self.rows.square().sum(dim=1)

    def __call__(self, X, batch, G):
        p, n = self.p, self.p.agents
        inputs, layers = [self.rows[batch]], []
        for w, c, end, outputs, width in p.layers():
            W = X[:, w:c].view(n, outputs, width)
            z = torch.baddbmm(X[:, None, c:end], inputs[-1], W.transpose(1, 2))
            layers.append((W, w, c, end))
            inputs.append(torch.sigmoid(z))
        delta = torch.softmax(z, dim=2)
        delta.scatter_add_(2, self.labels[batch][:, :, None], delta.new_full((n, p.batch, 1), -1))
        deltas = [delta]
        for (W, *_), a in zip(layers[:0:-1], inputs[-2:0:-1]):
            deltas.append(torch.bmm(deltas[-1], W) * (a * (1 - a)))
        deltas.reverse()
        squares = 0
        for i, delta in enumerate(deltas):
            sizes = self.squares[batch] if i == 0 else inputs[i].square().sum(dim=2)
            squares = squares + (1 + sizes) * delta.square().sum(dim=2)
        weights = clip_weights(p, squares)[:, :, None]
        for (W, w, c, end), a, delta in zip(layers, inputs, deltas):
            delta = delta * weights
            out = G[:, w:c].view(W.shape)
            if p.batch == 1:
                torch.mul(delta[:, 0, :, None], a, out=out)
            else:
                torch.bmm(delta.transpose(1, 2), a, out=out)
            G[:, c:end] = delta.sum(dim=1)


class Subsets:
    """As peer.Subsets: of uniform draws, the first k that differ. torch.randperm takes eight times as long."""

    def __init__(self, rows, k, n):
        self.shape, self.k, self.n = (rows, peer.draws_needed(k, n)), k, n
        self.offsets = torch.arange(rows)[:, None] * n
        self.order = torch.arange(self.shape[1], dtype=torch.int32).repeat(rows)
        self.stamp = torch.empty(rows * n, dtype=torch.int32)

    def draw(self):
        while True:
            at = torch.randint(self.n, self.shape).add_(self.offsets).view(-1)
            self.stamp[at] = self.order
            kept = (self.stamp[at] == self.order).view(self.shape)
            kept &= kept.cumsum(1) <= self.k
            chosen = at[kept.view(-1)]
            if len(chosen) == self.shape[0] * self.k:
                return chosen.view(self.shape[0], self.k)


class Draws:
    def __init__(self, p):
        self.batches = Subsets(p.agents, p.batch, p.samples)
        self.entries = Subsets(2 * p.agents, p.kept, p.dim)

    def batch(self, _round):
        return self.batches.draw()

    def masks(self, _round):
        return self.entries.draw().view(-1)

    def noise(self, _round, out):
        out.normal_()


class FromNumpy:
    """Recorded draws as tensors."""

    def __init__(self, draws):
        self.draws = draws

    def batch(self, t):
        return torch.from_numpy(self.draws.batch(t))

    def masks(self, t):
        return torch.from_numpy(self.draws.masks(t))

    def noise(self, t, out):
        self.draws.noise(t, out.numpy())


class Round:
    def __init__(self, problem, make_draws=None):
        p = self.p = problem
        n, d = p.agents, p.dim
        self.draws = FromNumpy(make_draws(p, np.arange(n))) if make_draws else Draws(p)
        self.gradient = LogisticGradient(p) if p.model == "logistic" else MlpGradient(p)
        gap = p.consensus * (p.mixing - np.eye(n)).T
        self.gap = torch.from_numpy(gap.astype(np.float32))  # gamma (W - I)^T
        # V and X side by side, so that one product mixes both.
        self.S = torch.zeros(n, 2 * d)
        self.V, self.X = self.S[:, :d], self.S[:, d:]
        self.X.copy_(torch.from_numpy(p.start))
        self.Q, self.R = self.S.clone(), torch.empty_like(self.S)
        self.U, self.G, self.N = torch.zeros(3, n, d)

    def step(self, t):
        p, d = self.p, self.p.dim
        entries = self.draws.masks(t)
        self.Q.view(-1)[entries] = self.S.view(-1)[entries]  # Q += C(S - Q)
        self.gradient(self.X, self.draws.batch(t), self.G)
        self.draws.noise(t, self.N)
        self.G.add_(self.N, alpha=p.sigma)
        torch.mm(self.gap, self.Q, out=self.R)
        self.U.add_(self.R[:, :d])
        torch.add(self.U, self.G, out=self.V)
        self.X.add_(self.R[:, d:]).sub_(self.V, alpha=p.step)

    def iterates(self):
        return self.X.numpy()


if __name__ == "__main__":
    peer.main(f"PyTorch {torch.__version__}", Round)
