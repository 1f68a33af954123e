# SPDX-License-Identifier: Apache-2.0
"""The accountant from Python."""
import math
from dataclasses import dataclass

import numpy as np
import pytest

import porterdp
from porterdp import privacy

SETTING = dict(rounds=100, m=6000, batch=60, noise_multiplier=2.0)


def gaussian_delta(epsilon, mu):
    """Of one Gaussian mechanism whose means are mu standard deviations apart (Balle and Wang, 2018)."""
    phi = lambda t: math.erfc(-t / math.sqrt(2)) / 2
    return phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)


def test_a_full_batch_is_the_gaussian_mechanism():
    z = 5.0  # replaced records move the sum by two clips
    found = privacy.epsilon(rounds=1, m=100, sampler="full", noise_multiplier=z, delta=1e-5)
    assert found.lower <= found.upper
    assert gaussian_delta(found.upper, 2 / z) <= 1e-5
    assert gaussian_delta(found.lower, 2 / z) >= 1e-5 * (1 - 1e-6)
    assert privacy.delta(epsilon=1.0, rounds=1, m=100, sampler="full", noise_multiplier=z) == pytest.approx(
        gaussian_delta(1.0, 2 / z), rel=1e-3)


def test_sigma_is_on_the_mean():
    by_sigma = privacy.epsilon(rounds=100, m=6000, batch=60, sigma=2.0 * 0.5 / 60, clip=0.5, delta=1e-5)
    assert by_sigma.upper == pytest.approx(privacy.epsilon(**SETTING, delta=1e-5).upper, rel=1e-9)


def test_noise_is_the_least_that_suffices():
    z = privacy.noise_multiplier(epsilon=1.0, delta=1e-5, rounds=100, m=6000, batch=60)
    at = lambda multiplier: privacy.epsilon(rounds=100, m=6000, batch=60, noise_multiplier=multiplier, delta=1e-5).upper
    assert at(z) <= 1.0 < at(z * 0.999)
    assert privacy.sigma(epsilon=1.0, delta=1e-5, rounds=100, m=6000, batch=60, clip=0.5) == z * 0.5 / 60


def test_phases_add_up():
    phases = [dict(SETTING), privacy.Phase(rounds=50, m=6000, batch=600, noise_multiplier=8.0)]
    both = privacy.epsilon(phases, delta=1e-5)
    alone = [privacy.epsilon([p], delta=1e-5).upper for p in phases]
    assert max(alone) < both.upper < sum(alone)
    assert "150 rounds" in both.statement
    earlier = privacy.noise_multiplier(epsilon=3.0, delta=1e-5, rounds=50, m=6000, batch=60, before=phases[:1])
    assert privacy.epsilon([phases[0], dict(rounds=50, m=6000, batch=60, noise_multiplier=earlier)],
                           delta=1e-5).upper <= 3.0


def test_a_curve_grows_to_the_end():
    rounds, epsilons = privacy.curve(**SETTING, delta=1e-5, points=10)
    assert rounds[0] == 1 and rounds[-1] == 100
    assert np.all(np.diff(epsilons) > 0)
    assert epsilons[-1] == pytest.approx(privacy.epsilon(**SETTING, delta=1e-5).upper)


@dataclass
class GaussianDpEvent:
    noise_multiplier: float


@dataclass
class PoissonSampledDpEvent:
    sampling_probability: float
    event: object


@dataclass
class SampledWithoutReplacementDpEvent:
    source_dataset_size: int
    sample_size: int
    event: object


@dataclass
class SelfComposedDpEvent:
    event: object
    count: int


@dataclass
class ComposedDpEvent:
    events: list


@dataclass
class LaplaceDpEvent:
    noise_multiplier: float


def test_reads_trees_of_events():
    tree = SelfComposedDpEvent(PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0)), 500)
    same = dict(rounds=500, q=0.01, sampler="poisson", adjacency="add-remove", noise_multiplier=1.0)
    assert privacy.epsilon(tree, delta=1e-5).upper == privacy.epsilon(**same, delta=1e-5).upper
    twice = ComposedDpEvent([SelfComposedDpEvent(tree, 2), tree])
    assert privacy.epsilon(twice, delta=1e-5).upper == pytest.approx(
        privacy.epsilon(**{**same, "rounds": 1500}, delta=1e-5).upper, rel=1e-3)
    without = SampledWithoutReplacementDpEvent(6000, 60, GaussianDpEvent(2.0))
    assert privacy.epsilon(SelfComposedDpEvent(without, 100), delta=1e-5).upper == privacy.epsilon(
        **SETTING, delta=1e-5).upper
    with pytest.raises(ValueError, match="LaplaceDpEvent"):
        privacy.epsilon(LaplaceDpEvent(1.0), delta=1e-5)


def test_statements_round_against_us():
    found = privacy.epsilon(**SETTING, delta=1e-5)
    printed = float(str(found).split(", ")[1].split("]")[0])
    assert printed >= found.upper and printed == pytest.approx(found.upper, rel=1e-5)
    least = float(str(found).split("[")[1].split(",")[0])
    assert least <= found.lower and least == pytest.approx(found.lower, rel=1e-5)
    assert "publishing a record" in str(privacy.epsilon(**SETTING, delta=1e-3))
    assert "zeroed out" in str(privacy.epsilon(**SETTING, sampler="poisson", adjacency="add-remove", delta=1e-5))
    assert privacy.renyi_epsilon(**SETTING, delta=1e-5) > found.upper
    assert float(found) == found.upper
    assert "Certified" in found._repr_html_()


@pytest.mark.parametrize("wrong, text", [
    (dict(rounds=10, m=100, batch=10), "either sigma or noise_multiplier"),
    (dict(rounds=10, m=100, noise_multiplier=1.0), "expected m and batch"),
    (dict(rounds=10, m=100, batch=10, q=0.1, noise_multiplier=1.0), "Poisson"),
    (dict(rounds=10, sampler="poisson", noise_multiplier=1.0), "expected q"),
    (dict(m=100, batch=10, noise_multiplier=1.0), "rounds"),
    (dict(rounds="1e3", m=100, batch=10, noise_multiplier=1.0), "rounds"),
    (dict(rounds=10, m=100, batch=10, sigma=1.0, clip=0), "clip"),
    (dict(phases=[SETTING], sampler="poisson"), "sampler: it belongs into the phases"),
    (dict(rounds=1.5, m=100, batch=10, noise_multiplier=1.0), "whole number"),
    (dict(rounds=10, m=100, batch=10, noise_multiplier=1.0, sampler="sometimes"), "fixed, poisson, full"),
    (dict(rounds=10, m=100, batch=200, noise_multiplier=1.0), "batch"),
])
def test_says_what_is_wrong(wrong, text):
    with pytest.raises(porterdp.Error, match=text) as raised:
        privacy.epsilon(**wrong, delta=1e-5)
    assert isinstance(raised.value, ValueError) and raised.value.kind == "usage"


def test_plans():
    plan = privacy.plan(m=2000, agents=10, dim=124, epsilon=2.0, delta=1e-5)
    chosen = plan["recommended"]
    assert privacy.epsilon(rounds=chosen["rounds"], m=2000, batch=chosen["batch"], sigma=chosen["sigma"],
                           delta=1e-5).upper <= 2.0


def test_audits():
    setting = dict(m=5, batch=5, sampler="full", sigma=0.2, clip="linear:1", rounds=2, delta=1e-3, runs=10_000)
    assert not privacy.audit(**setting)["caught"]
    assert privacy.audit(**setting, claim=0.5)["caught"]
