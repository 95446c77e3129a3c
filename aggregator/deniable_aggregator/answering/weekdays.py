"""Periods of unlike weekdays: those that both have are compared, each weighted alike.

What devices do has a rhythm of a week, so Monday to Friday differ from Saturday and Sunday though
nothing has changed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.answering.estimation.inputs import CollectedTallies, UnanswerableError
from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.dates import DayRange, day_of
from deniable_aggregator.telling.wording import counted, days_between, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import date

    from numpy.typing import NDArray

    from deniable_shared.spec import Spec

    ReportsByDay = Mapping[date, int]

WEEK: Final = 7
NAMES: Final = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
)  # fmt: skip
LEAST_PART: Final = 0.1
"""A weekday counts if it has such a part of the reports of an average one of its period: weighted
like the others, fewer would make the answer as imprecise as they are."""


def in_words(weekdays: Collection[int]) -> str:
    """Such as "Monday to Friday" or "Monday and Thursday".

    Args:
        weekdays: at least one, of 0 for Monday to 6.
    """
    ordered = sorted(weekdays)
    in_a_row = len(ordered) > 2 and all(two - one == 1 for one, two in pairwise(ordered))
    if in_a_row:
        return f"{NAMES[ordered[0]]} to {NAMES[ordered[-1]]}"
    return listed([NAMES[weekday] for weekday in ordered])


def are_daily(specs: Iterable[Spec]) -> bool:
    """Whether devices report every day: other metrics have no weekdays."""
    return all(spec.every == "day" for spec in specs)


def unlike(before: Iterable[date], after: Iterable[date]) -> bool:
    """Whether the mix of weekdays of two periods differs.

    Args:
        before: the days with reports.
        after: likewise.
    """
    first, second = (Counter(day.weekday() for day in days) for days in (before, after))
    days = first.total(), second.total()
    return any(first[day] * days[1] != second[day] * days[0] for day in range(WEEK))


def common_weekdays(before: ReportsByDay, after: ReportsByDay) -> list[int]:
    """The weekdays that both periods have, with enough reports.

    Args:
        before: how many reports each day has.
        after: likewise.
    """
    first, second = (_enough(days) for days in (before, after))
    return sorted(first & second)


def _enough(days: ReportsByDay) -> set[int]:
    reports: Counter[int] = Counter()
    for day, count in days.items():
        reports[day.weekday()] += count
    present = {weekday: count for weekday, count in reports.items() if count}
    least = LEAST_PART * sum(present.values()) / max(len(present), 1)
    return {weekday for weekday, count in present.items() if count >= least}


class Matched(NamedTuple):
    """Two periods of which the same weekdays are compared.

    Attributes:
        before: the first.
        after: the second.
        notice: which weekdays these are, and what is left out.
    """

    before: CollectedTallies
    after: CollectedTallies
    notice: Notice


def match(
    collect: Sequence[Callable[[DayRange], CollectedTallies]],
    days: Sequence[ReportsByDay],
    sides: tuple[str, str] | None = None,
) -> Matched:
    """Both periods with their common weekdays, each weighted alike.

    Args:
        collect: reads what was counted on a day, of the first and of the second period.
        days: how many reports each day has, in either.
        sides: what the two are called if they are not periods.

    Raises:
        UnanswerableError: if they have no weekday in common.
    """
    weekdays = common_weekdays(*days)
    mixes = [in_words({day.weekday() for day in side}) for side in days]
    if not weekdays:
        raise _nothing_in_common(mixes, days[0], days[1], sides)
    before, after = (
        weighted_alike(read, [day for day in side if day.weekday() in weekdays])
        for read, side in zip(collect, days, strict=True)
    )
    left_out = sum(
        count for side in days for day, count in side.items() if day.weekday() not in weekdays
    )
    without = f"; {counted(left_out, 'report')} of other weekdays are left out" * bool(left_out)
    message = (
        f"{_mixes_differ(sides)}: compared are "
        f"{in_words(weekdays)}, each weighted alike{without}. The difference of all days as they "
        "are stands beside. Whole weeks are compared as they are"
    )
    return Matched(before, after, Notice("weekdays_matched", "note", message))


def _mixes_differ(sides: tuple[str, str] | None) -> str:
    if sides is None:
        return "The days before are not the same weekdays as those after"
    return f"The days of {sides[0]} are not the same weekdays as those of {sides[1]}"


def not_kept_apart(last: date, sides: tuple[str, str] | None = None) -> Notice:
    """That periods of unlike weekdays are compared as they are, since days were added up.

    Args:
        last: of the days that were.
        sides: what the two are called if they are not periods.
    """
    return Notice(
        "weekdays_unknown",
        "warning",
        f"{_mixes_differ(sides)}, and weekdays are not kept "
        f"apart before {last + timedelta(1)}: part of a difference may be the rhythm of the week. "
        "Compare whole weeks",
    )


def _nothing_in_common(
    mixes: Sequence[str],
    before: ReportsByDay,
    after: ReportsByDay,
    sides: tuple[str, str] | None,
) -> UnanswerableError:
    if sides is not None:
        return UnanswerableError(
            "since",
            str(min(before)),
            f"These cannot be compared: the days of {sides[0]} are {mixes[0]}, those of {sides[1]} "
            f"{mixes[1]}, and what devices do on other weekdays may differ. Ask about days on "
            "which both have reports",
        )
    first, last = min(after), max(after)
    back = timedelta(WEEK * -(-((last - first).days + 1) // WEEK))
    return UnanswerableError(
        "before",
        str(min(before)),
        f"These days cannot be compared: before they are {mixes[0]}, after {mixes[1]}, and what "
        "devices do on other weekdays may differ though nothing has changed. Compare with the same "
        f"weekdays before, {days_between(first - back, last - back)}, or whole weeks",
    )


def weighted_alike(
    collect: Callable[[DayRange], CollectedTallies], days: Iterable[date]
) -> CollectedTallies:
    """What was counted on some days, so that each weekday has the same weight.

    A report of a weekday with n reports has the weight 1 / (W n), of W weekdays. The counts are
    those of as many reports as are as precise, W^2 / sum(1 / n): every estimate is a function of
    how often outcomes came among all reports, and its variance is inversely as these. The pairs of
    reports that may come from one device are, relative to them, at least as many as there are.

    Args:
        collect: reads what was counted on a day.
        days: with reports.
    """
    sums: defaultdict[int, dict[Spec, NDArray[np.int64]]] = defaultdict(dict)
    reports: Counter[int] = Counter()
    periods: defaultdict[bytes, dict[int, tuple[int, int]]] = defaultdict(dict)
    counts_of: Counter[Spec] = Counter()
    excluded = 0
    for day in days:
        tallies, weekday = collect(DayRange(day, day)), day.weekday()
        reports[weekday] += tallies.reports
        excluded += tallies.excluded
        for spec, counts in tallies.tallies:
            before = sums[weekday].get(spec)
            sums[weekday][spec] = counts if before is None else before + counts
            for number, count in tallies.periods[spec.digest].items():
                periods[spec.digest][number] = weekday, count
                counts_of[spec] += count
    precise = len(reports) ** 2 / sum(1 / count for count in reports.values())
    weight = {weekday: precise / (len(reports) * count) for weekday, count in reports.items()}
    scaled: list[tuple[Spec, NDArray[np.int64]]] = []
    for spec in counts_of:
        total: Any = sum(
            weight[weekday] * of_specs[spec].astype(np.float64)
            for weekday, of_specs in sums.items()
            if spec in of_specs
        )
        scaled.append((spec, _rounded(total)))
    return CollectedTallies(
        scaled,
        {
            digest: {
                number: max(1, round(weight[weekday] * count))
                for number, (weekday, count) in counted_days.items()
            }
            for digest, counted_days in periods.items()
        },
        excluded,
        counted=tuple(counts_of.items()),
    )


def _rounded(counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole numbers whose sums over any cells in a row are off by less than 1."""
    edges = np.concatenate([[0.0], np.cumsum(counts)])
    whole = np.floor(edges + 0.5).astype(np.int64)
    return np.asarray(whole[1:] - whole[:-1])


def by_day(reports: Iterable[Mapping[int, int]]) -> dict[date, int]:
    """How many reports each day has, of all versions together.

    Args:
        reports: of each version, by day since 1970-01-01.
    """
    days: Counter[int] = Counter()
    for of_version in reports:
        days.update(of_version)
    return {day_of(epoch): count for epoch, count in sorted(days.items()) if count}
