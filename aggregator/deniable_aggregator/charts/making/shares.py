"""Figures of shares: one row per value, the largest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from deniable_aggregator.charts.words import percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.answers.estimates import CombinedShare, Share, Shares


def shares_figure(
    answer: Shares | SegmentShares, truth: Mapping[str, float] | None, most: int
) -> Figure:
    """Shares of values.

    Args:
        answer: the shares.
        truth: true shares by value, where they are known.
        most: how many values are drawn.
    """
    ordered = sorted(answer.estimates, key=lambda row: -row.share)
    drawn, left = ordered[:most], ordered[most:]
    level = answer.interval.level
    dots = [_combined(each, answer.reports, level) for each in _combinations(answer)]
    dots += [_dot(row, answer.reports, level, truth) for row in drawn]
    notes = [intervals_in_words(answer.interval)]
    if not isinstance(answer, SegmentShares) and answer.postprocess is not UNSET:
        method = answer.postprocess.method
        if any(dot.adjusted is not None for dot in dots):
            notes.append(f"Diamonds: {POSTPROCESS_LABELS.get(method, method)}, without intervals")
    return Figure(
        title=title_of(answer.metric, answer.description),
        warnings=warnings_of(answer.notices),
        subtitle=tuple(head_lines(answer, answer.metric, answer.reports, answer.versions)),
        panels=(
            Dots(
                axis=f"share of {_whose(answer)}",
                unit="share",
                dots=tuple(dots),
                left_out=_left_out(left, answer.values_asked - len(answer.estimates)),
            ),
        ),
        notes=tuple(notes),
        level=level,
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


def _dot(row: Share, reports: int, level: float, truth: Mapping[str, float] | None) -> Dot:
    adjusted = None if row.adjusted is UNSET else row.adjusted
    return Dot(
        label=row.value,
        interval=interval_of(
            row.share,
            row.low,
            row.high,
            level=level,
            standard_error=row.standard_error,
            told=row.detected,
        ),
        aside=_of_reports(row.reports, reports),
        truth=None if truth is None else truth.get(row.value),
        # Beside the truth there is no room for it.
        adjusted=adjusted if truth is None else None,
    )


def _combined(row: CombinedShare, reports: int, level: float) -> Dot:
    return Dot(
        label=" + ".join(row.values),
        interval=interval_of(
            row.share,
            row.low,
            row.high,
            level=level,
            standard_error=row.standard_error,
            told=row.low > 0,
        ),
        aside=_of_reports(row.reports, reports) or "together",
    )


def _of_reports(some: int, reports: int) -> str:
    """How many reports a share is of, where these are not all."""
    return "" if some == reports else f"of {some:,} reports"


def _left_out(rows: Sequence[Share], not_shown: int) -> str:
    """What is said of values that are not drawn; empty if all are."""
    count = len(rows) + not_shown
    if count <= 0:
        return ""
    what = f"{count:,} more {'value is' if count == 1 else 'values are'} not drawn"
    if not_shown > 0:
        return what
    highest = percent(max(row.high for row in rows))
    return f"{what}: {'it is' if count == 1 else 'all are'} below {highest}"
