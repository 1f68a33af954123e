# SPDX-License-Identifier: Apache-2.0
"""The accountant, without any training: what noise is worth, and how much is needed.

An agent's round is: draw a batch, clip every record's gradient to length `clip`, add them up,
divide by the batch size, add N(0, sigma^2) to every coordinate. `noise_multiplier` is
sigma * batch / clip, the noise on the *sum* in units of one clip.
"""
import math
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from . import _core
from ._errors import UsageError

__all__ = ["Epsilon", "Phase", "audit", "curve", "delta", "epsilon", "noise_multiplier", "plan", "renyi_epsilon", "sigma"]


@dataclass(frozen=True)
class Epsilon:
    """The true epsilon lies between `lower` and `upper`; `upper` is certified. As a number: `upper`."""

    lower: float
    upper: float
    delta: float
    statement: str
    method: str = field(default="", repr=False)

    def __float__(self):
        return self.upper

    def __str__(self):
        return self.statement

    def _repr_html_(self):
        from ._html import note
        return note("Certified", self.statement, good=True)


@dataclass(frozen=True)
class Phase:
    """Rounds of one kind. Give `batch` and `m`, or `q`; `sigma` with `clip`, or `noise_multiplier`."""

    rounds: int
    m: "int | None" = None
    batch: "int | None" = None
    q: "float | None" = None
    sigma: "float | None" = None
    noise_multiplier: "float | None" = None
    clip: float = 1.0
    sampler: str = "fixed"
    adjacency: str = "replace"
    level: str = "record"

    def _check(self):
        for name in ("rounds", "m", "batch"):
            value = getattr(self, name)
            if value is None and name != "rounds":
                continue
            if not isinstance(value, (int, float)) and not hasattr(value, "item") or int(value) != value or value < 1:
                raise UsageError(f"{name}: expected a whole number of at least 1, found {value!r}")
        if not self.clip > 0:
            raise UsageError(f"clip: expected a number above 0, found {self.clip!r}")

    def _multiplier(self):
        if (self.sigma is None) == (self.noise_multiplier is None):
            raise UsageError("expected either sigma or noise_multiplier")
        if self.noise_multiplier is not None:
            return float(self.noise_multiplier)
        batch = self.m if self.sampler == "full" else self.batch
        if batch is None:
            raise UsageError("sigma is on the mean of a batch, so batch is needed; or give noise_multiplier")
        return self.sigma * batch / self.clip

    def _event(self, noise=None):
        self._check()
        if self.sampler == "poisson":
            if self.q is None and (self.m is None or self.batch is None):
                raise UsageError("sampler poisson: expected q, or batch and m")
        elif self.q is not None:
            raise UsageError(f"q is for Poisson sampling: give sampler=\"poisson\"; the sampler is {self.sampler}")
        elif self.m is None or (self.sampler == "fixed" and self.batch is None):
            raise UsageError(f"sampler {self.sampler}: expected m" + (" and batch" if self.sampler == "fixed" else ""))
        return _core.Event(sampler=self.sampler, adjacency=self.adjacency, level=self.level,
                           records=int(self.m or 0), batch=int(self.batch or 0),
                           rate=None if self.q is None else float(self.q),
                           noise_multiplier=self._multiplier() if noise is None else noise, steps=int(self.rounds))


