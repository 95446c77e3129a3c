"""Sketches that are estimated together have the numbers that each has by itself."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
import pytest

from deniable_aggregator.counting.statistics.shares import Allowance
from deniable_aggregator.counting.tallies import (
    FewCounts,
    share_tally_for,
    shares_of_sketches,
    strings,
)
from deniable_shared.mechanisms import ProjectiveGeometryResponse, Sketch
from tests.aggregator.tallies.test_few_counts import WORDS, payload_of
from tests.privacy.specs import sketch, string

COLUMNS = "share", "variance", "null_variance", "kept", "influence", "law_scores"
SIZES = [
    (3, 64, "1"),
    (700, 90, "1.5"),
    (150, 64, "2.25"),
    (9_000, 80, "1.5"),
    (1, 70, "1"),
    (40, 64, "4"),
]
"""Reports, rows and epsilon of versions; one of them is read by least squares."""

SCORE_ERROR: Final = 1e-11
"""Scores come from laws by Fourier transforms, of other lengths for several sketches: those near
zero have no relative precision. In 548 draws of the versions they differed by at most 6.5e-13."""


@pytest.fixture(scope="module")
def versions():
    counted = []
    for reports, rows, epsilon in SIZES:
        inner = ProjectiveGeometryResponse.over_space(13, 3, 183, Fraction(epsilon))
        tally = share_tally_for(string(Sketch(rows=rows, inner=inner)))
        places = np.sort(tally.places(payload_of(tally.spec, reports)))
        counted.append((tally, FewCounts(places, tally.cells)))
    tally = share_tally_for(string(sketch("oue", 2, rows=64, buckets=183)))
    counted.append((tally, tally.count(payload_of(tally.spec, 500))))
    tally = share_tally_for(string(sketch("grr", 3, rows=8, buckets=32)))
    counted.append((tally, tally.count(payload_of(tally.spec, 900))))
    return counted


@pytest.mark.parametrize("most", [1, 30_000, 1 << 20])
def test_sketches_of_several_versions_have_the_numbers_of_each(versions, monkeypatch, most):
    monkeypatch.setattr(strings, "_STACKED_CELLS", most)
    together = shares_of_sketches(versions, WORDS)
    for (tally, counts), ours in zip(versions, together, strict=True):
        (alone,) = shares_of_sketches([(tally, counts)], WORDS)
        for name in COLUMNS:
            columns = getattr(ours, name), getattr(alone, name)
            error = SCORE_ERROR if name == "law_scores" else 1e-15
            np.testing.assert_allclose(*columns, rtol=1e-12, atol=error, err_msg=name)
        assert (ours.support_counts.supporting == alone.support_counts.supporting).all()
        assert ours.unlisted == alone.unlisted
        ends = [each.limits(each.share, 0.05, Allowance(ours.rows.total)) for each in (ours, alone)]
        np.testing.assert_allclose(ends[0][:2], ends[1][:2], rtol=1e-12, atol=1e-15)


def test_some_are_estimated_with_others_some_alone_and_some_fitted(versions):
    """So the test above has the power to notice a number of another sketch."""
    found = [shares.share for shares in shares_of_sketches(versions, WORDS)]
    assert all(np.abs(a - b).max() > 1e-3 for a in found for b in found if a is not b)
    fitted = [tally.spec.mechanism.is_fitted for tally, _ in versions]
    assert any(fitted)
    assert not all(fitted)
