#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The round in JAX on a GPU, float32: many rounds in one jitted fori_loop.

jax_gpu.py FOLDER N...: whether it comes to what the engine does (gpu_problem.Expected), then µs a round for N agents.
"""
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.6")
import jax
import jax.numpy as jnp
from gpu_problem import (DIM, ETA, GAMMA, HIDDEN, INPUTS, KEPT, OUTPUTS, SIGMA, SLACK, TAU, WEIGHTS, Expected, neighbours)


def make_apply(n, data, labels, index, weight):
    """The round of given draws: columns n x KEPT or more of V and X (DIM: none), samples, noise."""
    data, labels, index, weight = (jnp.asarray(array) for array in (data, labels, index, GAMMA * weight))
    agents = jnp.arange(n)[:, None]

    def publish(Q, state, columns):
        return Q.at[agents, columns].set(jnp.take_along_axis(state, jnp.minimum(columns, DIM - 1), 1), mode="drop")

    def apply(state, columns_v, columns_x, row, noise):
        U, V, X, Qv, Qx = state
        Qv, Qx = publish(Qv, V, columns_v), publish(Qx, X, columns_x)
        a0, label = data[row], labels[row]
        W1, c1 = X[:, :WEIGHTS].reshape(n, HIDDEN, INPUTS), X[:, WEIGHTS : WEIGHTS + HIDDEN]
        W2, c2 = X[:, WEIGHTS + HIDDEN : DIM - OUTPUTS].reshape(n, OUTPUTS, HIDDEN), X[:, DIM - OUTPUTS :]
        a1 = jax.nn.sigmoid(jnp.einsum("nhi,ni->nh", W1, a0) + c1)
        d2 = jax.nn.softmax(jnp.einsum("noh,nh->no", W2, a1) + c2) - jax.nn.one_hot(label, OUTPUTS)
        d1 = jnp.einsum("no,noh->nh", d2, W2) * a1 * (1 - a1)
        square = (d1**2).sum(1) * (1 + (a0**2).sum(1)) + (d2**2).sum(1) * (1 + (a1**2).sum(1))
        scale = (TAU / (TAU + jnp.sqrt(square)))[:, None]
        d1, d2 = d1 * scale, d2 * scale
        g = jnp.concatenate(
            ((d1[:, :, None] * a0[:, None]).reshape(n, -1), d1, (d2[:, :, None] * a1[:, None]).reshape(n, -1), d2), 1
        )
        mix = lambda Q: sum(weight[:, c, None] * Q[index[:, c]] for c in range(index.shape[1]))
        U = U + mix(Qv)
        V = U + (g + SIGMA * noise)
        return U, V, X + mix(Qx) - ETA * V, Qv, Qx

    return apply


def start_state(n, start):
    zeros = lambda: jnp.zeros((n, DIM), jnp.float32)
    X = jnp.broadcast_to(start, (n, DIM))
    return zeros(), zeros(), X + 0, zeros(), X + 0


def check(folder):
    want = Expected(folder)
    apply = jax.jit(make_apply(want.agents, want.data, want.labels, want.index, want.weight))
    state = start_state(want.agents, jnp.asarray(want.start))
    with jax.default_matmul_precision("float32"):
        for r in range(want.rounds):
            masks = jnp.asarray(want.masks[r])
            state = apply(state, masks[:, 0], masks[:, 1], jnp.asarray(want.rows[r]), jnp.asarray(want.noise[r]))
    print(f"jax differs by {want.error(state[2]):.2e}", flush=True)


def time_round(n):
    rows, key = 6 * n, jax.random.key(0)
    data = jax.random.uniform(key, (rows, INPUTS)) * (jax.random.uniform(jax.random.key(1), (rows, INPUTS)) < 0.25)
    labels = jax.random.randint(key, (rows,), 0, OUTPUTS)
    apply = make_apply(n, data, labels, *neighbours(n))
    draws = KEPT + SLACK
    order = jnp.broadcast_to(jnp.arange(draws, dtype=jnp.int32), (2 * n, draws))
    offsets = (jnp.arange(2 * n, dtype=jnp.int32) * DIM)[:, None]

    def step(t, state):
        masks, picks, noise = jax.random.split(jax.random.fold_in(key, t), 3)
        at = jax.random.randint(masks, (2 * n, draws), 0, DIM, dtype=jnp.int32)
        stamp = jnp.full((2 * n * DIM,), -1, jnp.int32).at[at + offsets].max(order)
        kept = stamp[at + offsets] == order
        kept &= jnp.cumsum(kept, 1) <= KEPT
        columns = jnp.where(kept, at, DIM)
        row = jnp.arange(n) * 6 + jax.random.randint(picks, (n,), 0, 6)
        return apply(state, columns[:n], columns[n:], row, jax.random.normal(noise, (n, DIM)))

    rounds = 64 if n <= 100 else 16
    many = jax.jit(lambda t, s: jax.lax.fori_loop(t, t + rounds, step, s), donate_argnums=1)
    state = jax.block_until_ready(many(0, start_state(n, 0.3 * jax.random.normal(key, (DIM,)))))
    times = []
    for turn in range(1, 8):
        begin = time.perf_counter()
        state = jax.block_until_ready(many(turn * rounds, state))
        times.append(1e6 * (time.perf_counter() - begin) / rounds)
    finite = bool(jnp.isfinite(state[2]).all())
    print(f"jax n={n}: {statistics.median(times[1:]):.1f} us a round, {'finite' if finite else 'NOT FINITE'}", flush=True)


if __name__ == "__main__":
    check(sys.argv[1])
    for agents in sys.argv[2:]:
        time_round(int(agents))
