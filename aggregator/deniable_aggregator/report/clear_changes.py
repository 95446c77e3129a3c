"""Which changes are clear where many metrics are compared at once, in a report or on the overview.

Each metric's test allows for its own values. A report of fifty metrics would still show two or
three clear changes where nothing has changed. So metrics are chosen first, by Benjamini and
Hochberg over one p-value per metric, and within those that are chosen the level is made smaller by
the part that they are of all (Benjamini and Bogomolov, 2014, "Selective inference on multiple
families of hypotheses"): of the changes that the report calls clear, 5% at most on average, over
the chosen metrics, are none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from msgspec import UNSET
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.answers.estimate_table import TableRow
    from deniable_aggregator.answers.trends import Change

ALPHA: Final = 0.05
"""Of the tests whose outcomes are in the table of estimates."""


def at_report_level(changes: Sequence[Change]) -> dict[str, Change]:
    """The same changes, clear only if they are so among those of all metrics; by metric.

    Args:
        changes: one per metric, as each was answered by itself.
    """
    tests = [_tests_of_answer(each) for each in changes]
    level = _level(tests, min((each.test.alpha for each in changes), default=0.0))
    return {
        change.metric: _answer_at_level(change, test, level)
        for change, test in zip(changes, tests, strict=True)
    }


def rows_at_report_level(
    metrics: Mapping[str, Sequence[TableRow]],
) -> dict[str, list[TableRow]]:
    """The same of the rows that the table of estimates has of changes.

    Args:
        metrics: for each metric the rows of what has changed in the same week or month.
    """
    tests = {metric: _tests_of_rows(rows) for metric, rows in metrics.items()}
    level = _level([*tests.values()], ALPHA)
    return {metric: _rows_at_level(rows, tests[metric], level) for metric, rows in metrics.items()}


@dataclass(frozen=True)
class _Test:
    """One value, or a mean.

    Attributes:
        found: whether its metric's own test finds a change.
        p_value: corrected for the number of values.
        low: the lower end of the difference's interval.
        high: the upper end.
    """

    found: bool
    p_value: float
    low: float
    high: float

    def is_clear(self, level: float) -> bool:
        """Whether the test finds a change at this level, and the interval does not deny it."""
        return self.found and self.p_value <= level and not self.low <= 0 <= self.high


@dataclass(frozen=True)
class _Tests:
    """The tests of one metric.

    Attributes:
        rows: of its values, or of its mean.
        shape: of the distribution as a whole: whether it finds a change, and its p-value.
        shares: whether values are tested.
    """

    rows: Sequence[_Test]
    shape: tuple[bool, float] | None
    shares: bool

    @property
    def smallest(self) -> float:
        """The p-value that nothing has changed in the metric."""
        rows = min((row.p_value for row in self.rows), default=1.0)
        if self.shares or self.shape is None:
            return rows
        return min(1.0, 2 * min(rows, self.shape[1]))

    def clear(self, level: float) -> tuple[list[bool], bool]:
        """What has a p-value of at most this level: of the rows, and of the shape."""
        two = not self.shares and self.shape is not None
        each = level / 2 if two else level
        rows = [row.is_clear(each) for row in self.rows]
        found, p_value = self.shape or (False, 1.0)
        # The values of a category are tested one by one: the test of all is not one more find.
        return rows, found and (p_value <= each if two else any(rows))


def _level(tests: Sequence[_Tests], alpha: float) -> float:
    """At which level the tests within a metric are made."""
    smallest = sorted(each.smallest for each in tests)
    chosen = max(
        (
            count
            for count, p_value in enumerate(smallest, 1)
            if p_value <= alpha * count / len(tests)
        ),
        default=0,
    )
    return alpha * chosen / max(len(tests), 1)


def _tests_of_answer(change: Change) -> _Tests:
    rows = [_Test(row.changed, row.adjusted_p_value, row.low, row.high) for row in change.changes]
    shape = change.shape
    whole = (shape.changed, shape.p_value) if shape else None
    return _Tests(rows, whole, change.kind == "shares")


def _answer_at_level(change: Change, tests: _Tests, level: float) -> Change:
    clear, moved = tests.clear(level)
    rows = [replace(row, changed=one) for row, one in zip(change.changes, clear, strict=True)]
    shape, quantiles = change.shape, change.quantiles
    if shape:
        shape = replace(shape, changed=moved)
    if quantiles is not UNSET:
        any_moved = moved or any(clear)
        quantiles = [replace(row, changed=row.changed and any_moved) for row in quantiles or ()]
    return replace(change, changes=rows, shape=shape, quantiles=quantiles)


_TESTED: Final = ("difference in share", "difference in mean")


def _tests_of_rows(rows: Sequence[TableRow]) -> _Tests:
    tests = [test for row in rows if (test := _test_of_row(row)) is not None]
    whole = next(
        (
            (bool(row.detected), row.p_value)
            for row in rows
            if row.measure == "distance" and row.p_value is not None
        ),
        None,
    )
    return _Tests(tests, whole, any(row.measure == "difference in share" for row in rows))


def _test_of_row(row: TableRow) -> _Test | None:
    if row.measure not in _TESTED or row.adjusted_p_value is None:
        return None
    if row.low is None or row.high is None:
        return None
    return _Test(bool(row.detected), row.adjusted_p_value, row.low, row.high)


def _rows_at_level(rows: Sequence[TableRow], tests: _Tests, level: float) -> list[TableRow]:
    each, moved = tests.clear(level)
    clear = iter(each)
    found = {"distance": moved, "difference in quantile": moved or any(each)}
    return [
        replace(
            row,
            detected=next(clear)
            if _test_of_row(row) is not None
            else bool(row.detected) and found.get(row.measure, False),
        )
        for row in rows
    ]
