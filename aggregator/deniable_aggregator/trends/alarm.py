"""Has the distribution changed from one period of a series to the next?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_aggregator.answers.answer import AlarmNote, Check
from deniable_aggregator.estimation.changes.comparison import ALPHA
from deniable_aggregator.estimation.changes.shapes import compare_shapes
from deniable_aggregator.statistics.histograms.homogeneity import DRAWS
from deniable_aggregator.statistics.intervals import adjust_p_values
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.answers.days import Days
    from deniable_aggregator.dates import DayRange
    from deniable_aggregator.estimation.inputs import CollectedTallies

MOST_PERIODS: Final = 1 + int(ALPHA * (DRAWS + 1))
"""With more tests the smallest possible p-value, corrected, is above 5%: no alarm is possible."""

_MEANING: Final = (
    "each period is tested against the last one before it with reports, by how often the outcomes "
    "of reports came, as for a change of the whole distribution. Adjusted p-values are corrected "
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
    """Tests each period against the last one before it with reports; keeps the tallies of one.

    Raises:
        ParameterError: if there are too many tests for any of them to find a change.
    """

    def __init__(self, periods: int) -> None:
        if periods > MOST_PERIODS:
            limit = f"left out for more than {MOST_PERIODS} periods: ask for fewer or longer ones"
            raise ParameterError("alarm", limit, periods)
        self._before: tuple[DayRange, CollectedTallies] | None = None
        self.tests: list[ComparedShapes] = []

    def add(self, days: DayRange, tallies: CollectedTallies) -> None:
        """Tests the next period that has reports."""
        if self._before is not None:
            earlier, counted = self._before
            comparison = compare_shapes(counted, tallies)
            if comparison is not None:
                self.tests.append(ComparedShapes(earlier, days, comparison.p_value))
        self._before = days, tallies


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
