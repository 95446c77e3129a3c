"""Forged reports hide no strings, and make none appear, beyond what forgers can plant anyway."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from benchmarks.discovery.forged import subspace
from benchmarks.discovery.runs import decoded
from benchmarks.discovery.simulation import Simulation
from deniable_aggregator.answering.discovery import discover
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.counting.tallies.trie import TrieTally
from deniable_shared.letters import LetterCode, shipped_model
from deniable_shared.mechanisms import Trie
from deniable_shared.spec import Spec

pytestmark = [pytest.mark.statistics, pytest.mark.audit]

DEVICES = 200_000
MOST_LOST, MOST_FALSE = 2, 3
"""So many true strings may be hidden, and so many beginnings false."""

TEXT = """the and have that with this from they would there their what about which when make like
time just know people into year good some could them other than then look only come over think also
back after work first well even want because these give most"""
WORDS = TEXT.split()
CODE = LetterCode("text", 4, shipped_model())
SPEC = Spec(
    "flightdeck", "word", "string", (), None,
    Trie.for_epsilon(CODE.levels, Fraction(4)), "week", letters=CODE,
)  # fmt: skip
TALLY = tally_for(SPEC)
assert isinstance(TALLY, TrieTally)


@cache
def honest() -> np.ndarray:
    """Reports of devices whose words are as common as 1 / rank."""
    shares = 1 / np.arange(1, len(WORDS) + 1)
    simulation = Simulation(SPEC.mechanism, SPEC.salt, [SPEC.encode(word) for word in WORDS])
    return simulation.tally(shares / shares.sum(), DEVICES, np.random.default_rng(1))


def forged(part: float, points: int, level: int) -> np.ndarray:
    """The same and so many forged reports, of a few points of one level."""
    trie, generator = SPEC.mechanism, np.random.default_rng(points)
    first = trie.first.outcomes
    chosen = generator.integers(0, trie.deeper.outcomes * trie.rows if level else first, points)
    counts = honest().copy()
    np.add.at(counts, chosen + level * first, round(part * DEVICES / (1 - part) / points))
    return counts


def found(counts: np.ndarray, decode=decoded):
    """How many true words are found, and how many other strings and beginnings."""
    findings = decode(SPEC, counts)
    true = sum(find.text in WORDS for find in findings.whole)
    begun = [any(word.startswith(find.text) for word in WORDS) for find in findings.prefixes]
    return true, len(findings.whole) - true, begun.count(False)


@pytest.mark.parametrize(
    ("part", "points", "level"),
    [(0.01, 1, 0), (0.01, 200, 0), (0.05, 8, 0), (0.05, 2_000, 0), (0.01, 8, 1)],
)
def test_forged_reports_of_few_points_hide_no_strings_and_make_none(part, points, level):
    true, false, begun = found(forged(part, points, level))
    assert true >= found(honest())[0] - MOST_LOST
    assert false + begun <= MOST_FALSE


def on_subspaces(dimensions: int, reports: int, count: int) -> np.ndarray:
    """Honest reports, and so many forged ones for each of some lines or planes of points."""
    counts, generator = honest().copy(), np.random.default_rng(dimensions)
    for _ in range(count):
        points = subspace(SPEC.mechanism.first, dimensions, generator)
        np.add.at(counts, generator.permutation(points)[np.arange(reports) % points.size], 1)
    return counts


@pytest.mark.parametrize(
    ("dimensions", "reports", "count", "lifted"),
    [(2, 190, 1, 766), (2, 152, 8, 766), (3, 400, 1, 21)],
)
def test_what_points_of_a_line_or_plane_lift_together_is_taken_out(
    dimensions, reports, count, lifted
):
    counts = on_subspaces(dimensions, reports, count)
    findings = decoded(SPEC, counts)
    true, false, begun = found(counts, lambda *_: findings)
    assert true >= found(honest())[0] - MOST_LOST
    assert false + begun <= MOST_FALSE
    assert len(findings.flats) == count
    assert all(flat.cells == pytest.approx(lifted, rel=0.2) for flat in findings.flats)
    assert all(flat.reports == pytest.approx(reports, rel=0.25) for flat in findings.flats)


def test_without_that_such_reports_make_many_beginnings_appear(monkeypatch):
    monkeypatch.setattr(discover, "take_out_flats", lambda *_: [])
    assert found(on_subspaces(2, 152, 8))[2] > 10 * MOST_FALSE


def test_counts_of_devices_stay_as_they_are():
    assert found(honest())[0] > len(WORDS) / 2
    assert sum(TALLY.uncrowded(honest()).left_out) == 0
    assert decoded(SPEC, honest()).flats == ()


def test_what_was_left_out_is_counted_by_level():
    kept = TALLY.uncrowded(forged(0.01, 1, 0))
    assert kept.left_out[0] == pytest.approx(0.01 / 0.99 * DEVICES, abs=20)
    assert not any(kept.left_out[1:])
    assert kept.reports[0] - kept.left_out[0] == kept.counts[: SPEC.mechanism.first.outcomes].sum()


def test_health_counts_the_reports_that_points_cannot_have():
    counts = np.stack([honest(), forged(0.01, 8, 1)])
    *_, check = TALLY.checks(counts, counts.sum(axis=1))
    assert check.findings()[0].endswith("and 0 reports are more than points can have")
    beyond = check.findings()[1].rsplit(" and ", 1)[1].split()[0]
    assert int(beyond.replace(",", "")) == pytest.approx(0.01 / 0.99 * DEVICES, abs=200)
    assert check.p[1] < 1e-9 < 1e-3 < check.p[0]
