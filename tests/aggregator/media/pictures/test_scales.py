"""The numbers of an axis."""

from __future__ import annotations

from itertools import pairwise

import pytest

from deniable_aggregator.media.pictures.layout import Scale


@pytest.mark.parametrize("decades", range(2, 10))
@pytest.mark.parametrize("about", range(1, 8))
def test_a_logarithmic_axis_names_powers_of_ten_evenly(about, decades):
    """Numbers that were evenly apart would crowd at its end."""
    ticks = Scale(0.9, 1.1 * 10**decades, 0.0, 200.0, log=True).ticks(about)
    assert len(ticks) >= 3
    assert len({round(after / before) for before, after in pairwise(ticks)}) == 1
