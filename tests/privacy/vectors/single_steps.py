# SPDX-License-Identifier: Apache-2.0
"""Writes single_steps.csv: the hockey-stick divergence of one step, to 60 digits (mpmath), at random and extreme
parameters. q, mu and epsilon are doubles, written so that they read back exactly; delta is the truth rounded to 25 digits.

    remove    (1-q) N(0,1) + q N(mu,1) against N(0,1)
    add       the opposite direction
    replace   (1-q) N(0,1) + q N(mu,1) against (1-q) N(0,1) + q N(-mu,1)
    gaussian  N(mu,1) against N(0,1)

Every divergence is P(X > x) - exp(epsilon) Q(X > x) at the x where the densities' ratio is exp(epsilon), by bisection
of the ratio itself: no formula of the library is used.
"""
import random
import sys

from mpmath import mp, mpf, erfc, exp, log, sqrt

mp.dps = 60


def tail(x):
    return erfc(x / sqrt(2)) / 2


def log_mixture(q, t):  # log(1 - q + q exp(t))
    return log((1 - q) + q * exp(t)) if t < 0 else t + log(q + (1 - q) * exp(-t))


def loss(kind, q, mu, x):
    up = log_mixture(q, mu * x - mu * mu / 2)
    return up - log_mixture(q, -mu * x - mu * mu / 2) if kind == "replace" else up


def threshold(kind, q, mu, e):
    low = high = mpf(0)
    step = mpf(1)
    while loss(kind, q, mu, high) < e:
        high += step
        step *= 2
    step = mpf(1)
    while loss(kind, q, mu, low) > e:
        low -= step
        step *= 2
        if step > mpf(10) ** 12:
            return None
    for _ in range(260):
        middle = (low + high) / 2
        if loss(kind, q, mu, middle) < e:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def delta(kind, q, mu, e):
    if kind == "add":  # Q(X < x) - exp(e) P(X < x) where log(dP/dQ) = -e
        x = threshold("remove", q, mu, -e)
        if x is None:
            return mpf(0)
        return tail(-x) - exp(e) * ((1 - q) * tail(-x) + q * tail(mu - x))
    x = threshold(kind, q, mu, e)
    above = (1 - q) * tail(x) + q * tail(x - mu)
    below = (1 - q) * tail(x) + q * tail(x + mu) if kind == "replace" else tail(x)
    return above - exp(e) * below


def main():
    random.seed(20)
    log_uniform = lambda low, high: low * (high / low) ** random.random()
    cases = [("replace", 0.01, 100.0, 1000.0), ("replace", 0.01, 100.0, 5303.0), ("replace", 0.01, 100.0, 709.0)]
    while len(cases) < 600:
        kind = random.choice(["remove", "replace", "gaussian", "gaussian", "add"])
        q = 1.0 if kind == "gaussian" else random.choice([log_uniform(1e-9, 1), log_uniform(1e-3, 1)])
        mu = random.choice([log_uniform(1e-6, 1e-2), log_uniform(1e-2, 10), log_uniform(10, 3000)])
        # Epsilons at which delta is neither next to q nor next to nothing.
        spread = random.uniform(-6, 15)
        centre = mu * mu / 2 * (1 if random.random() < 0.8 else random.random())
        e = abs(centre + spread * mu) * random.choice([1, 1, q])
        if kind == "add":
            e = random.random() * min(e, -float(log(1 - mpf(q))) if q < 1 else e)
        cases.append((kind, q, mu, e))
    print("kind,q,mu,epsilon,delta")
    for kind, q, mu, e in cases:
        value = delta(kind if kind != "gaussian" else "remove", mpf(q), mpf(mu), mpf(e))
        if value > mpf(10) ** -290:
            print(f"{kind},{q!r},{mu!r},{e!r},{mp.nstr(value, 25)}")


if __name__ == "__main__":
    sys.exit(main())
