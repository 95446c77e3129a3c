"""Figures of strings that nobody listed: whole ones, and apart from them beginnings of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.figure import Dot, Dots, Figure, interval_of
from deniable_aggregator.charts.making.heading import (
    head_lines,
    intervals_in_words,
    title_of,
    warnings_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.discoveries import FoundString, FoundStrings

AXIS: Final = "share of the devices that reported"


def discovery_figure(answer: FoundStrings, most: int) -> Figure:
    """The strings that were found.

    Args:
        answer: what was found.
        most: how many are drawn of each kind.
    """
    level = answer.interval.level
    groups = [
        ("Whole strings", AXIS, answer.strings),
        (
            "First letters of longer strings",
            f"{AXIS}, at least: more may begin so than the upper end allows",
            answer.prefixes,
        ),
    ]
    return Figure(
        title=title_of(answer.metric, answer.description),
        warnings=warnings_of(answer.notices),
        subtitle=tuple(head_lines(answer, answer.metric, answer.reports, [answer.version])),
        panels=tuple(
            _panel(heading, axis, found, level, most) for heading, axis, found in groups if found
        ),
        notes=(
            intervals_in_words(answer.interval),
            *(() if any(found for *_, found in groups) else ("No string was found.",)),
        ),
        level=level,
    )


def _panel(heading: str, axis: str, found: Sequence[FoundString], level: float, most: int) -> Dots:
    more = len(found) - most
    return Dots(
        heading=heading,
        axis=axis,
        unit="share",
        dots=tuple(
            Dot(
                label=row.shown,
                interval=interval_of(row.share, row.low, row.high, level=level),
                aside=_aside(row),
            )
            for row in found[:most]
        ),
        left_out=f"{more:,} more with smaller shares are not drawn" if more > 0 else "",
    )


def _aside(row: FoundString) -> str:
    """What is not so of most rows: that the last window had not found it, or little evidence."""
    said = ["new"] if row.seen == "new" else []
    if row.evidence != "overwhelming":
        said.append(f"{row.evidence} evidence")
    return ", ".join(said)
