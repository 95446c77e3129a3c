"""Figures of health: the verdicts of checks, by key and day."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.days import days_in_words, key_in_words
from deniable_aggregator.charts.figure import Figure, Grid, GridRow
from deniable_aggregator.charts.making.heading import warnings_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from deniable_aggregator.answers.integrity import Health

WORST_FIRST: Final = ("suspicious", "uneven", "unknown", "ok")


def health_figure(answer: Health, most: int) -> Figure:
    """Whether the reports of each key look like those of devices, day by day.

    Args:
        answer: the health of a metric.
        most: how many keys are drawn: suspicious ones first, then those with the most reports.
    """
    by_key: dict[str, dict[date, list[str]]] = {}
    names: dict[str, str] = {}
    reports: dict[str, int] = {}
    together: dict[date, list[str]] = {}
    for day in answer.by_day:
        together.setdefault(day.day, []).append(day.verdict)
        for key in day.keys:
            names[key.key] = key_in_words(key.key, key.label)
            reports[key.key] = reports.get(key.key, 0) + key.reports
            by_key.setdefault(key.key, {}).setdefault(day.day, []).append(key.verdict)
    for uneven in answer.days.uneven:
        together.setdefault(uneven, []).append("uneven")
    worst = {
        key: _worst_of(each for verdicts in found.values() for each in verdicts)
        for key, found in by_key.items()
    }
    order = sorted(by_key, key=lambda key: (worst[key], -reports[key]))
    covered = range(answer.days.covered)
    days = tuple(answer.days.since + timedelta(number) for number in covered)
    rows = [_row("All reports", together, days)]
    rows += [_row(names[key], by_key[key], days) for key in order[:most]]
    more = len(order) - most
    return Figure(
        title=f"Whether reports of {answer.metric} look like those of devices",
        warnings=warnings_of(answer.notices),
        subtitle=(days_in_words(answer.days), f"{answer.checks_made:,} checks"),
        panels=(
            Grid(
                axis="keys that brought reports, by day",
                days=days,
                rows=tuple(rows),
                left_out=f"{more:,} more keys are not drawn; none is worse" if more > 0 else "",
            ),
        ),
        notes=("Suspicious: a check fails that honest reports nearly always pass.",),
        level=1 - answer.alarm.p_below,
    )


def _row(label: str, found: dict[date, list[str]], days: Iterable[date]) -> GridRow:
    verdicts = tuple(WORST_FIRST[_worst_of(found[day])] if day in found else "" for day in days)
    return GridRow(label=label, verdicts=verdicts)


def _worst_of(verdicts: Iterable[str]) -> int:
    """The place of the worst of some verdicts in `WORST_FIRST`."""
    return min(WORST_FIRST.index(each) for each in verdicts)
