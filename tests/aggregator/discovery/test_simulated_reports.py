"""The reports that the benchmark draws at once have the law of the client's."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from benchmarks.discovery.simulation import Simulation
from deniable._randomness import Randomness
from deniable.randomizers.base import RandomSources, make_randomizer
from deniable_shared.mechanisms import Trie

SALT = 2_718_281_828
PIECES = [(5,), (5, 1), (2, 3, 1), (7, 0, 2)]
"""Strings that end in each level, two of which begin alike."""

DEVICES = 4_000
"""Of each string."""

UNLIKELY = 1e-6
TRIE = Trie.for_epsilon(3, Fraction(2), rows=2, first_bits=3, deeper_bits=2)
UNEQUAL = replace(TRIE, shares=(1 << 31, 1 << 29, 3 << 29))


def of_client(pieces: tuple[int, ...], trie: Trie = TRIE) -> np.ndarray:
    """How many reports of the client's randomizer each counter has."""
    sources = RandomSources(Randomness(), salt=SALT)
    randomizer = make_randomizer(trie, sources)
    rows = np.zeros(1 + 2 * TRIE.rows, np.int64)
    rows[1:] = TRIE.first.outcomes + np.arange(2 * TRIE.rows) * TRIE.deeper.outcomes
    counts = np.zeros(rows[-1] + TRIE.deeper.outcomes, np.int64)
    for _ in range(DEVICES):
        level, row, *point = randomizer.report(pieces, b"s" * 32)
        row = (level - 1) * TRIE.rows + row + 1 if level else 0
        counts[rows[row] + int.from_bytes(bytes(point), "big")] += 1
    return counts


def simulated(pieces: tuple[int, ...], salt: int = SALT, trie: Trie = TRIE) -> np.ndarray:
    """The same, drawn at once."""
    simulation = Simulation(trie, salt, [pieces])
    return simulation.tally(np.ones(1), DEVICES, np.random.default_rng(1))


def p_value(one: np.ndarray, other: np.ndarray) -> float:
    """Of the test that two tallies have one law."""
    present = one + other > 0
    return float(stats.chi2_contingency(np.stack([one, other])[:, present]).pvalue)


@pytest.mark.statistics
@pytest.mark.parametrize("pieces", PIECES)
def test_reports_drawn_at_once_are_those_of_clients(pieces: tuple[int, ...]) -> None:
    assert p_value(of_client(pieces), simulated(pieces)) > UNLIKELY


@pytest.mark.statistics
def test_levels_are_drawn_by_their_shares() -> None:
    reports = of_client(PIECES[2], UNEQUAL)
    assert p_value(reports, simulated(PIECES[2], trie=UNEQUAL)) > UNLIKELY
    assert p_value(reports, simulated(PIECES[2])) < UNLIKELY


@pytest.mark.statistics
def test_another_hash_family_and_another_string_are_noticed() -> None:
    reports = of_client(PIECES[2])
    assert p_value(reports, simulated(PIECES[2], SALT + 1)) < UNLIKELY
    assert p_value(reports, simulated((2, 3, 2))) < UNLIKELY


def test_every_device_reports_once() -> None:
    simulation = Simulation(TRIE, SALT, PIECES)
    counts = simulation.tally(np.full(4, 0.25), 10_000, np.random.default_rng(1))
    assert counts.sum() == 10_000
    assert counts.size == TRIE.first.outcomes + 2 * TRIE.rows * TRIE.deeper.outcomes
