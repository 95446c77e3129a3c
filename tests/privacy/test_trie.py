"""Discovered strings: a report tells neither more of a string than its epsilon, nor its length."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest

from deniable.randomizers.base import RANDOMIZERS
from deniable.randomizers.trie import TrieRandomizer
from deniable_shared.mechanisms import ProjectiveGeometryResponse, Trie, mechanism_from_description
from tests.privacy.conformance import MechanismConformance
from tests.privacy.specs import trie

EVERY_STRING = [
    ".".join(map(str, pieces))
    for length in (1, 2, 3)
    for pieces in itertools.product(range(8), *[range(4)] * (length - 1))
]
"""All pieces of three bits, and all after them of two: strings that end in any level."""


UNEQUAL = (1 << 31, 1, (1 << 31) - 1)
"""Shares of three levels, of which one is hardly ever drawn."""


class TestTrie(MechanismConformance):
    losses_are_attained = False
    small = [
        (trie(levels=3, epsilon=each), Fraction(each), EVERY_STRING)
        for each in ("0.5", "1", "2", "4")
    ] + [(trie(levels=3, epsilon="2", shares=UNEQUAL), Fraction(2), EVERY_STRING)]
    spec = trie(levels=3, epsilon="2", rows=32, deeper_bits=5)
    repetitions = 400
    population = ["1"] * 50 + ["3.9"] * 30 + ["7.20.1"] * 15 + ["7.20.30"] * 5
    items = ["1", "3.9", "7.20.1", "5.0.2"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        """Over the same spaces, so that reports are comparable."""
        epsilon = Fraction(mechanism.epsilon) / factor
        first, deeper = (
            ProjectiveGeometryResponse.over_space(oracle.q, oracle.t, oracle.size, epsilon)
            for oracle in (mechanism.first, mechanism.deeper)
        )
        return replace(mechanism, first=first, deeper=deeper)

    def out_of_range(self):
        mechanism = self.spec.mechanism
        points = [each.outcomes.to_bytes(1, "big") for each in (mechanism.first, mechanism.deeper)]
        return [
            *(b"\x03\x00\x00", b"\xff\x00\x00"),  # no such level
            *(b"\x00\x01\x00", b"\x01\x20\x00"),  # no such row
            *(b"\x00\x00" + points[0], b"\x02\x00" + points[1]),
        ]

    def test_a_spec_survives_its_canonical_form(self):
        """Without a code there is only the mechanism's."""
        for spec in (self.spec, *(spec for spec, _, _ in self.small)):
            assert mechanism_from_description(spec.mechanism.description()) == spec.mechanism


@pytest.mark.parametrize("value", ["3", "3.0", "0.0.0", "7.3.3"])
def test_level_and_row_say_nothing_about_a_string(value):
    """Each is as likely for every string, wherever it ends; the last level is drawn twice."""
    spec = trie(levels=3, epsilon="2")
    drawn = Counter()
    for report, probability in MechanismConformance.channel(spec, value).items():
        level, row, _ = spec.mechanism.decode(report)
        drawn[level, row] += probability
    quarter = Fraction(1, 4)
    assert drawn == {
        (0, 0): quarter,
        (1, 0): quarter / 2,
        (1, 1): quarter / 2,
        (2, 0): quarter,
        (2, 1): quarter,
    }


@pytest.mark.parametrize("value", ["3", "3.0", "0.0.0", "7.3.3"])
def test_levels_are_drawn_by_their_shares_to_the_last_integer_whatever_the_string(value):
    spec = trie(levels=3, epsilon="2", shares=UNEQUAL)
    drawn = Counter()
    for report, probability in MechanismConformance.channel(spec, value).items():
        drawn[spec.mechanism.decode(report)[0]] += probability
    assert drawn == {level: Fraction(share, 1 << 32) for level, share in enumerate(UNEQUAL)}


class Wrong(TrieRandomizer):
    """Reports in a level that depends on the string."""

    def report(self, item, secret):
        level = self.level(item)
        row = self._randomness.uniform_below(self._mechanism.rows) if level else 0
        oracle = self._deeper if level else self._first
        return bytes((level, row)) + oracle.report(
            self._mechanism.cell(item, level, row, self._salt), secret
        )


class SkipsLevelsAfterTheEnd(Wrong):
    def level(self, item):
        return self._randomness.uniform_below(len(item))


class NoLevelForOneString(Wrong):
    def level(self, item):
        levels = self._mechanism.levels
        drawn = min(self._randomness.uniform_below(levels + 1), levels - 1)
        return drawn if item != (3,) else max(drawn, 1)


class FavoursALevel(Wrong):
    def level(self, item):
        return 0 if self._randomness.uniform_below(4) < 1 + item[0] % 2 else 2


@pytest.mark.parametrize("wrong", [SkipsLevelsAfterTheEnd, NoLevelForOneString, FavoursALevel])
def test_a_level_that_depends_on_the_string_is_noticed(wrong, monkeypatch):
    monkeypatch.setitem(RANDOMIZERS, Trie, wrong)
    suite = TestTrie()
    suite.small = suite.small[2:3]
    channels = [[suite.channel(spec, value) for value in values] for spec, _, values in suite.small]
    with pytest.raises(AssertionError):
        suite.test_epsilon_is_never_above_the_declared_one_and_within_a_thousandth_of_it(channels)
