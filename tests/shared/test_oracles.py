"""Hadamard responses, subsets and local hashes round toward privacy at every size and epsilon."""

from __future__ import annotations

from fractions import Fraction

import pytest

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import ORACLES
from tests.shared.test_mechanisms import EPSILONS, assert_rounded_toward_privacy

WORST_RATIOS = {
    "ht": lambda oracle: Fraction(SCALE - oracle.flip, oracle.flip),
    "rhr": lambda oracle: Fraction(SCALE - (2**oracle.bits - 1) * oracle.other, oracle.other),
    "ss": lambda oracle: (
        Fraction(oracle.own, oracle.subset)
        / Fraction(SCALE - oracle.own, oracle.size - oracle.subset)
    ),
    "olh": lambda oracle: Fraction(SCALE - (oracle.buckets - 1) * oracle.other, oracle.other),
}
SIZES = [2, 3, 4, 5, 7, 16, 100, 257, 1_000, 1_024]
MOST = {"ht": 1 << 20, "rhr": 1 << 20, "ss": 1_024, "olh": 4_096}


@pytest.mark.parametrize("name", WORST_RATIOS)
@pytest.mark.parametrize("size", SIZES)
def test_the_declared_epsilon_is_approached_from_below(name, size):
    for epsilon in EPSILONS:
        oracle = ORACLES[name].for_epsilon(size, epsilon)
        assert oracle.size == size
        assert_rounded_toward_privacy(WORST_RATIOS[name](oracle), epsilon, oracle.epsilon)


@pytest.mark.parametrize("name", WORST_RATIOS)
def test_the_largest_domain_is_carried_and_one_item_more_is_refused(name):
    kind, most = ORACLES[name], MOST[name]
    oracle = kind.for_epsilon(most, Fraction(2))
    assert kind.from_parameters(oracle.parameters()) == oracle
    assert_rounded_toward_privacy(WORST_RATIOS[name](oracle), Fraction(2), oracle.epsilon)
    for size in (most + 1, 1, 0, -1, 2.0, True, None, float("nan")):
        with pytest.raises(ParameterError, match=f"{name} size must be an integer in"):
            kind.for_epsilon(size, Fraction(2))


@pytest.mark.parametrize(
    ("name", "size", "epsilon", "width"),
    [
        ("ht", 128, 1, 1),
        ("ht", 129, 1, 2),
        ("ht", 32_768, 1, 2),
        ("ht", 1 << 20, 1, 3),
        ("rhr", 1_024, 4, 2),
        ("ss", 9, 1, 2),
        ("olh", 1_024, 1, 5),
        ("olh", 1_024, 6, 6),
    ],
)
def test_reports_are_as_wide_as_documented(name, size, epsilon, width):
    assert ORACLES[name].for_epsilon(size, Fraction(epsilon)).report_bytes == width
