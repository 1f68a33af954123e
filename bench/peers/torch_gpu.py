#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The round in PyTorch on a GPU, float32, agents as a batch dimension: torch.compile, replayed in a CUDA graph.

torch_gpu.py FOLDER N...: whether it comes to what the engine does (gpu_problem.Expected), then µs a round for N agents.
"""
import statistics
import sys
import time

import numpy as np
import torch
from gpu_problem import (DIM, ETA, GAMMA, HIDDEN, INPUTS, KEPT, OUTPUTS, SIGMA, SLACK, TAU, WEIGHTS, Expected, neighbours)

torch.set_grad_enabled(False)
DEVICE = "cuda"


class Round:
    def __init__(self, n, data, labels, index, weight, start):
        self.n, self.per_agent = n, len(data) // n
        self.data, self.labels, self.squares = data, labels, data.square().sum(1)
        self.index, self.weight = index, GAMMA * weight
        self.state = torch.zeros(n, 2, DIM, device=DEVICE)  # V and X
        self.state[:, 1] = start
        self.Q = torch.zeros(n * 2 * DIM + 1, device=DEVICE)  # the last takes what is not kept
        self.Q[:-1].view(n, 2, DIM)[:, 1] = start
        self.U = torch.zeros(n, DIM, device=DEVICE)
        draws = KEPT + SLACK
        self.order = torch.arange(draws, device=DEVICE, dtype=torch.int32).expand(2 * n, draws)
        self.offsets = (torch.arange(2 * n, device=DEVICE) * DIM)[:, None]
        self.stamp = torch.empty(2 * n * DIM, dtype=torch.int32, device=DEVICE)
        self.first = torch.arange(n, device=DEVICE) * self.per_agent

    def draw_mask(self):
        at = torch.randint(DIM, self.order.shape, device=DEVICE) + self.offsets
        self.stamp[at] = self.order
        kept = self.stamp[at] == self.order
        kept &= kept.cumsum(1, dtype=torch.int32) <= KEPT
        return torch.where(kept, at, 2 * self.n * DIM)

    def factors(self, row):
        X = self.state[:, 1]
        a0, label = self.data[row], self.labels[row]
        W1, c1 = X[:, :WEIGHTS].view(-1, HIDDEN, INPUTS), X[:, WEIGHTS : WEIGHTS + HIDDEN]
        W2, c2 = X[:, WEIGHTS + HIDDEN : DIM - OUTPUTS].view(-1, OUTPUTS, HIDDEN), X[:, DIM - OUTPUTS :]
        a1 = torch.sigmoid(torch.bmm(W1, a0[:, :, None])[:, :, 0] + c1)
        scores = torch.bmm(W2, a1[:, :, None])[:, :, 0] + c2
        d2 = torch.softmax(scores, 1) - torch.nn.functional.one_hot(label, OUTPUTS)
        d1 = torch.bmm(d2[:, None], W2)[:, 0] * (a1 * (1 - a1))
        square = d1.square().sum(1) * (1 + self.squares[row]) + d2.square().sum(1) * (1 + a1.square().sum(1))
        scale = (TAU / (TAU + square.sqrt()))[:, None]
        return a0, a1, d1 * scale, d2 * scale

    def gaps(self):
        Q = self.Q[:-1].view(self.n, 2 * DIM)
        sums = self.weight[:, 0, None] * Q[self.index[:, 0]]
        for column in range(1, self.index.shape[1]):
            sums = sums + self.weight[:, column, None] * Q[self.index[:, column]]
        return sums.view(self.n, 2, DIM)

    def apply(self, at, row, noise):
        self.Q[at] = self.state.view(-1)[torch.where(at < 2 * self.n * DIM, at, 0)]
        a0, a1, d1, d2 = self.factors(row)
        n = self.n
        g = torch.cat(((d1[:, :, None] * a0[:, None]).view(n, -1), d1, (d2[:, :, None] * a1[:, None]).view(n, -1), d2), 1)
        gaps = self.gaps()
        u = self.U + gaps[:, 0]
        v = u + (g + SIGMA * noise)
        x = self.state[:, 1] + gaps[:, 1] - ETA * v
        self.U.copy_(u)
        self.state[:, 0] = v
        self.state[:, 1] = x

    def step(self):
        row = self.first + torch.randint(self.per_agent, (self.n,), device=DEVICE)
        self.apply(self.draw_mask(), row, torch.randn(self.n, DIM, device=DEVICE))


def check(folder):
    want = Expected(folder)
    cuda = lambda array: torch.from_numpy(array).to(DEVICE)
    peer = Round(want.agents, cuda(want.data), cuda(want.labels), cuda(want.index), cuda(want.weight), cuda(want.start))
    apply = torch.compile(peer.apply, dynamic=False)
    for r in range(want.rounds):
        at = cuda(want.masks[r].reshape(2 * want.agents, KEPT)) + peer.offsets
        apply(at, cuda(want.rows[r]), cuda(want.noise[r]))
    print(f"torch differs by {want.error(peer.state[:, 1].cpu().numpy()):.2e}", flush=True)


def time_round(n):
    rows = 6 * n
    data = torch.rand(rows, INPUTS, device=DEVICE) * (torch.rand(rows, INPUTS, device=DEVICE) < 0.25)
    labels = torch.randint(OUTPUTS, (rows,), device=DEVICE)
    index, weight = (torch.from_numpy(array).to(DEVICE) for array in neighbours(n))
    peer = Round(n, data, labels, index, weight, 0.3 * torch.randn(DIM, device=DEVICE))
    step = torch.compile(peer.step, dynamic=False)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    side.synchronize()
    graph, unrolled = torch.cuda.CUDAGraph(), 8
    with torch.cuda.graph(graph):
        for _ in range(unrolled):
            step()
    times = []
    for _ in range(9):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(4):
            graph.replay()
        torch.cuda.synchronize()
        times.append(1e6 * (time.perf_counter() - begin) / (4 * unrolled))
    finite = bool(np.isfinite(peer.state.sum().item()))
    print(f"torch n={n}: {statistics.median(times[2:]):.1f} us a round, {'finite' if finite else 'NOT FINITE'}", flush=True)


if __name__ == "__main__":
    check(sys.argv[1])
    for agents in sys.argv[2:]:
        torch._dynamo.reset()
        time_round(int(agents))