def _tree(event, count=1):
    """The phases of a DpEvent of dp_accounting, known by the names of its classes and attributes."""
    kind = type(event).__name__
    if kind == "NoOpDpEvent":
        return []
    if kind == "ComposedDpEvent":
        return [phase for part in event.events for phase in _tree(part, count)]
    if kind == "SelfComposedDpEvent":
        return _tree(event.event, count * event.count)
    if kind == "GaussianDpEvent":
        return [Phase(rounds=count, q=1.0, sampler="poisson", adjacency="add-remove",
                      noise_multiplier=event.noise_multiplier)]
    if kind == "PoissonSampledDpEvent" and type(event.event).__name__ == "GaussianDpEvent":
        return [Phase(rounds=count, q=event.sampling_probability, sampler="poisson", adjacency="add-remove",
                      noise_multiplier=event.event.noise_multiplier)]
    if kind == "SampledWithoutReplacementDpEvent" and type(event.event).__name__ == "GaussianDpEvent":
        # Its multiplier may mean the distance between neighbours, two clips; one is the safe reading.
        return [Phase(rounds=count, m=event.source_dataset_size, batch=event.sample_size, adjacency="replace",
                      noise_multiplier=event.event.noise_multiplier)]
    raise UsageError(f"{kind}: expected a tree of composed, Poisson-sampled, sampled without replacement and "
                     "Gaussian events")


def _phases(phases, single):
    if phases is None:
        return [Phase(**single)]
    given = [name for name, value in single.items() if value is not None and value != _STANDARD.get(name)]
    if given:
        raise UsageError(f"{given[0]}: it belongs into the phases that are given")
    if type(phases).__name__.endswith("DpEvent"):
        return _tree(phases)
    return [p if isinstance(p, Phase) else Phase(**p) for p in phases]


_STANDARD = {"clip": 1.0, "sampler": "fixed", "adjacency": "replace", "level": "record"}


def _single(rounds, m, batch, q, sigma, noise_multiplier, clip, sampler, adjacency, level):
    return dict(rounds=rounds, m=m, batch=batch, q=q, sigma=sigma, noise_multiplier=noise_multiplier, clip=clip,
                sampler=sampler, adjacency=adjacency, level=level)


def _rounded(value, way):
    """Six digits, to the safe side."""
    if value in (0, math.inf):
        return f"{value:g}"
    place = Decimal(10) ** (Decimal(value).adjusted() - 5)
    return f"{float((Decimal(value) / place).to_integral_value(way) * place):.6g}"


def _neighbours(phase):
    if phase.level == "agent":
        return "all records of an agent"
    if phase.adjacency == "replace":
        return "one record replaced"
    # Rate and divisor that are made from m are the same for both neighbours.
    return "one record added or removed" if phase.m is None else "one record there or zeroed out"


def _sentence(phases, lower, upper, delta):
    if not phases:
        return "nothing is released: epsilon 0"
    rounds = sum(p.rounds for p in phases)
    kinds = "/".join(sorted({p.sampler for p in phases}))
    least = min((p.m for p in phases if p.m is not None), default=None)
    warning = "" if least is None or delta < 1 / least else \
        f"; delta is not below 1/m = {1 / least:g}: whatever epsilon is, that permits publishing a record"
    return (f"certified epsilon in [{_rounded(lower, ROUND_FLOOR)}, {_rounded(upper, ROUND_CEILING)}] at delta = "
            f"{delta:g} ({_neighbours(phases[0])}, {kinds} sampling, {rounds} rounds){warning}")


def epsilon(phases=None, *, delta, rounds=None, m=None, batch=None, q=None, sigma=None, noise_multiplier=None,
            clip=1.0, sampler="fixed", adjacency="replace", level="record"):
    """The epsilon of some rounds at this delta. `phases`: a list of `Phase`, or a DpEvent of dp_accounting.

    >>> epsilon(rounds=1000, m=6000, batch=60, noise_multiplier=2.0, delta=1e-5).upper  # doctest: +ELLIPSIS
    2.1...
    """
    found = _phases(phases, _single(rounds, m, batch, q, sigma, noise_multiplier, clip, sampler, adjacency, level))
    if not found:
        return Epsilon(0.0, 0.0, delta, _sentence(found, 0, 0, delta))
    lower, upper, method = _core.epsilon([p._event() for p in found], delta)
    return Epsilon(lower, upper, delta, _sentence(found, lower, upper, delta), method)


