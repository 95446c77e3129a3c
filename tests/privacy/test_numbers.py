"""Means: epsilon by enumeration, unbiased estimates, and the variance that is stated."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.randomizers import randomizer_for
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Hybrid,
    OneBitMean,
    Piecewise,
)
from deniable_shared.mechanisms.numbers.numeric import RESOLUTION
from tests.privacy.conformance import MechanismConformance, secret_of, seeded
from tests.privacy.specs import number
from tests.privacy.walking import distribution

pytestmark = pytest.mark.audit

ENDS = (0.0, 1.0)


class MeanConformance(MechanismConformance):
    """One mean instead of several shares; its variance contains the spread of the values.

    So the values of a repetition's devices are the same, and what is left is the noise.
    """

    @classmethod
    def truth(cls):
        return np.array([np.mean(cls.population)])

    @classmethod
    def estimated(cls, tally, counts):
        mean = tally.mean(counts)
        return np.array([mean.mean]), np.array([mean.variance])

    @classmethod
    def value_of(cls, spec, report):
        """What a report of the channel stands for."""
        return spec.mechanism.outcome_values()[int.from_bytes(report, "big")]

    def test_the_mechanism_states_the_variance_of_its_estimates(self, outcomes):
        stated = self.spec.mechanism.variance(self.population[0], len(self.population))
        assert outcomes[1].mean() == pytest.approx(stated, rel=0.05)

    @pytest.mark.statistics
    def test_the_outcomes_average_to_the_value_and_spread_as_stated(self):
        """Exactly, from the enumerated channel, at values on and between the points of a grid."""
        for spec, _, _ in self.small:
            for value in (0.0, 0.3, 0.5, 0.875, 1.0):
                channel = self.channel(spec, value)
                drawn = [self.value_of(spec, report) for report in channel]
                weights = [float(weight) for weight in channel.values()]
                mean = math.fsum(w * v for w, v in zip(weights, drawn, strict=True))
                square = math.fsum(w * (v - mean) ** 2 for w, v in zip(weights, drawn, strict=True))
                assert mean == pytest.approx(value, abs=2 / RESOLUTION)
                assert square == pytest.approx(spec.mechanism.variance(value, 1), rel=1e-5)


class TestOneBitMean(MeanConformance):
    small = [
        (number(OneBitMean.for_epsilon(Fraction(epsilon))), Fraction(epsilon), (*ENDS, 0.3))
        for epsilon in ("0.5", "1", "3", "5")
    ]
    spec = number(OneBitMean.for_epsilon(Fraction(1)))
    population = [0.8] * 100
    items = ["mean"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        return OneBitMean.for_epsilon(Fraction(mechanism.epsilon) / factor)

    def out_of_range(self):
        return [b"\x02", b"\xff"]


class TestPiecewise(MeanConformance):
    small = [
        (number(Piecewise.with_shape(size, window, Fraction(epsilon))), Fraction(epsilon), ENDS)
        for size, window, epsilon in [(9, 5, "1"), (2, 1, "0.5"), (5, 9, "2")]
    ] + [(number(Piecewise.for_epsilon(Fraction(1))), Fraction(1), (*ENDS, 0.5))]
    spec = number(Piecewise.for_epsilon(Fraction("1.5")))
    population = [0.7] * 100
    items = ["mean"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        epsilon = Fraction(mechanism.epsilon) / factor
        return Piecewise.with_shape(mechanism.size, mechanism.window, epsilon)

    def out_of_range(self):
        return [self.spec.mechanism.outcomes.to_bytes(2, "big"), b"\xff\xff"]


def hybrid(epsilon, size, window):
    whole = Hybrid.for_epsilon(Fraction(epsilon))
    return replace(whole, inner=Piecewise.with_shape(size, window, Fraction(epsilon)))


class TestHybrid(MeanConformance):
    small = [
        (number(hybrid(epsilon, 9, 5)), Fraction(epsilon), (*ENDS, 0.25))
        for epsilon in ("0.7", "1", "3")
    ]
    spec = number(Hybrid.for_epsilon(Fraction("1.5")))
    population = [0.25] * 100
    items = ["mean"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        epsilon, inner = Fraction(mechanism.epsilon) / factor, mechanism.inner
        other = hybrid(epsilon, inner.size, inner.window)
        return replace(other, heads=mechanism.heads)

    def out_of_range(self):
        return [self.spec.mechanism.outcomes.to_bytes(2, "big"), b"\xff\xff"]


class NoiseConformance(MeanConformance):
    """Outcomes are compared by steps above the range's lower end: the reach varies with noise."""

    known = {}

    @staticmethod
    def centred(spec, outcomes):
        reach = spec.mechanism.reach
        return {
            (int.from_bytes(report, "big") - reach).to_bytes(2, "big", signed=True): weight
            for report, weight in outcomes.items()
        }

    @classmethod
    def channel(cls, spec, value):
        key = spec.mechanism, value
        if key not in cls.known:
            cls.known[key] = cls.centred(spec, super().channel(spec, value))
        return cls.known[key]

    @classmethod
    def value_of(cls, spec, report):
        return int.from_bytes(report, "big", signed=True) / spec.mechanism.steps

    def sampled(self, spec, value, samples):
        return self.centred(spec, super().sampled(spec, value, samples))

    def p_value(self, counts, exact):
        return super().p_value(counts, exact) if counts.keys() <= exact.keys() else 0.0

    def out_of_range(self):
        return [self.spec.mechanism.outcomes.to_bytes(2, "big"), b"\xff\xff"]


