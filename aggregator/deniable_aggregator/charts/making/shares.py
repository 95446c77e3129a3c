"""Figures of shares: one row per value, the largest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UNSET

from deniable_aggregator.answers.estimates import SegmentShares
from deniable_aggregator.answers.words import POSTPROCESS_LABELS
from deniable_aggregator.charts.figure import Dot, Dots, Figure, interval_of
from deniable_aggregator.charts.making.heading import (
    WHOSE,
    head_lines,
    intervals_in_words,
    title_of,
    warnings_of,
)
from deniable_aggregator.charts.making.lifts import lifts_panel
from deniable_aggregator.sentences import range_in_words
from deniable_aggregator.sentences.shares import PAIR, RECORDS
from deniable_aggregator.sentences.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.answers.estimates import Shares
    from deniable_aggregator.answers.shares import CombinedShare, Share

BOTH: Final = "Both of a pair"
"""The heading of shares of pairs."""


def shares_figure(
    answer: Shares | SegmentShares, truth: Mapping[str, float] | None, most: int
) -> Figure:
    """Shares of values; of pairs of attributes, also how much more often they occur together.

    Args:
        answer: the shares.
        truth: true shares by value, where they are known.
        most: how many values are drawn in each panel.
    """
    notes = [intervals_in_words(answer.interval)]
    panels = list(_panels(answer, truth, most))
    if not isinstance(answer, SegmentShares):
        adjusted = [dot for panel in panels for dot in panel.dots if dot.adjusted is not None]
        if answer.postprocess is not UNSET and adjusted:
            method = answer.postprocess.method
            notes.append(f"Diamonds: {POSTPROCESS_LABELS.get(method, method)}, without intervals")
        if answer.lifts is not UNSET and answer.lifts:
            panels.append(lifts_panel(answer.lifts, answer.interval.level, most))
    return Figure(
        title=title_of(answer.metric, answer.description),
        warnings=warnings_of(answer.notices),
        subtitle=tuple(head_lines(answer, answer.metric, answer.reports, answer.versions)),
        panels=tuple(panels),
        notes=tuple(notes),
        level=answer.interval.level,
    )


def _panels(
    answer: Shares | SegmentShares, truth: Mapping[str, float] | None, most: int
) -> Iterator[Dots]:
    """Values; of attributes apart from their pairs, which are shares of another kind."""
    ordered = sorted(answer.estimates, key=lambda row: -row.share)
    groups = [("", ordered)]
    if any(version.mechanism.get("name") in RECORDS for version in answer.versions):
        single = [row for row in ordered if PAIR not in row.value]
        pairs = [row for row in ordered if PAIR in row.value]
        groups = [("Attributes", single), (BOTH, pairs)]
    not_shown = answer.values_asked - len(answer.estimates)
    for heading, rows in groups:
        dots = [_dot(row, answer, truth) for row in rows[:most]]
        if heading != BOTH:
            dots = [*(_combined(each, answer) for each in _combinations(answer)), *dots]
        if dots or not heading:
            yield Dots(
                heading=heading if len(groups) > 1 else "",
                axis=f"share of {_whose(answer)}",
                unit="share",
                dots=tuple(dots),
                left_out=_left_out(rows[most:], 0 if heading else not_shown),
            )


def _whose(answer: Shares | SegmentShares) -> str:
    whose = WHOSE[answer.margin]
    if isinstance(answer, SegmentShares):
        return f"{whose} with {answer.segment.name}={answer.segment.value}"
    return whose


def _combinations(answer: Shares | SegmentShares) -> list[CombinedShare]:
    if isinstance(answer, SegmentShares):
        return []
    return [each for each in (answer.combined, answer.rest) if each is not UNSET]


def _dot(row: Share, answer: Shares | SegmentShares, truth: Mapping[str, float] | None) -> Dot:
    adjusted = None if row.adjusted is UNSET else row.adjusted
    return Dot(
        label=row.value,
        interval=interval_of(
            row.share,
            row.low,
            row.high,
            level=answer.interval.level,
            standard_error=row.standard_error,
            told=row.detected,
        ),
        aside=_of_reports(row.reports, answer.reports),
        truth=None if truth is None else truth.get(row.value),
        # Beside the truth there is no room for it.
        adjusted=adjusted if truth is None else None,
    )


def _combined(row: CombinedShare, answer: Shares | SegmentShares) -> Dot:
    return Dot(
        label=" + ".join(row.values),
        interval=interval_of(
            row.share,
            row.low,
            row.high,
            level=answer.interval.level,
            standard_error=row.standard_error,
            told=row.low > 0,
        ),
        aside=_of_reports(row.reports, answer.reports) or "together",
    )


def _of_reports(some: int, reports: int) -> str:
    """How many reports a share is of, where these are not all."""
    return "" if some == reports else f"of {counted(some, 'report')}"


def _left_out(rows: Sequence[Share], not_shown: int) -> str:
    """What is said of values that are not drawn; empty if all are."""
    count = len(rows) + not_shown
    if count <= 0:
        return ""
    what = f"{count:,} more {'value is' if count == 1 else 'values are'} not drawn"
    if not_shown > 0:
        return what
    highest = range_in_words(0.0, max(0.0, *(row.high for row in rows)))
    return f"{what}: {'it is' if count == 1 else 'all are'} {highest}"
