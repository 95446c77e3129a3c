"""Intervals cut where the true number cannot lie any further."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.answers.limits import SHARE, cut

INTERVALS = st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)).map(sorted)


@pytest.mark.parametrize(
    ("interval", "within"),
    [
        ((0.2, 0.4), (0.2, 0.4)),
        ((-0.3, 0.4), (0.0, 0.4)),
        ((0.5, 1.48), (0.5, 1.0)),
        ((-2.0, 4.0), SHARE),
        ((1.25, 1.75), (0.75, 1.0)),
        ((-1.0, -0.5), (0.0, 0.25)),
        ((3.0, 30.0), SHARE),
        ((0.0, math.inf), SHARE),
        ((math.inf, math.inf), SHARE),
    ],
)
def test_an_interval_is_cut_at_the_limits(interval, within):
    assert cut(*interval, SHARE) == within


@given(INTERVALS)
def test_a_cut_interval_is_within_the_limits_and_is_not_cut_again(interval):
    low, high = cut(*interval, (60.0, 100.0))
    assert 60 <= low <= high <= 100
    assert cut(low, high, (60.0, 100.0)) == (low, high)
