from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import (
    HadamardResponse,
    RecursiveHadamardResponse,
    Sketch,
)
from tests.privacy.conformance import MechanismConformance
from tests.privacy.specs import category


def rhr(size, bits, epsilon):
    names = " ".join(f"item{index}" for index in range(size))
    mechanism = RecursiveHadamardResponse.with_bits(size, bits, Fraction(epsilon))
    return category(names, mechanism)


class RhrConformance(MechanismConformance):
    __test__ = False
    small = [
        (rhr(size, bits, epsilon), Fraction(epsilon), ("item0", "item1", f"item{size - 1}"))
        for size, bits, epsilon in [
            (2, 1, "0.5"),
            (5, 2, "1"),
            (8, 3, "2"),
            (13, 2, "3"),
            (100, 5, "4"),
        ]
    ]

    @classmethod
    def with_noise(cls, mechanism, factor):
        epsilon = Fraction(mechanism.epsilon) / factor
        return RecursiveHadamardResponse.with_bits(mechanism.size, mechanism.bits, epsilon)

    def out_of_range(self):
        mechanism = self.spec.mechanism
        return [mechanism.outcomes.to_bytes(mechanism.report_bytes, "big"), b"\xff"]


class TestRecursiveHadamardResponse(RhrConformance):
    """Blocks of 4, one of them short; the frequent items share theirs with a rare and a missing."""

    __test__ = True
    spec = rhr(15, 3, "2")
    population = ["item0"] * 60 + ["item1"] * 30 + ["item4"] * 5 + ["item9"] * 5
    items = ["item0", "item1", "item2", "item4", "item5", "item8"]


class TestBlocksOfTwo(RhrConformance):
    __test__ = True
    spec = rhr(7, 3, "1")
    population = ["item0"] * 60 + ["item1"] * 30 + ["item6"] * 10
    items = ["item0", "item1", "item3", "item4", "item5", "item6"]


class TestOneBit(RhrConformance):
    __test__ = True
    spec = rhr(6, 1, "1.5")
    population = ["item0"] * 60 + ["item1"] * 30 + ["item5"] * 10
    items = ["item0", "item1", "item2", "item5"]


def outcomes_of(spec, value):
    """P(outcome | value): float64, (outcomes,)."""
    channel = MechanismConformance.channel(spec, value)
    dense = np.zeros(spec.mechanism.outcomes)
    for report, probability in channel.items():
        dense[int.from_bytes(report, "big")] = float(probability)
    return dense


def contributions(spec):
    """What one report of each outcome adds to each item's estimate: float64, (outcomes, items)."""
    tally = tally_for(spec)
    width = spec.mechanism.report_bytes
    reports = [number.to_bytes(width, "big") for number in range(spec.mechanism.outcomes)]
    return np.array([tally.shares(tally.count(report), spec.values).share for report in reports])


@pytest.mark.parametrize("size", range(2, 20))
def test_every_size_has_room_for_every_item_and_estimates_it_exactly(size):
    for bits in range(1, (size - 1).bit_length() + 1):
        spec = rhr(size, bits, "1")
        values = contributions(spec)
        for index, own in enumerate(spec.values):
            expected = outcomes_of(spec, own) @ values
            assert expected == pytest.approx(np.eye(size)[index], abs=1e-9)


@pytest.mark.parametrize(("size", "bits"), [(2, 1), (5, 1), (5, 2), (7, 3), (16, 3), (13, 2)])
def test_the_stated_variance_is_exact_for_each_kind_of_device(size, bits):
    """The item's own device, one of its block, and one of another block, by enumeration."""
    spec = rhr(size, bits, "2")
    mechanism, values = spec.mechanism, contributions(spec)
    means, squares = np.zeros((size, size)), np.zeros((size, size))
    for index, own in enumerate(spec.values):
        probabilities = outcomes_of(spec, own)
        means[index], squares[index] = probabilities @ values, probabilities @ values**2
    exact = squares - means**2
    for own, item in itertools.product(range(size), repeat=2):
        share, block = float(own == item), float(own % mechanism.blocks == item % mechanism.blocks)
        assert mechanism.variance_within(share, block, 1) == pytest.approx(exact[own, item])


def test_an_item_in_a_frequent_block_has_the_larger_error():
    spec = rhr(32, 4, "3")
    tally = tally_for(spec)
    counts = np.round(1e9 * outcomes_of(spec, "item0")).astype(np.int64)
    shares = tally.shares(counts, ["item8", "item1"])
    assert shares.share == pytest.approx(0.0, abs=1e-6)
    assert shares.variance[0] > 1.5 * shares.variance[1]


def test_the_number_of_bits_has_the_least_error_of_all():
    for size, epsilon in itertools.product((2, 3, 10, 64, 1_000, 65_536), ("0.5", "1", "3", "6")):
        chosen = RecursiveHadamardResponse.for_epsilon(size, Fraction(epsilon))
        for bits in range(1, min(12, (size - 1).bit_length()) + 1):
            other = RecursiveHadamardResponse.with_bits(size, bits, Fraction(epsilon))
            assert chosen.variance(1 / size, 1) <= other.variance(1 / size, 1)


def test_one_bit_is_the_one_bit_response():
    mine = rhr(6, 1, "1")
    theirs = category(" ".join(mine.values), HadamardResponse.for_epsilon(6, Fraction(1)))
    for value in mine.values:
        assert outcomes_of(mine, value) == pytest.approx(outcomes_of(theirs, value))
    share = mine.mechanism.variance(0.2, 10)
    assert share == pytest.approx(theirs.mechanism.variance(0.2, 10))


@pytest.mark.parametrize(("size", "epsilon"), [(1 << 16, "1"), (1 << 16, "3"), (1 << 16, "4")])
def test_large_domains_are_close_to_what_this_many_bits_can_do(size, epsilon):
    """1.27, 1.92 and 1.98 times the optimum, at a size that fills every block."""
    e = np.exp(float(epsilon))
    mechanism = RecursiveHadamardResponse.for_epsilon(size, Fraction(epsilon))
    ratio = mechanism.variance(1 / size, 1) / (4 * e / (e - 1) ** 2)
    assert ratio == pytest.approx({"1": 1.27, "3": 1.92, "4": 1.98}[epsilon], abs=0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bits": 4}, "rhr bits must be at most 3 for size 8, got 4"),
        ({"bits": 0}, "rhr bits must be an integer in"),
        ({"size": 1}, "rhr size must be an integer in"),
        ({"size": (1 << 20) + 1}, "rhr size must be an integer in"),
        ({"other": 1 << 29}, "rhr other must be below 2"),
        ({"other": 0}, "rhr other must be an integer in"),
        ({"other": 1.0}, "rhr other must be an integer in"),
    ],
)
def test_parameters_out_of_range_are_refused(change, message):
    good = {"size": 8, "bits": 3, "other": 1 << 28}
    RecursiveHadamardResponse(**good)
    with pytest.raises(ParameterError, match=message):
        RecursiveHadamardResponse(**{**good, **change})


def test_it_is_refused_inside_a_sketch():
    inner = RecursiveHadamardResponse.for_epsilon(64, Fraction(1))
    with pytest.raises(ParameterError, match="sketch inner must be a pure oracle"):
        Sketch(rows=4, inner=inner)
