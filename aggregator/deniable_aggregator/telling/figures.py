"""The figure of an answer, whatever was asked: its numbers as rows, lines, bars or verdicts."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from deniable_aggregator.telling.cautions import (
    cautions,
    days_in_words,
    intervals_in_words,
    mechanisms_in_words,
    title,
)
from deniable_aggregator.telling.figure import (
    Event,
    Figure,
    Grid,
    GridRow,
    Line,
    Lines,
    Moment,
    Panel,
)
from deniable_aggregator.telling.figure_panels import (
    change_panels,
    histogram_panel,
    mean_panel,
    parts_panel,
    shares_panels,
    strings_panels,
    threshold_panels,
    whose,
)
from deniable_aggregator.telling.figure_words import ABSENT
from deniable_aggregator.telling.numbers import SHARES, interval_of_number, name_of
from deniable_aggregator.telling.wording import POSTPROCESS_LABELS, counted, key_in_words
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from deniable_aggregator.answers.answer import Answer, Head
    from deniable_aggregator.answers.dates import DayRange
    from deniable_aggregator.answers.limits import Limits
    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.answers.words import PeriodLength

MOST_ROWS: Final = 25
MOST_LINES: Final = 8
"""More small pictures cannot be compared with one another."""

LEVEL: Final = 0.95
"""Of the intervals in the table of estimates."""

_WORST_FIRST: Final = ("suspicious", "uneven", "surge", "unknown", "ok")


def figure_of(
    answer: Answer,
    truth: Mapping[str, float] | None = None,
    *,
    most: int = MOST_ROWS,
    first: str = "",
) -> Figure:
    """The figure of an answer.

    Args:
        answer: to any question about one metric.
        truth: true shares by value, where they are known.
        most: how many values are drawn; of a series at most 8.
        first: the value that the first line of a series follows; without one, the largest.
    """
    head, notes = answer.head, []
    panels: list[Panel]
    if head.kind == "health":
        panels = [_verdicts(answer, most)]
        notes = ["Suspicious: a check fails that honest reports nearly always pass."]
    elif answer.question.name == "series":
        panels = [_over_time(answer, most, first=first)]
        if head.kind == "distribution" and answer.of("share"):
            panels.append(_over_time(answer, most, thresholds=True))
    elif answer.compares:
        panels = list(change_panels(answer, most))
    elif head.kind == "strings":
        panels = list(strings_panels(answer, most))
        notes = [] if panels else ["No string was found."]
    elif head.kind == "shares":
        panels = list(shares_panels(answer, truth, most))
        if any(number.adjusted is not None for number in answer.of("share")) and truth is None:
            method = head.postprocess or ""
            notes = [f"Diamonds: {POSTPROCESS_LABELS.get(method, method)}, without intervals"]
    elif head.kind == "mean":
        panels = [mean_panel(answer)]
    else:
        panels = [histogram_panel(answer), *threshold_panels(answer)]
        notes = [f"Shares of bins are {head.label}."]
    if answer.question.name != "series":
        panels += parts_panel(answer, most)
    if head.interval is not None:
        notes.insert(0, intervals_in_words(head.level, head.interval.kind))
    of_health = f"Whether reports of {head.metric} look like those of devices"
    return Figure(
        title=of_health if head.kind == "health" else title(answer),
        warnings=tuple(cautions(answer)),
        subtitle=tuple(_subtitle(head)),
        panels=tuple(panels),
        notes=tuple(notes),
        level=1 - head.checks.p_below if head.checks else head.level,
    )


def trend_figure(
    title: str,
    by: PeriodLength,
    periods: Sequence[tuple[DayRange, Measured | None, Sequence[str]]],
    limits: Limits | None = None,
) -> Figure:
    """One number, period by period, of the table of estimates.

    Args:
        title: whose number it is.
        by: how long a period is.
        periods: all that are drawn, in their order: the days, the number if there is one, and what
            is special about them.
        limits: the range of a metric of numbers, if it is known.
    """
    numbers = [number for _, number, _ in periods if number is not None]
    shares = any(number.measure == "share" for number in numbers)
    moments = [
        Moment(
            since=days.since,
            until=days.until,
            interval=None
            if number is None or number.low is None
            else interval_of_number(number, LEVEL, limits),
        )
        for days, number, _ in periods
    ]
    panel = Lines(
        axis="share of reports" if shares else "number",
        unit="share" if shares else "number",
        by=by,
        marks=tuple(_marks(marks, bool(number)) for number, marks in _with_breaks(periods)),
        lines=(Line(label=title, moments=tuple(moments)),),
    )
    return Figure(title=title, panels=(panel,), level=LEVEL)


def _with_breaks(
    periods: Iterable[tuple[DayRange, Measured | None, Sequence[str]]],
) -> Iterator[tuple[Measured | None, Sequence[str]]]:
    """The numbers with their marks, also where the range is another than in the period before."""
    before: tuple[float | None, float | None] | None = None
    for _, number, marks in periods:
        if number is None:
            yield number, marks
            continue
        ends = number.bin_from, number.bin_to
        yield number, marks if before in (None, ends) else (*marks, "unlike")
        before = ends


def _over_time(answer: Answer, most: int, *, first: str = "", thresholds: bool = False) -> Lines:
    """A line for each value, those with the largest mean; of a number for mean and quantiles.

    Args:
        answer: a series.
        most: how many lines are drawn.
        first: the value that the first line follows; without one, the largest.
        thresholds: of a distribution, whether it is of the share above or below a number.
    """
    head, shares = answer.head, answer.head.kind == "shares" or thresholds
    by_subject: dict[Hashable, dict[int, Measured]] = {}
    for number in answer.of(*SHARES) if shares else answer.of("mean", "quantile"):
        subject = number.measure, number.value, number.quantile
        by_subject.setdefault(subject, {})[number.period] = number
    lines = list(by_subject.values())
    if shares:
        lines.sort(key=lambda line: (_value(line) != first, -_average(line.values())))
    parts = _by_part(answer, _any_of(lines[0])) if lines else {}
    drawn = lines[: max(min(most, MOST_LINES) - len(parts), 1)]
    left = f"the {len(drawn)} largest of {len(lines)} values" if len(lines) > len(drawn) else ""
    names = [name_of(_any_of(line)) for line in drawn]
    names += [f"{names[0]}, {part}" for part in parts]
    drawn = [*drawn, *parts.values()][:MOST_LINES]
    return Lines(
        axis=f"share of {whose(head)}" if shares else f"{head.metric}, of {whose(head)}",
        unit="share" if shares else "number",
        by=head.by or "day",
        marks=tuple(_marks(period.marks, bool(period.reports)) for period in head.periods),
        lines=tuple(
            Line(
                label=label,
                moments=tuple(
                    Moment(
                        since=period.since,
                        until=period.until,
                        interval=interval_of_number(line[place], head.level, head.limits)
                        if place in line
                        else None,
                    )
                    for place, period in enumerate(head.periods)
                ),
            )
            for label, line in zip(names, drawn, strict=False)
        ),
        events=tuple(Event(day=each.day, text=each.text) for each in head.annotations),
        left_out=left,
    )


def _any_of(line: Mapping[int, Measured]) -> Measured:
    """A number of a line: what it is of is the same in all periods."""
    return next(iter(line.values()))


def _value(line: Mapping[int, Measured]) -> str | None:
    return _any_of(line).value


def _by_part(answer: Answer, like: Measured) -> dict[str, dict[int, Measured]]:
    """A number of each part of the reports, by period."""
    found: dict[str, dict[int, Measured]] = {}
    for each in answer.of_parts:
        if (each.measure, each.value, each.quantile) == (like.measure, like.value, like.quantile):
            found.setdefault(visible(each.within or ""), {})[each.period] = each
    return found


def _verdicts(answer: Answer, most: int) -> Grid:
    """Whether the reports of each key look like those of devices, day by day, the worst first."""
    head = answer.head
    by_key: dict[str | None, dict[date, list[str]]] = {None: {}}
    names: dict[str, str] = {}
    reports: dict[str, int] = {}
    for check in answer.checks:
        if check.name is None:
            by_key.setdefault(check.key, {}).setdefault(check.day, []).append(check.verdict)
            if check.key is not None:
                names[check.key] = key_in_words(check.key, check.label or "")
                reports[check.key] = reports.get(check.key, 0) + check.reports
    days: tuple[date, ...] = ()
    if head.days is not None:
        days = tuple(head.days.since + timedelta(number) for number in range(head.days.covered))
        for uneven in head.days.uneven:
            by_key[None].setdefault(uneven, []).append("uneven")
        for surge in head.days.surges:
            by_key[None].setdefault(surge, []).append("surge")
    worst = {
        key: _worst_of(verdict for some in by_key[key].values() for verdict in some)
        for key in names
    }
    order = sorted(names, key=lambda key: (worst[key], -reports[key]))
    more = len(order) - most
    return Grid(
        axis="keys that brought reports, by day",
        days=days,
        rows=(
            _grid_row("All reports", by_key[None], days),
            *(_grid_row(names[key], by_key[key], days) for key in order[:most]),
        ),
        left_out=f"{more:,} more keys are not drawn; none is worse" if more > 0 else "",
    )


def _grid_row(label: str, verdicts: Mapping[date, list[str]], days: Iterable[date]) -> GridRow:
    worst = (_WORST_FIRST[_worst_of(verdicts[day])] if day in verdicts else "" for day in days)
    return GridRow(label=label, verdicts=tuple(worst))


def _worst_of(verdicts: Iterable[str]) -> int:
    """The place of the worst of some verdicts in `_WORST_FIRST`."""
    return min(map(_WORST_FIRST.index, verdicts))


def _subtitle(head: Head) -> Iterator[str]:
    """The metric's name unless it is the title, the days, and how many reports of what kind."""
    if head.kind == "health":
        yield from (days_in_words(days) for days in head.covered)
        yield f"{head.checks.made if head.checks else 0:,} checks"
        return
    if head.description.strip():
        yield f"Metric {head.metric}"
    if head.days is not None:
        yield days_in_words(head.days)
    else:
        for when, period in zip(("Before", "After"), head.periods, strict=False):
            when = when if period.side is None else visible(period.side)
            days = f"{period.since} to {period.until}"
            days = days_in_words(period.days) if period.days else days
            yield f"{when}: {days}; {period.reports:,} reports"
    count = f"{counted(head.reports, 'report')} (not people)"
    yield "; ".join(filter(None, (count, mechanisms_in_words(head.versions))))


def _marks(marks: Sequence[str], has_reports: bool) -> tuple[str, ...]:
    """The marks of a period; of one with reports, the days without are only said above."""
    return tuple(mark for mark in marks if mark not in ABSENT or not has_reports)


def _average(numbers: Iterable[Measured]) -> float:
    known = [number.estimate for number in numbers if number.estimate is not None]
    return sum(known) / len(known) if known else 0.0
