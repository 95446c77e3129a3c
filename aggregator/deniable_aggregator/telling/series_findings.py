"""What a series found, in a sentence: its last whole period beside the one before and the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.telling.leaders import MOST_NAMED
from deniable_aggregator.telling.numbers import PAIR, limits_of, named, range_of, size_of
from deniable_aggregator.telling.wording import counted, days_between

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.answer import Answer, Period
    from deniable_aggregator.answers.limits import Limits
    from deniable_aggregator.answers.measured import Measured

_WHOLE_PERIODS: Final = 2
"""So many are needed to say anything of the first beside the one before the last."""


def series_finding(answer: Answer) -> str:
    """What the last whole period says beside the one before it and the first.

    Where no period is whole yet, it is about the last one so far.

    Args:
        answer: a series.
    """
    by = answer.head.by or "day"
    periods = list(answer.periods())
    reported = [(period, numbers) for period, numbers in periods if period.reports]
    over = [(period, numbers) for period, numbers in reported if "incomplete" not in period.marks]
    whole = over or reported
    if not whole:
        return "; ".join(_periods_without(answer, by))
    last, numbers = whole[-1]
    line = f"in the {_which(answer, last)} ({days_between(last.since, last.until)})"
    followed = _followed(numbers)
    if len(followed) > MOST_NAMED:
        line += f", the largest of {counted(len(followed), 'value')}"
    limits = limits_of(answer)
    line += ": " + "; ".join(
        f"{named(number)} {range_of(number, limits)}{_against(number, whole, by, limits)}"
        for number in followed[:MOST_NAMED]
    )
    return "; ".join([line, *_periods_without(answer, by)])


def _periods_without(answer: Answer, by: str) -> Iterator[str]:
    """In how many periods there is no number, by the reason."""
    empty = [period for period in answer.head.periods if not period.reports]
    left_out = [period for period in empty if "left_out" in period.marks]
    none_due = [
        period
        for period in empty
        if "none_due" in period.marks and not {"left_out", "missing"} & set(period.marks)
    ]
    missing = len(empty) - len(left_out) - len(none_due)
    whole = counted(len(answer.head.periods), by)
    if missing:
        yield f"no reports in {missing:,} of {whole}"
    if left_out:
        reports = sum(period.left_out_reports for period in left_out)
        all_of_them = f"all {counted(reports, 'report')}" if reports else "all reports"
        yield f"{all_of_them} of {len(left_out):,} of {whole} are left out"
    if none_due:
        yield f"none due in {len(none_due):,} of {whole}"


def _which(answer: Answer, last: Period) -> str:
    if "incomplete" in last.marks:
        return f"{answer.head.by} so far"
    not_over = "incomplete" in answer.head.periods[-1].marks
    return f"last {'whole ' * not_over}{answer.head.by}"


def _followed(numbers: Sequence[Measured]) -> list[Measured]:
    """The numbers of a period that a sentence follows: the largest shares first."""
    shares = [number for number in numbers if number.measure == "share"]
    single = [number for number in shares if PAIR not in (number.value or "")] or shares
    combined = [number for number in numbers if number.measure == "combined"]
    quantiles = [number for number in numbers if number.measure == "quantile"]
    means = [number for number in numbers if number.measure == "mean"]
    return [*sorted([*single, *combined], key=size_of, reverse=True), *quantiles, *means]


def _against(
    number: Measured,
    whole: Sequence[tuple[Period, list[Measured]]],
    by: str,
    limits: Limits | None,
) -> str:
    """What the number was in the period before, and in the first."""
    breaks = [place for place, (period, _) in enumerate(whole) if "unlike" in period.marks]
    whole = whole[max(breaks, default=0) :]
    earlier = [(whole[-2][1], f"the {by} before")] if len(whole) > 1 else []
    if len(whole) > _WHOLE_PERIODS:
        since = f" that is comparable, of {whole[0][0].since}" if breaks else ""
        earlier.append((whole[0][1], f"in the first {by}{since}"))
    parts = []
    for numbers, when in earlier:
        other = next((other for other in numbers if _is_same(other, number)), None)
        if other is not None:
            parts.append(f"{_way(number, other)}{range_of(other, limits)} {when}")
    return f" ({', '.join(parts)})" if parts else ""


def _is_same(number: Measured, other: Measured) -> bool:
    """Whether two numbers are of the same, in two periods."""
    return (number.measure, number.value, number.quantile) == (
        other.measure,
        other.value,
        other.quantile,
    )


def _way(number: Measured, earlier: Measured) -> str:
    """How a number lies beside an earlier one, where their intervals do not even touch."""
    (low, high), (earlier_low, earlier_high) = number.ends, earlier.ends
    if low > earlier_high:
        return "up from "
    return "down from " if high < earlier_low else ""
