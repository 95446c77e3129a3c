from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.randomizers import randomizer_for
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.exact_bounds import exp_lower, log_upper
from deniable_shared.mechanisms import ORACLES, SampledAttribute, SampledCoefficients
from tests.privacy.conformance import MechanismConformance, secret_of, seeded
from tests.privacy.specs import attribute, record

pytestmark = pytest.mark.audit

LATE, FULL, PAID = (attribute(name) for name in ("late", "full", "paid"))
CARRIER = attribute("carrier", "AA DL UA")
MANY = [attribute(f"flag{index}") for index in range(16)]
GATE = attribute("gate", "A1 A2 A3 A4 B1 B2 B3 B4 C1")


def smp(epsilon, *parts):
    """Each part is an attribute and the name of its oracle."""
    inner = tuple(ORACLES[name].for_epsilon(part.size, Fraction(epsilon)) for part, name in parts)
    return record(SampledAttribute(inner=inner), *(part for part, _ in parts))


def pairs(epsilon, *flags):
    return record(SampledCoefficients.for_epsilon(len(flags), Fraction(epsilon)), *flags)


def every_record(spec):
    """All records there are, so that any two of them, and all attributes at once, may differ."""
    domains = [(False, True) if part.type == "boolean" else part.values for part in spec.attributes]
    names = [part.name for part in spec.attributes]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*domains)]


class RecordConformance(MechanismConformance):
    __test__ = False

    @classmethod
    def holds(cls, value, item):
        named = (cell.split("=") for cell in item.split(" & "))
        return all(str(value[name]).lower() == wanted.lower() for name, wanted in named)


