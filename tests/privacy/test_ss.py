from __future__ import annotations

import math
from fractions import Fraction

import pytest

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, log_upper
from deniable_shared.mechanisms import SubsetSelection
from tests.privacy.conformance import MechanismConformance
from tests.privacy.specs import category


def ss(size, subset, epsilon):
    names = " ".join(f"item{index}" for index in range(size))
    return category(names, SubsetSelection.with_subset(size, subset, Fraction(epsilon)))


class TestSubsetSelection(MechanismConformance):
    small = [
        (ss(size, subset, epsilon), Fraction(epsilon), ("item0", "item1", f"item{size - 1}"))
        for size, subset, epsilon in [
            (2, 1, "0.5"),
            (5, 2, "0.5"),
            (6, 3, "1"),
            (8, 1, "4"),
            (9, 3, "2"),
        ]
    ]
    spec = ss(10, 3, "1.5")
    population = ["item0"] * 60 + ["item1"] * 30 + ["item9"] * 10
    items = ["item0", "item1", "item2", "item9"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        epsilon = Fraction(mechanism.epsilon) / factor
        return SubsetSelection.with_subset(mechanism.size, mechanism.subset, epsilon)

    def out_of_range(self):
        three_of_ten_and_one_after = 0b1110000000_100000
        return [
            b"\x00\x00",
            b"\xff\xff",
            (0b1111 << 12).to_bytes(2, "big"),
            three_of_ten_and_one_after.to_bytes(2, "big"),
        ]


@pytest.mark.parametrize(
    ("size", "subset", "epsilon"), [(2, 1, "1"), (5, 2, "1"), (6, 4, "1"), (8, 3, "0.5")]
)
def test_the_true_epsilon_is_exactly_the_stated_one(size, subset, epsilon):
    """A complement that may hold the item after all has 1.6 for a declared 1."""
    spec = ss(size, subset, epsilon)
    channels = [TestSubsetSelection.channel(spec, value) for value in spec.values]
    worst = max(
        max(channel[report] for channel in channels) / min(channel[report] for channel in channels)
        for report in channels[0]
    )
    assert log_upper(worst) == spec.mechanism.epsilon


def test_a_subset_holds_the_item_as_often_as_stated_and_is_uniform_otherwise():
    spec = ss(7, 3, "1")
    mechanism = spec.mechanism
    channel = TestSubsetSelection.channel(spec, "item2")
    own = 1 << 7 - 2  # the third place of eight
    holding = {report: p for report, p in channel.items() if report[0] & own}
    missing = {report: p for report, p in channel.items() if not report[0] & own}
    told = Fraction(mechanism.own, SCALE)
    assert set(holding.values()) == {told / math.comb(6, 2)}
    assert len(holding) == math.comb(6, 2)
    assert set(missing.values()) == {(1 - told) / math.comb(6, 3)}
    assert len(missing) == math.comb(6, 3)


@pytest.mark.parametrize("epsilon", ["0.25", "1", "2", "4"])
@pytest.mark.parametrize("size", [2, 3, 7, 40])
def test_the_subset_has_the_size_with_the_least_error(size, epsilon):
    chosen = SubsetSelection.for_epsilon(size, Fraction(epsilon))
    for subset in range(1, size):
        other = SubsetSelection.with_subset(size, subset, Fraction(epsilon))
        assert chosen.variance(1 / size, 1) <= other.variance(1 / size, 1) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 1_025}, "ss size must be an integer in"),
        ({"subset": 0}, "ss subset must be an integer in"),
        ({"subset": 10}, "ss subset must be an integer in"),
        ({"own": SCALE * 3 // 10}, "ss own must be above 3 / 10 of"),
        ({"own": SCALE}, "ss own must be an integer in"),
        ({"own": float("nan")}, "ss own must be an integer in"),
    ],
)
def test_parameters_out_of_range_are_refused(change, message):
    good = {"size": 10, "subset": 3, "own": SCALE // 2}
    SubsetSelection(**good)
    with pytest.raises(ParameterError, match=message):
        SubsetSelection(**{**good, **change})
