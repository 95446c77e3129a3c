"""What has become of the strings of the last window."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from deniable_aggregator.answering.discoveries.found import Earlier
from deniable_aggregator.answering.discoveries.questions import DenyList
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.keeping.store import StoredDiscovery

STORED = StoredDiscovery(3, b"", "flightdeck", "query", 100, 106, 107, "{}", "done", "", 1.0, None)
ERROR = 0.01


def string(text: str, share: float) -> Measured:
    return Measured(
        measure="share",
        value=text,
        estimate=share,
        low=share - 2 * ERROR,
        high=share + 2 * ERROR,
        told=True,
        score=9.0,
    )


EARLIER = Earlier(
    STORED,
    [string("tea", 0.3), string("maps", 0.06), string("rude", 0.1), string("news", 0.2)],
    [string("opentele", 0.1), string("chro", 0.1), string("micros", 0.1)],
    reports=9_000,
)


class Tally:
    """Estimates 0.03 of whatever is asked about."""

    def shares(self, _counts, items):
        share = np.full(len(items), 0.03)
        return SimpleNamespace(share=share, variance=np.full(len(items), ERROR**2))


def test_gone_is_only_what_was_surely_more_than_it_can_be_now():
    strings, prefixes = {"news", "microscope"}, {"opent", "chrome"}
    deny = DenyList(["rude"])
    window, missing = EARLIER.window(strings, prefixes, Tally(), np.zeros(1, np.int64), deny)
    assert (window.id, window.reports) == (3, 9_000)
    assert [(each.value, each.seen) for each in missing] == [
        ("tea", "gone"),
        ("maps", "not_found"),  # may have been 0.04, and may be 0.05
    ]
    assert missing[0].high == pytest.approx(0.03 + 1.96 * ERROR, rel=0.01)


def test_a_prefix_was_seen_before_if_more_or_less_of_it_was():
    assert EARLIER.seen("opentelemet", whole=False) == "before"
    assert EARLIER.seen("open", whole=False) == "before"
    assert EARLIER.seen("post", whole=False) == "new"
    assert EARLIER.seen("news", whole=True) == "before"
    assert EARLIER.seen("opentele", whole=True) == "new"
    assert Earlier().seen("news", whole=True) is None
    nothing = Earlier().window(set(), set(), Tally(), np.zeros(1, np.int64), DenyList([]))
    assert nothing == (None, [])
