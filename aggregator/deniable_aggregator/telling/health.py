"""Tables of health: how the reports of each day look, each key against all others, all metrics."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.telling.checks import CHECK_WORDS
from deniable_aggregator.telling.document import Column, Document, Row, Table
from deniable_aggregator.telling.numbers import contrast_in_words, contrast_judged
from deniable_aggregator.telling.wording import (
    VERDICT_WORDS,
    days_between,
    days_shortly,
    key_in_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from deniable_aggregator.answers.answer import Answer, Check
    from deniable_aggregator.answers.common import NamedKey
    from deniable_aggregator.answers.health_overview import HealthOverview, MetricHealth
    from deniable_aggregator.answers.words import Verdict

FOLDED: Final = 3
"""From so many rows of honest days on these are one row."""

SHORT: Final = 4
"""So many letters of a version's id are shown."""

MOST_NAMED: Final = 10
"""Of metrics without reports."""


class DayVerdict(NamedTuple):
    """The checks of one day's reports of one version.

    Attributes:
        day: which.
        version: the id of the version.
        reports: how many there are.
        verdict: of all checks.
        checks: all of them, those of keys too.
        keys: those that fail a check, as people know them.
    """

    day: date
    version: str
    reports: int
    verdict: Verdict
    checks: Sequence[Check]
    keys: Sequence[str]


def days_of(answer: Answer) -> list[DayVerdict]:
    """The verdicts of an answer about health, by day and version.

    Args:
        answer: about health.
    """
    days = []
    for (day, version), group in groupby(answer.checks, key=lambda each: (each.day, each.version)):
        checks = list(group)
        whole = next(each for each in checks if each.key is None and each.name is None)
        labels = {each.key: each.label or "" for each in checks if each.key is not None}
        keys = [key_in_words(key, labels[key]) if key in labels else key for key in whole.stand_out]
        made = [each for each in checks if each.name is not None]
        days.append(DayVerdict(day, version, whole.reports, whole.verdict, made, keys))
    return days


def health_tables(answer: Answer) -> Iterator[Table]:
    """How the reports of each day look, and each key against all others.

    Args:
        answer: about the health of one metric.
    """
    lines = list(_lines(days_of(answer)))
    yield Table(
        name="days",
        caption="Reports by day",
        columns=[
            Column(heading="day", words=True),
            Column(heading="version", words=True, minor=True),
            Column(heading="reports"),
            Column(heading="look", words=True),
            Column(heading="worst check", words=True, folds=True),
            Column(heading="p", minor=True),
            Column(heading="keys that fail it", words=True, folds=True),
        ],
        rows=[Row(cells=cells) for cells in lines],
    )
    contrasts = [each for each in answer.numbers if each.measure.startswith("contrast")]
    if contrasts:
        yield Table(
            name="keys",
            caption="Each key against all others, on the same days",
            columns=[
                Column(heading="key", words=True, folds=True),
                Column(heading="version", words=True, minor=True),
                Column(heading="reports"),
                Column(heading="of all"),
                Column(heading="differs most in", words=True, folds=True),
                Column(heading="verdict", words=True, folds=True),
            ],
            rows=[
                Row(
                    cells=(
                        key_in_words(each.key or "", each.label or ""),
                        (each.version or "")[:SHORT],
                        f"{each.reports or 0:,}",
                        f"{each.part or 0.0:.1%}",
                        contrast_in_words(each),
                        contrast_judged(each),
                    )
                )
                for each in contrasts
            ],
        )


def _lines(days: Sequence[DayVerdict]) -> Iterator[tuple[str, ...]]:
    """A row for each day and version; honest days that follow each other are one."""
    odd = {day.day for day in days if day.verdict != "ok"}
    for honest, group in groupby(days, lambda each: each.day not in odd):
        some = list(group)
        if honest and len(some) >= FOLDED:
            yield _line(some)
        else:
            yield from (_line([day]) for day in some)


