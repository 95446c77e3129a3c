from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable.randomizers import RandomSources, make_randomizer
from deniable_aggregator.counting.tallies import oracle_tally_for, tally_for
from deniable_shared.mechanisms import GeneralizedRandomizedResponse, HadamardResponse
from tests.privacy.conformance import MechanismConformance, secret_of, seeded
from tests.privacy.specs import category


def ht(size, epsilon):
    names = " ".join(f"item{index}" for index in range(size))
    return category(names, HadamardResponse.for_epsilon(size, Fraction(epsilon)))


class TestHadamardResponse(MechanismConformance):
    small = [
        (ht(size, epsilon), Fraction(epsilon), ("item0", "item1", f"item{size - 1}"))
        for size, epsilon in [(2, "0.5"), (3, "1"), (4, "2"), (6, "0.25"), (9, "4"), (64, "3")]
    ]
    spec = ht(6, "1.5")
    population = ["item0"] * 60 + ["item1"] * 30 + ["item5"] * 10
    items = ["item0", "item1", "item2", "item5"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        return HadamardResponse.for_epsilon(mechanism.size, Fraction(mechanism.epsilon) / factor)

    def out_of_range(self):
        return [b"\x0e", b"\xff"]


class TestTwoByteReports(TestHadamardResponse):
    small = [(ht(200, "1"), Fraction(1), ("item0", "item128", "item199"))]
    spec = ht(200, "3")
    population = ["item0"] * 60 + ["item199"] * 40
    items = ["item0", "item1", "item199"]

    def out_of_range(self):
        return [(510).to_bytes(2, "big"), b"\xff\xff"]


@pytest.mark.parametrize("size", range(2, 18))
def test_every_item_of_every_size_is_told_apart_from_every_other(size):
    """The expected estimate of a device's own item is 1, of any other 0: exactly, at any size."""
    spec = ht(size, "1")
    tally = tally_for(spec)
    for index, own in enumerate(spec.values):
        channel = TestHadamardResponse.channel(spec, own)
        scale = 2**60
        counts = np.zeros(tally.cells, np.int64)
        for report, probability in channel.items():
            counts[int.from_bytes(report, "big")] = round(probability * scale)
        share = tally.shares(counts, spec.values).share
        assert share == pytest.approx(np.eye(size)[index], abs=1e-9)


def test_over_two_items_it_is_randomized_response():
    mine = TestHadamardResponse.channel(ht(2, "1"), "item1")
    theirs = category("item0 item1", GeneralizedRandomizedResponse.for_epsilon(2, Fraction(1)))
    assert mine == TestHadamardResponse.channel(theirs, "item1")


def test_rows_that_say_nothing_are_not_drawn():
    """Every report moves the estimates: the constant row is left out."""
    spec = ht(5, "1")
    tally = tally_for(spec)
    for report in TestHadamardResponse.channel(spec, "item3"):
        shares = tally.shares(tally.count(report), spec.values).share
        assert len(set(shares.tolist())) == 2


@pytest.mark.parametrize("epsilon", ["0.5", "1"])
def test_the_variance_is_the_textbooks_without_its_useless_row(epsilon):
    mechanism = HadamardResponse.for_epsilon(1_000, Fraction(epsilon))
    e = np.exp(float(epsilon))
    textbook = ((e + 1) / (e - 1)) ** 2
    assert mechanism.variance(0.0, 1) == pytest.approx(textbook, rel=3e-3)
    four = HadamardResponse.for_epsilon(4, Fraction(epsilon))
    assert four.variance(0.0, 1) == pytest.approx((9 / 16) * (textbook - 1 / 9), rel=1e-6)


def test_a_million_items_are_within_reach():
    mechanism = HadamardResponse.for_epsilon(1 << 20, Fraction(1))
    randomizer = make_randomizer(mechanism, RandomSources(seeded("a million items")))
    reports = [randomizer.report(999_999, secret_of(1)) for _ in range(2_000)]
    assert {len(report) for report in reports} == {3}
    tally = oracle_tally_for(mechanism)
    packed = np.frombuffer(b"".join(reports), "V3")
    counts = tally.count(np.zeros(packed.size, np.uint16), packed, 1)
    shares = tally.shares(counts)
    assert abs(shares.share[999_999] - 1) < 5 * shares.variance[999_999] ** 0.5
    assert shares.share.argmax() == 999_999
