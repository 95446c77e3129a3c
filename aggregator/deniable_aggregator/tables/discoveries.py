"""Rows of strings that nobody listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.tables.common import (
    from_interval,
    from_marks,
    from_verdict,
    from_versions,
)
from deniable_aggregator.tables.row import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers.discoveries import FoundStrings

MARGIN = "noise"
"""What the intervals of found strings allow for."""


def discovery_rows(answer: FoundStrings) -> Iterator[Row]:
    """The rows of whole strings, of first letters, and of strings that are missing."""
    days = answer.days
    common = {
        "application": answer.application,
        "metric": answer.metric,
        "question": "discovery",
        "measure": "share",
        "since": days.since,
        "until": days.until,
        "reports": answer.reports,
        **from_interval(answer.interval, MARGIN),
        **from_versions([answer.version]),
        **from_verdict(answer.health.verdict),
        "marks": from_marks(days.marks(days.since, days.until)),
    }
    for whole, found in ((True, answer.strings), (False, answer.prefixes)):
        for each in found:
            yield Row(
                **common,
                value=each.text,
                whole=whole,
                estimate=each.share,
                low=each.low,
                high=each.high,
                p_value=each.p_value,
                detected=True,
                seen=each.seen,
            )
    earlier = answer.earlier
    if earlier is None:
        return
    for missing in earlier.missing:
        yield Row(
            **common,
            value=missing.text,
            before_since=earlier.since,
            before_until=earlier.until,
            before=missing.share_before,
            before_reports=earlier.reports,
            high=missing.high,
            detected=False,
            seen=missing.verdict,
        )