def _line(days: Sequence[DayVerdict]) -> tuple[str, ...]:
    """Some days in a row, which look alike."""
    versions = {day.version for day in days}
    made = [check for day in days for check in day.checks if check.p is not None]
    worst = min(made, key=lambda check: check.p or 0.0, default=None)
    return (
        days_between(min(day.day for day in days), max(day.day for day in days)),
        days[0].version[:SHORT] if len(versions) == 1 else "",
        f"{sum(day.reports for day in days):,}",
        VERDICT_WORDS[days[0].verdict],
        "" if worst is None else _check_in_words(worst),
        "" if worst is None else f"{worst.p:.2g}",
        ", ".join(dict.fromkeys(key for day in days for key in day.keys)),
    )


def _check_in_words(check: Check) -> str:
    """What a check looks at, and whether it passed."""
    passed = "passed" if check.verdict == "ok" else "failed"
    return f"{CHECK_WORDS[check.name or 'sum']}, {passed}"


def overview_document(answer: HealthOverview) -> Document:
    """What is said of the health of all metrics, suspicious ones first.

    Args:
        answer: the health of all metrics.
    """
    metrics = [each for each in answer.metrics if each.last_day is not None]
    if not answer.metrics:
        return Document(metric="", title="", finding="There are no metrics yet.")
    return Document(
        metric=answer.application,
        title=answer.application,
        also="do the reports of all metrics look honest?",
        cautions=[each.message for each in answer.notices if each.severity == "warning"],
        notes=[each.message for each in answer.notices if each.severity != "warning"],
        days=[f"Days: {_days_asked(answer)}."],
        tables=[
            Table(
                name="metrics",
                caption="Reports of all metrics",
                columns=[
                    Column(heading="metric", words=True),
                    Column(heading="look", words=True),
                    Column(heading="reports", minor=True),
                    Column(heading="last reports", words=True, minor=True),
                    Column(heading="what is odd", words=True, folds=True),
                ],
                rows=[
                    Row(
                        cells=(
                            each.metric,
                            VERDICT_WORDS[each.verdict],
                            f"{each.reports:,}",
                            f"{each.last_day}{', stopped' if each.stopped_since else ''}",
                            _odd(each),
                        )
                    )
                    for each in metrics
                ],
            )
        ],
        below=list(_overview_notes(answer)),
    )


def _overview_notes(answer: HealthOverview) -> Iterator[str]:
    """What could not be looked at, and what to do next; a line each."""
    for each in answer.metrics:
        # That there are no reports is to be seen in the table.
        if each.unanswered is not None and each.reports:
            yield f"{each.metric}: {each.unanswered}"
        if each.not_checked:
            yield (
                f"{each.metric}: {each.not_checked:,} earlier days were not checked. Narrow the "
                f"days, or look at deniable health {each.metric}."
            )
    silent = [each.metric for each in answer.metrics if each.last_day is None]
    if silent:
        more = f" and {len(silent) - MOST_NAMED:,} more" if silent[MOST_NAMED:] else ""
        yield f"No reports yet: {', '.join(silent[:MOST_NAMED])}{more}."
    for each in answer.metrics:
        if each.verdict in ("suspicious", "uneven", "surge"):
            yield f"Look at deniable health {each.metric}."


def _days_asked(answer: HealthOverview) -> str:
    if answer.since is None:
        return "all" if answer.until is None else f"until {answer.until}"
    return f"{answer.since} to {answer.until or answer.today}"


def _odd(each: MetricHealth) -> str:
    """What is odd, whose reports these are and on which days, such as "too many ones: partner"."""
    if each.worst is None:
        return "no reports in these days" if each.unanswered and each.last_day else ""
    parts = []
    if each.verdict == "suspicious":
        check = CHECK_WORDS[each.worst.name or "sum"]
        parts.append(f"{check}, {days_shortly(each.suspicious_days)}")
        if each.suspicious_keys:
            parts.append(f"key {_names(each.suspicious_keys)}")
    uneven = [key for key in each.uneven_keys if key not in each.suspicious_keys]
    if uneven:
        parts.append(f"{_names(uneven)} answers unlike the other keys")
    if each.surge_days:
        parts.append(f"far more reports than usual, {days_shortly(each.surge_days)}")
        if each.surge_keys:
            parts.append(f"key {_names(each.surge_keys)}")
    return "; ".join(parts)


def _names(keys: Sequence[NamedKey]) -> str:
    return ", ".join(key_in_words(key.key, key.label) for key in keys)