class TestDiscreteLaplace(NoiseConformance):
    small = [
        (number(DiscreteLaplace(steps=steps, scale=scale)), Fraction(steps, scale), ENDS)
        for steps, scale in [(10, 10), (12, 6)]
    ]
    spec = number(DiscreteLaplace.for_epsilon(Fraction(2)))
    population = [0.4321] * 40
    items = ["mean"]
    rounding = Fraction(1, 1 << 40)

    @classmethod
    def with_noise(cls, mechanism, factor):
        return replace(mechanism, scale=max(1, round(mechanism.scale * factor * 10) // 10))


class TestDiscreteGaussian(NoiseConformance):
    """Its epsilon is not pure: delta is what is exceeded, and that is enumerated instead."""

    small = [(number(DiscreteGaussian(steps=3, noise=285, nanonats=10**9)), Fraction(1), ENDS)]
    spec = number(DiscreteGaussian.for_epsilon(Fraction(2), Fraction(1, 10**6)))
    population = [0.4321] * 40
    items = ["mean"]
    rounding = Fraction(1, 1 << 40)

    @classmethod
    def with_noise(cls, mechanism, factor):
        return replace(mechanism, noise=int(mechanism.noise * factor**2))

    def test_epsilon_is_never_above_the_declared_one_and_within_a_thousandth_of_it(self):
        for spec, declared, values in self.small:
            channels = [self.channel(spec, value) for value in values]
            growth = math.exp(declared)
            for one, other in (channels, channels[::-1]):
                exceeding = math.fsum(
                    max(0.0, float(weight) - growth * float(other[report]))
                    for report, weight in one.items()
                )
                stated = spec.mechanism.delta
                assert stated * (1 - 1e-6) <= exceeding <= stated


def test_more_reports_than_delta_says_reveal_more_than_epsilon_and_little_more():
    """Epsilon 1 and delta 1e-6: one report in 50,000, by 0.05 on average; delta is what exceeds."""
    classes = DiscreteGaussian.for_epsilon(Fraction(1), Fraction(1, 10**6)).losses()
    more = [
        (float(weight), math.log(weight / other) - 1)
        for weight, other in classes
        if other and weight > math.e * other
    ]
    probability = sum(weight for weight, _ in more)
    assert probability == pytest.approx(1 / 50_000, rel=0.01)
    assert sum(weight * beyond for weight, beyond in more) / probability == pytest.approx(
        0.052, abs=0.001
    )
    exceeding = sum(weight * -math.expm1(-beyond) for weight, beyond in more)
    assert exceeding == pytest.approx(1e-6, rel=0.001)


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "4", "8"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "1e-5"])
def test_gaussian_noise_keeps_delta_for_values_any_distance_apart_and_is_not_wasted(epsilon, delta):
    mechanism = DiscreteGaussian.for_epsilon(Fraction(epsilon), Fraction(delta))
    steps = mechanism.steps
    distances = {1, (steps + 1) // 2, max(1, steps - 1), steps}
    exceeding = [mechanism.delta_at_distance(apart) for apart in sorted(distances)]
    assert exceeding == sorted(exceeding)
    assert 0.99 * float(delta) < exceeding[-1] <= float(delta)
    less = replace(mechanism, noise=mechanism.noise - 1)
    assert less.delta > float(delta)


def test_the_classical_calibration_is_not_used():
    """sqrt(2 ln(1.25 / delta)) / epsilon wastes noise at 1, and exceeds delta above 8.78."""
    delta = 1e-6
    classical = math.sqrt(2 * math.log(1.25 / delta))
    mechanism = DiscreteGaussian.for_epsilon(Fraction(1), Fraction(delta))
    assert math.sqrt(mechanism.noise) / mechanism.steps < 0.93 * classical
    steps, epsilon = 256, 10
    noise = round((classical / epsilon * steps) ** 2)
    assert DiscreteGaussian(steps, noise, epsilon * 10**9).delta > 1.5 * delta


@pytest.mark.statistics
@pytest.mark.parametrize(
    "mechanism",
    [
        OneBitMean.for_epsilon(Fraction(1)),
        Piecewise.for_epsilon(Fraction(1)),
        Hybrid.for_epsilon(Fraction(1)),
        DiscreteLaplace(steps=8, scale=8),
    ],
)
def test_no_report_rules_out_any_value(mechanism):
    """The attack on floating-point noise: outputs that one of two close values cannot produce.

    Every outcome is an integer that every value can lead to, however its last bits look.
    """
    spec = number(mechanism)
    close = (0.0, 5e-324, 2.0**-53, 0.1, 0.1 + 2.0**-56, 1 / 3, 1.0 - 2.0**-53, 1.0)
    channels = [
        distribution(lambda w, v=value: randomizer_for(spec, w).report(spec.encode(v), b""))
        for value in close
    ]
    assert all(channel.keys() == channels[0].keys() for channel in channels)
    assert len(channels[0]) == mechanism.outcomes


@pytest.mark.parametrize(("epsilon", "best"), [("0.5", "duchi"), ("1", "hybrid"), ("4", "hybrid")])
def test_the_hybrid_is_never_worse_than_its_parts_at_the_worst_value(epsilon, best):
    def worst(mechanism):
        return max(mechanism.variance(share / 16, 1) for share in range(17))

    eps = Fraction(epsilon)
    found = {cls.name: worst(cls.for_epsilon(eps)) for cls in (OneBitMean, Piecewise, Hybrid)}
    assert found["hybrid"] <= min(found.values()) * 1.001
    assert found[best] <= min(found.values()) * 1.001


def test_the_error_of_few_equal_bits_is_not_zero():
    spec = number(OneBitMean.for_epsilon(Fraction(8)))
    randomizer, tally = randomizer_for(spec, seeded("few")), tally_for(spec)
    counts = tally.count(b"".join(randomizer.report(spec.encode(0), secret_of(0)) for _ in "abc"))
    assert tally.mean(counts).variance > 0