class TestSampledAttribute(RecordConformance):
    __test__ = True
    small = [
        (spec, Fraction(epsilon), every_record(spec))
        for spec, epsilon in [
            (smp("0.5", (LATE, "rr"), (FULL, "rr")), "0.5"),
            (smp("1", (LATE, "rr"), (CARRIER, "grr")), "1"),
            (smp("2", (CARRIER, "grr"), (LATE, "rr"), (FULL, "rr")), "2"),
            (smp("4", (CARRIER, "oue"), (LATE, "rr")), "4"),
            (smp("1", (GATE, "oue"), (LATE, "rr")), "1"),
        ]
    ]
    spec = smp("1.5", (GATE, "oue"), (LATE, "rr"), (CARRIER, "grr"))
    population = [
        *[{"gate": "A1", "late": True, "carrier": "AA"}] * 40,
        *[{"gate": "A1", "late": False, "carrier": "UA"}] * 20,
        *[{"gate": "C1", "late": False, "carrier": "UA"}] * 40,
    ]
    items = ["gate=A1", "gate=B1", "late=true", "carrier=AA", "carrier=DL", "carrier=UA"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        epsilon = Fraction(mechanism.epsilon) / factor
        return SampledAttribute(
            inner=tuple(type(each).for_epsilon(each.size, epsilon) for each in mechanism.inner)
        )

    def out_of_range(self):
        return [
            b"\x03\x00\x00",  # no such attribute
            b"\x01\x02\x00",  # a flag that is neither true nor false
            b"\x01\x01\x01",  # something after a flag
            b"\x02\x03\x00",  # no such carrier
            b"\x00\x00\x01",  # a tenth gate
        ]


class TestSampledCoefficients(RecordConformance):
    __test__ = True
    small = [
        (spec, Fraction(epsilon), every_record(spec))
        for spec, epsilon in [
            (pairs("0.5", LATE, FULL), "0.5"),
            (pairs("1", LATE, FULL, PAID), "1"),
            (pairs("4", LATE, FULL, PAID), "4"),
        ]
    ]
    spec = pairs("1.5", LATE, FULL, PAID)
    population = [
        *[{"late": True, "full": True, "paid": False}] * 60,
        *[{"late": True, "full": False, "paid": False}] * 30,
        *[{"late": False, "full": False, "paid": True}] * 60,
    ]
    items = [
        "late=true",
        "paid=true",
        "late=true & full=true",
        "late=true & paid=true",
        "late=false & paid=true",
        "full=false & paid=false",
    ]

    @classmethod
    def with_noise(cls, mechanism, factor):
        epsilon = Fraction(mechanism.epsilon) / factor
        return SampledCoefficients.for_epsilon(mechanism.attributes, epsilon)

    def out_of_range(self):
        return [b"\x0c", b"\xff"]


class TestTwoByteCoefficients(TestSampledCoefficients):
    spec = pairs("1", *MANY)
    small = [(spec, Fraction(1), [{flag.name: value for flag in MANY} for value in (False, True)])]
    losses_are_attained = False  # records that differ in half of the flags are the worst
    population = [{flag.name: index % 3 == 0 for index, flag in enumerate(MANY)}] * 1_000
    items = ["flag0=true", "flag1=true", "flag0=true & flag3=true", "flag14=false & flag15=true"]
    repetitions = 300

    def out_of_range(self):
        return [(272).to_bytes(2, "big"), b"\xff\xff"]


def mean_squared_error_over_stated_variance(spec, population, item, repetitions=1_500):
    """For records that hardly any noise hides: what is left is the sampling of devices."""
    tally, randomizer = tally_for(spec), randomizer_for(spec, seeded("sampling"))
    truth = np.mean([RecordConformance.holds(value, item) for value in population])
    squares, variances = 0.0, 0.0
    for _ in range(repetitions):
        payload = b"".join(randomizer.report(spec.encode(v), secret_of(0)) for v in population)
        shares = tally.shares(tally.count(payload), [item])
        squares += float((shares.share[0] - truth) ** 2)
        variances += float(shares.variance[0])
    return squares / variances


@pytest.mark.statistics
def test_the_variance_of_a_share_holds_that_of_asking_some_devices_only():
    spec = smp("8", (LATE, "rr"), (FULL, "rr"), (PAID, "rr"))
    population = [{"late": index % 2 == 0, "full": True, "paid": False} for index in range(120)]
    ratio = mean_squared_error_over_stated_variance(spec, population, "late=true")
    assert ratio == pytest.approx(1.0, abs=0.18)  # 5 standard deviations


@pytest.mark.statistics
def test_the_variance_of_a_cell_holds_that_no_device_is_asked_twice():
    """Without the covariance of the coefficients it would be twice as large."""
    spec = pairs("8", LATE, FULL)
    population = [{"late": index % 2 == 0, "full": index % 2 == 0} for index in range(120)]
    ratio = mean_squared_error_over_stated_variance(spec, population, "late=true & full=true")
    assert ratio == pytest.approx(1.0, abs=0.18)


def fake_data_channel(own, sizes, weight):
    """P(report | record) of RS+FD: one attribute, drawn, in truth by GRR; fakes for all others."""
    channel = {}
    for report in itertools.product(*map(range, sizes)):
        probability = Fraction(0)
        for sampled, size in enumerate(sizes):
            truth = weight if report[sampled] == own[sampled] else Fraction(1)
            fakes = Fraction(size, math.prod(sizes))
            probability += truth / (weight + size - 1) * fakes / len(sizes)
        channel[report] = probability
    assert sum(channel.values()) == 1
    return channel


def worst_ratio(channels):
    return max(
        max(channel[report] for channel in channels) / min(channel[report] for channel in channels)
        for report in channels[0]
    )


@pytest.mark.parametrize(
    ("sizes", "amplified"), [((2, 2), 1.49), ((3, 3), 1.49), ((2, 5), 1.49), ((2, 2, 2), 1.82)]
)
def test_fake_data_would_spend_the_amplified_epsilon_where_a_sampled_attribute_spends_its_own(
    sizes, amplified
):
    """RS+FD claims epsilon 1, randomizes at ln(d (e - 1) + 1), and really spends that."""
    e = exp_lower(Fraction(1))
    inside = len(sizes) * (e - 1) + 1
    records = itertools.product(*map(range, sizes))
    worst = worst_ratio([fake_data_channel(each, sizes, inside) for each in records])
    assert worst == inside
    assert math.log(worst) == pytest.approx(amplified, abs=0.005)

    parts = [attribute(f"part{at}", " ".join("abcde"[:size])) for at, size in enumerate(sizes)]
    spec = smp("1", *((part, "grr") for part in parts))
    worst = worst_ratio([TestSampledAttribute.channel(spec, each) for each in every_record(spec)])
    assert worst <= e
    assert 1 - 1e-6 <= log_upper(worst) <= 1


def test_splitting_epsilon_over_attributes_would_cost_five_times_the_variance():
    """Three attributes of 8 values at epsilon 1, a rare item, times n (mathematics of SPL)."""
    grr = ORACLES["grr"]
    sampled = SampledAttribute(inner=(grr.for_epsilon(8, Fraction(1)),) * 3).variance(0.0, 1)
    split = grr.for_epsilon(8, Fraction(1, 3)).variance(0.0, 1)
    assert sampled == pytest.approx(8.9, abs=0.05)
    assert split == pytest.approx(47.3, abs=0.05)
