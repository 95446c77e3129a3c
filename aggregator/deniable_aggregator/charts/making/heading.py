"""What stands above and below a picture: what it is about, warnings, days, and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.days import days_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deniable_aggregator.answers.common import Head, IntervalNote, MetricVersion, Notice
    from deniable_aggregator.answers.words import IntervalKind, Margin

WHOSE: Final[Mapping[Margin, str]] = {
    "noise": "the devices that reported",
    "noise-and-sampling": "the population",
}

_COVER: Final[Mapping[IntervalKind, str]] = {
    "one": "each covers by itself",
    "all": "all together",
    "picked": "after picking the top",
}


def title_of(metric: str, description: str) -> str:
    """The metric's description, or its name where it has none."""
    return description.strip() or metric


def named(metric: str, description: str) -> list[str]:
    """The metric's name, unless it is the title."""
    return [f"Metric {metric}"] if description.strip() else []


def warnings_of(notices: Iterable[Notice]) -> tuple[str, ...]:
    """What must be known before the numbers."""
    return tuple(notice.message for notice in notices if notice.severity == "warning")


def head_lines(
    answer: Head, metric: str, reports: int, versions: Iterable[MetricVersion]
) -> list[str]:
    """The subtitle of an answer about one stretch of days.

    Args:
        answer: the answer.
        metric: its metric.
        reports: how many were counted.
        versions: of the metric.
    """
    return [
        *named(metric, answer.description),
        days_in_words(answer.days),
        counted_in_words(reports, versions),
    ]


def counted_in_words(reports: int, versions: Iterable[MetricVersion]) -> str:
    """How many reports there are, and with which mechanisms they were made."""
    counted = f"{reports:,} {'report' if reports == 1 else 'reports'} (not people)"
    return "; ".join([counted, *_mechanisms(versions)])


def _mechanisms(versions: Iterable[MetricVersion]) -> list[str]:
    named = (f"{each.title}, epsilon {each.epsilon:.2f}" for each in versions)
    return list(dict.fromkeys(named))


def intervals_in_words(interval: IntervalNote) -> str:
    """What the intervals cover, such as "95% intervals, after picking the top"."""
    return f"{interval.level:.0%} intervals, {_COVER[interval.kind or 'one']}"
