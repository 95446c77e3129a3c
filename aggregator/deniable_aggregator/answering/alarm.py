"""The alarm of a series: each period is tested against the one before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_aggregator.answering import weekdays
from deniable_aggregator.answering.estimation.changes import (
    ALPHA,
    compare_shapes,
)
from deniable_aggregator.answering.estimation.inputs import CollectedTallies
from deniable_aggregator.answering.rolled_slices import DaysRolledUpError
from deniable_aggregator.answers.answer import AlarmNote, Check
from deniable_aggregator.counting.statistics.intervals import adjust_p_values
from deniable_aggregator.counting.statistics.outcomes import DRAWS
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date

    from deniable_aggregator.answers.common import (
        Days,
    )
    from deniable_aggregator.answers.dates import DayRange
    from deniable_aggregator.answers.words import PeriodLength


MOST_PERIODS: Final = 1 + int(ALPHA * (DRAWS + 1))
"""With more tests the smallest possible p-value, corrected, is above 5%: no alarm is possible."""

_MEANING: Final = (
    "each period is tested against the last one before it with reports, a day against the same "
    "weekday before it, by how often the outcomes of reports came, as for a change of the whole "
    "distribution. Adjusted p-values are corrected "
    "for the number of tests (Bonferroni), so a series in which nothing changes raises an alarm "
    "with a probability of at most 5%. Periods that are not over are left out"
)


class ComparedShapes(NamedTuple):
    """The test of one period against the one before it.

    Attributes:
        before: the days of the earlier period.
        after: of the later one.
        p_value: of the test that the distribution has not changed.
    """

    before: DayRange
    after: DayRange
    p_value: float


class ShapesInTurn:
    """Tests each period against the last one before it with reports.

    Of metrics that devices report daily, a day is tested against the same weekday before, and of
    longer periods with unlike weekdays those are compared that both have.

    Args:
        periods: how many there are.
        by: how long each is.
        collect: reads what was counted on a day.

    Raises:
        ParameterError: if there are too many tests for any of them to find a change.
    """

    def __init__(
        self, periods: int, by: PeriodLength, collect: Callable[[DayRange], CollectedTallies]
    ) -> None:
        if periods > MOST_PERIODS:
            limit = f"left out for more than {MOST_PERIODS} periods: ask for fewer or longer ones"
            raise ParameterError("alarm", limit, periods)
        self._by, self._collect = by, collect
        self._before: dict[int, tuple[DayRange, CollectedTallies]] = {}
        self.tests: list[ComparedShapes] = []

    def add(self, days: DayRange, tallies: CollectedTallies) -> None:
        """Tests the next period that has reports."""
        daily = weekdays.are_daily(tallies.specs)
        place = days.since.weekday() if daily and self._by == "day" else -1
        earlier = self._before.get(place)
        self._before[place] = days, tallies
        if earlier is None:
            return
        sides = earlier[1], tallies
        if daily and self._by != "day" and weekdays.are_daily(earlier[1].specs):
            sides = self._of_same_weekdays(*sides)
        comparison = compare_shapes(*sides) if all(side.tallies for side in sides) else None
        if comparison is not None:
            self.tests.append(ComparedShapes(earlier[0], days, comparison.p_value))

    def _of_same_weekdays(
        self, before: CollectedTallies, after: CollectedTallies
    ) -> tuple[CollectedTallies, CollectedTallies]:
        """Both with the same weekdays; as they are where days were added up."""
        # The periods of metrics that are reported daily are days.
        first, second = (weekdays.by_day(side.periods.values()) for side in (before, after))
        if not weekdays.unlike(first, second):
            return before, after
        common = weekdays.common_weekdays(first, second)
        kept = {spec.digest for spec in (*before.specs, *after.specs)}

        def collect(day: DayRange) -> CollectedTallies:
            return self._collect(day).only(kept)

        def of(days: Iterable[date]) -> CollectedTallies:
            chosen = [day for day in days if day.weekday() in common]
            if not chosen:
                return CollectedTallies([], {})
            return weekdays.weighted_alike(collect, chosen)

        try:
            return of(first), of(second)
        except DaysRolledUpError:
            return before, after


def checks_of_shapes(
    tests: Sequence[ComparedShapes], places: Mapping[DayRange, int], covered: Days
) -> list[Check]:
    """The tests of a series as checks, of all periods that are over.

    Args:
        covered: what is known of the days of the series.
    """
    over = [
        test
        for test in tests
        if not any(test.after.since <= day <= test.after.until for day in covered.incomplete)
    ]
    adjusted = adjust_p_values(np.array([test.p_value for test in over]), "none").tolist()
    return [
        Check(
            day=test.after.since,
            name="alarm",
            verdict="suspicious" if corrected <= ALPHA else "ok",
            p=test.p_value,
            adjusted_p=corrected,
            period=places[test.after],
            before=places[test.before],
        )
        for test, corrected in zip(over, adjusted, strict=True)
    ]


def alarm_note(checks: Sequence[Check]) -> AlarmNote:
    """What the tests of a series amount to."""
    raised = any(check.verdict == "suspicious" for check in checks)
    return AlarmNote(raised=raised, alpha=ALPHA, meaning=_MEANING)
