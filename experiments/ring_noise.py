#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What gossip leaves of noise on a ring with metropolis weights, in closed form.

    python3 experiments/ring_noise.py

First the variance V of docs/correlated-noise.md on a ring of ten at t = 0: independent noise, the best c / s of the
ladder that `optimal` walks, and the best of all covariances. Then, for docs/algorithms.md, what Chebyshev's s steps
on one block leave of noise beside plain steps on s blocks. NumPy alone, nothing of porter.
"""
import numpy as np


def eigenvalues(agents):
    """Of W and of the Laplacian; the first is that of the mean."""
    laplacian = 2 - 2 * np.cos(2 * np.pi * np.arange(agents) / agents)
    return 1 - laplacian / 3, laplacian


def variance(w, laplacian, ratio, steps):
    """V / sigma_eff^2 = mean over eigenvalues of w^(2 steps) (1 + x l) / gain^2, gain^-2 = mean of 1 / (1 + x l)."""
    own_and_shared = 1 + ratio**2 * laplacian
    return np.mean(w ** (2 * steps) * own_and_shared) * np.mean(1 / own_and_shared)


def chebyshev(w, steps):
    """p(w) = T_s(y(w)) / T_s(y(1)), y taking the eigenvalues but for the 1 to [-1, 1]."""
    low, high = min(w[1:]), max(w[1:])
    at_one = (2 - low - high) / (high - low)
    top = np.cosh(steps * np.arccosh(at_one))
    return np.cos(steps * np.arccos(np.clip((2 * w[1:] - low - high) / (high - low), -1, 1))) / top


def main():
    w, laplacian = eigenvalues(10)
    for steps in (1, 3):
        ratios = 2.0 ** np.arange(-4, 6.25, 0.25)
        found = [variance(w, laplacian, ratio, steps) for ratio in ratios]
        best = np.argmin(found)
        least = np.mean(abs(w) ** steps) ** 2
        print(f"{steps} gossip steps: V / sigma_eff^2 independent {variance(w, laplacian, 0, steps):.3f}, "
              f"optimal {found[best]:.3f} at c / s = {ratios[best]:.3g}, best covariance {least:.3f}")

    print()
    for agents, steps in ((10, 4), (30, 4), (30, 8), (30, 16), (100, 16)):
        w, _ = eigenvalues(agents)
        p = chebyshev(w, steps)
        blocks, one = np.mean(1 / (1 - w[1:] ** 2)) / steps, np.mean(1 / (1 - p**2))
        worst = 1 / (1 - w[1] ** 2) / steps * (1 - p[0] ** 2)
        plain = max(abs(w[1:])) ** steps
        print(f"{agents} agents, s = {steps}: alpha^s {plain:.3f}, 1 / T_s(y(1)) {max(abs(p)):.3f}; "
              f"noise of Chebyshev over that of s blocks {one / blocks:.2f}, in the worst direction 1 / {worst:.2f}")


if __name__ == "__main__":
    main()
