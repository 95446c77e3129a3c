"""RAPPOR finds the strings that are held, and no others, whoever is left out of the list."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.rappor import Found, drawn, measure, population
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.counting.statistics.bloom_filters import Cells, regress
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.mechanisms import Rappor, Support
from tests.privacy.specs import string

pytestmark = pytest.mark.audit

RUNS = 16
ABSENT = 200


@pytest.mark.statistics
@pytest.mark.parametrize(("listed", "reported"), [(True, 1), (False, 1), (False, 3)])
def test_a_string_that_nearly_everybody_holds_makes_no_absent_string_detected(listed, reported):
    """100,000 devices, epsilon 4, one string with 60%: absent strings collide with it.

    With collisions taken for normal noise, 0.18 of the strings detected were false where the common
    one was not listed, 0.86 of their intervals covered, and they were 3.2 times as wide. The
    standard errors here are 0.02, 0.01 and 0.
    """
    runs = [
        measure("top .6", 100_000, "4", absent=ABSENT, listed=listed, reported=reported, run=run)
        for run in range(RUNS)
    ]
    found = Found(*np.nanmean(runs, axis=0))
    assert found.false <= 0.05 + 0.04
    assert found.strong >= 0.99
    assert found.picked >= 0.94 - 0.03
    # 1,600 and 3,200 intervals.
    assert 0.93 <= found.held <= 0.99
    assert 0.94 <= found.absent <= 0.99
    assert reported > 1 or found.width < 0.0088


@pytest.mark.statistics
def test_scores_of_absent_strings_are_normal_and_those_of_noise_stated_wrongly_are_not():
    """Cells with 6% of outliers: one in a hundred absent strings scores above 2.33.

    20,000 strings, so the standard error is 0.0007. Scores of 0.7 or 1.3 times the size would have
    0.05 or 0.0004 above it.
    """
    generator = np.random.default_rng(5)
    cohorts, bits, draws = 32, 64, 2
    shares = generator.normal(0.05, 0.1, cohorts * bits)
    shares[generator.random(shares.size) < 0.06] += 0.7
    cells = Cells(shares, np.full(shares.size, 100.0), cohorts, Support(0.5, 0.25))
    places = generator.integers(bits, size=(20_000, cohorts * draws))
    places += np.repeat(np.arange(cohorts) * bits, draws)
    _, scores = regress(cells, places)
    assert abs((scores > 2.326).mean() - 0.01) < 0.003


@pytest.mark.statistics
@pytest.mark.parametrize(("name", "share"), [("top .6", 0.6), ("top .3", 0.3), ("uniform", None)])
def test_the_share_of_a_common_string_that_is_not_listed_is_told(name, share):
    """100,000 devices at epsilon 4; nothing is said once it is listed, or where none is common."""
    mechanism = Rappor.for_epsilons(Fraction(4), Fraction(8))
    strings, held = [f"held {index}" for index in range(100)], population(name, 100_000)
    for run in range(4):
        spec = replace(string(mechanism), name=f"text{run}")
        counts = drawn(spec, strings, held, np.random.default_rng(run))
        told, silent = (tally_for(spec).shares(counts, strings[skip:]).unlisted for skip in (1, 0))
        assert silent is None
        codes = [each.code for each in estimate_shares([(spec, counts)], strings[1:]).notices]
        assert codes == ([] if share is None else ["unlisted_string"])
        assert told == (None if share is None else pytest.approx(share, abs=0.03))