def delta(phases=None, *, epsilon, rounds=None, m=None, batch=None, q=None, sigma=None, noise_multiplier=None,
          clip=1.0, sampler="fixed", adjacency="replace", level="record"):
    """The smallest certified delta at this epsilon."""
    found = _phases(phases, _single(rounds, m, batch, q, sigma, noise_multiplier, clip, sampler, adjacency, level))
    return _core.delta([p._event() for p in found], epsilon) if found else 0.0


def renyi_epsilon(phases=None, *, delta, rounds=None, m=None, batch=None, q=None, sigma=None, noise_multiplier=None,
                  clip=1.0, sampler="fixed", adjacency="replace", level="record"):
    """A looser bound by Renyi differential privacy, computed independently: what many accountants print."""
    found = _phases(phases, _single(rounds, m, batch, q, sigma, noise_multiplier, clip, sampler, adjacency, level))
    return _core.renyi_epsilon([p._event() for p in found], delta) if found else 0.0


def noise_multiplier(*, epsilon, delta, rounds, m=None, batch=None, q=None, clip=1.0, sampler="fixed",
                     adjacency="replace", level="record", before=()):
    """The least noise, sigma * batch / clip, whose certified epsilon is at most this. `before`: phases that were."""
    phase = Phase(rounds=rounds, m=m, batch=batch, q=q, clip=clip, sampler=sampler, adjacency=adjacency, level=level)
    earlier = [p._event() for p in _phases(list(before), {})] if before else []
    return _core.calibrate(phase._event(noise=0.0), epsilon, delta, earlier)


def sigma(*, epsilon, delta, rounds, m=None, batch=None, q=None, clip=1.0, sampler="fixed", adjacency="replace",
          level="record", before=()):
    """The same as the standard deviation on the mean of a batch, as a config's privacy.sigma has it."""
    size = m if sampler == "full" else batch
    if size is None:
        raise UsageError("sigma is on the mean of a batch, so batch is needed; noise_multiplier() needs none")
    z = noise_multiplier(epsilon=epsilon, delta=delta, rounds=rounds, m=m, batch=batch, q=q, clip=clip,
                         sampler=sampler, adjacency=adjacency, level=level, before=before)
    return z * clip / size


def curve(*, delta, rounds, m=None, batch=None, q=None, sigma=None, noise_multiplier=None, clip=1.0,
          sampler="fixed", adjacency="replace", level="record", points=50, before=()):
    """Certified epsilons on the way to `rounds`: two arrays, rounds and epsilon."""
    import numpy as np
    phase = Phase(**_single(rounds, m, batch, q, sigma, noise_multiplier, clip, sampler, adjacency, level))
    event = phase._event()
    at = np.unique(np.linspace(1, rounds, min(points, rounds)).round().astype(int))
    earlier = [p._event() for p in _phases(list(before), {})] if before else []
    return at, np.array(_core.curve(event, delta, earlier, [int(t) for t in at]))


def plan(*, m, agents, dim, epsilon, delta, alpha=0.0, rho=1.0, clip=1.0, sampler="fixed", adjacency="replace",
         batch=None, rounds=None):
    """Batch size, rounds and noise for a budget, as `porter privacy plan`: a dictionary with `recommended`."""
    return _core.plan(m=m, agents=agents, dim=dim, alpha=alpha, rho=rho, epsilon=epsilon, delta=delta, clip=clip,
                      sampler=sampler, adjacency=adjacency, batch=batch, rounds=rounds)


def audit(*, m, batch, sigma, rounds, delta, clip="smooth:1", sampler="fixed", adjacency="replace", claim=None,
          runs=10_000, seed=1):
    """Attacks the mechanism as `porter privacy audit` does: a dictionary with `verdict` and `caught`.

    `claim`: audit this epsilon instead of the certified one, for example another library's.
    """
    return _core.audit(sampler=sampler, adjacency=adjacency, m=m, batch=batch, clip=clip, sigma=sigma, rounds=rounds,
                       delta=delta, claim=claim, runs=runs, seed=seed)
