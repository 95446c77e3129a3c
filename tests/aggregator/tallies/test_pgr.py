"""Every hyperplane's sum, along the cycle, against the definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import fft

from deniable_aggregator.counting.kernels import singer_cycle
from deniable_aggregator.counting.tallies import fast_oracles, oracle_tally_for
from deniable_shared.mechanisms import ProjectiveGeometryResponse
from deniable_shared.mechanisms.oracles.pgr import points

pytestmark = pytest.mark.audit

SPACES = [
    *((2, t) for t in range(2, 11)),
    *((3, t) for t in range(2, 7)),
    *((5, t) for t in range(2, 5)),
    *((7, t) for t in range(2, 4)),
    *((11, t) for t in range(2, 4)),
    (23, 3),
    (1_031, 2),
]


def coordinates(q, t):
    """The points in the order of their numbers, by the definition of a number: (points, t)."""
    found = np.zeros((points(q, t), t), np.int64)
    for number in range(len(found)):
        left, place = number, t - 1
        while left:
            left, found[number, place] = divmod(left - 1, q)
            place -= 1
        found[number, place] = 1
    return found


def mechanism_over(q, t, size=None):
    size = min(points(q, t), 65_536) if size is None else size
    return ProjectiveGeometryResponse.over_space(q, t, size, Fraction(1))


@pytest.mark.parametrize(("q", "t"), SPACES)
def test_support_is_the_sum_over_the_hyperplane_of_each_item(q, t):
    everything = coordinates(q, t)
    incident = everything @ everything.T % q == 0
    counts = np.random.default_rng(q).integers(0, 1_000, (3, len(everything)))
    found = oracle_tally_for(mechanism_over(q, t)).supporting(counts)
    assert found.dtype == np.int64
    assert (found == counts @ incident).all()


@pytest.mark.parametrize(("q", "t"), SPACES)
@pytest.mark.parametrize("part", [1.0, 0.6])
def test_few_reports_are_added_as_many_are(q, t, part, monkeypatch):
    size = max(2, int(part * points(q, t)))
    everything = coordinates(q, t)
    incident = (everything @ everything.T % q == 0)[:, :size]
    counts = np.random.default_rng(q).poisson(0.05, (40, len(everything)))
    counts[3, 1] = 70_000
    for least in (0, 1e9):  # one by one, and by the transform
        monkeypatch.setattr(fast_oracles, "_FEW_SUPPORTED", least)
        found = oracle_tally_for(mechanism_over(q, t, size)).supporting(counts)
        assert (found == counts @ incident).all()


@pytest.mark.parametrize(("q", "t"), SPACES)
def test_the_cycle_meets_every_point_once(q, t):
    numbers, places, zeros = singer_cycle(q, t, 2)
    assert (np.sort(numbers) == np.arange(points(q, t))).all()
    assert places[0] != places[1]
    assert zeros.sum() == points(q, t - 1)


def test_groups_are_read_independently_however_many_there_are():
    mechanism = mechanism_over(3, 7, 1_000)
    tally = oracle_tally_for(mechanism)
    counts = np.random.default_rng(1).integers(0, 50, (2_000, mechanism.outcomes))
    together = tally.supporting(counts)
    assert together.shape == (2_000, 1_000)
    for group in (0, 1, 957, 958, 959, 1_999):
        assert (together[group] == tally.supporting(counts[group : group + 1])[0]).all()


@pytest.mark.parametrize("most", [1 << 24, 1 << 33, 1 << 50])
def test_sums_are_exact_however_many_reports_there_are(most):
    q, t = 5, 4
    everything = coordinates(q, t)
    incident = everything @ everything.T % q == 0
    generator = np.random.default_rng(2)
    counts = generator.integers(0, most, (2, len(everything)))
    counts[1] = most + generator.integers(-1, 2, len(everything))
    found = oracle_tally_for(mechanism_over(q, t)).supporting(counts)
    assert (found == counts @ incident).all()


@pytest.mark.parametrize(("q", "t"), [(2, 19), (3, 11), (61, 4), (701, 3), (37, 5)])
def test_the_largest_counts_that_are_not_split_still_round_without_doubt(q, t):
    """A few hundredths of doubt at most would be left in the largest space; here, less."""
    numbers, _, zeros = singer_cycle(q, t, 2)
    counts = np.full(numbers.size, float((1 << 24) - 1))
    counts[:: q + 1] = 0
    length = fft.next_fast_len(2 * numbers.size - 1, real=True)
    spectrum = fft.rfft(np.concatenate([zeros, zeros[:-1]]).astype(float), length)
    sums = fft.irfft(fft.rfft(counts, length).conj() * spectrum, length)[: numbers.size]
    assert np.abs(sums - np.rint(sums)).max() < 0.05


def test_the_sums_over_all_hyperplanes_count_each_report_as_often_as_it_has_hyperplanes():
    """Every point is in as many hyperplanes as a hyperplane has points: a check on large spaces."""
    mechanism = mechanism_over(31, 4)
    counts = np.random.default_rng(3).integers(0, 1_000, (1, mechanism.outcomes))
    found = oracle_tally_for(mechanism).supporting(counts)
    assert mechanism.size == mechanism.outcomes
    assert found.sum() == counts.sum() * mechanism.hyperplane
