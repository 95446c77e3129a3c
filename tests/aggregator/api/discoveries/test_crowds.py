"""What an answer says of reports that were left out."""

from __future__ import annotations

import numpy as np

from deniable_aggregator.answering.discoveries.crowds import (
    left_out,
    lifted_together,
    much_left_out,
)
from deniable_aggregator.answering.discovery.flats import Flat
from deniable_aggregator.counting.tallies.trie import Uncrowded


def of_levels(*parts: int) -> Uncrowded:
    return Uncrowded(np.zeros(0, np.int64), parts, (100_000,) * len(parts))


def test_reports_that_were_left_out_are_counted_by_level():
    (notice,) = left_out(of_levels(9_000, 0, 20), (1.0, 1.0, 1.0))
    assert notice.severity == "warning"
    assert notice.message.startswith(
        "9,000 reports of level 1 and 20 reports of level 3 were left out: "
    )


def test_few_of_many_are_no_warning_and_none_are_not_mentioned():
    (notice,) = left_out(of_levels(49), (1.0,))
    assert notice.severity == "note"
    assert left_out(of_levels(0), (1.0,)) == []


def test_a_tenth_of_a_level_is_said_before_all_else_and_once():
    kept = of_levels(10_000, 500)
    (first,) = much_left_out(kept)
    assert "10,000 reports of level 1 were left out" in first.message
    assert "forge" in first.message
    (second,) = left_out(kept, (1.0, 1.0))
    assert second.message.startswith("500 reports of level 2 ")
    assert much_left_out(of_levels(9_999)) == []


def test_beginnings_that_forged_reports_lift_together_are_counted():
    (notice,) = lifted_together([Flat(766, 228), Flat(766, 190)])
    assert notice.severity == "warning"
    assert notice.message.startswith("About 418 reports of level 1 lift 1,532 beginnings together")
    assert lifted_together([]) == []


def test_wider_noise_is_said_with_its_factor():
    (notice,) = left_out(of_levels(0, 0), (1.234, 1.0))
    assert (notice.code, notice.severity) == ("wide_noise", "warning")
    assert "level 1 are 1.23 times as far apart" in notice.message
