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
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.answers.answer import Answer

ALPHA: Final = 0.05
"""Of the tests whose outcomes are in the table of estimates."""

_TESTED: Final = ("difference in share", "difference in mean")


class Tested(Protocol):
    """A number that may be a difference with its test: of an answer, or of the SQL table."""

    @property
    def measure(self) -> str:
        """What the number is."""

    @property
    def told(self) -> bool | None:
        """Whether the test of its metric alone finds a change."""

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""

    @property
    def high(self) -> float | None:
        """The upper end."""

    @property
    def p_value(self) -> float | None:
        """Of the test."""

    @property
    def adjusted_p_value(self) -> float | None:
        """The same, corrected for the number of values."""


Number = TypeVar("Number", bound=Tested)


def at_report_level(changes: Sequence[Answer]) -> dict[str, Answer]:
    """The same changes, clear only if they are so among those of all metrics; by metric.

    Args:
        changes: one per metric, as each was answered by itself.
    """
    alphas = [each.head.detection.alpha for each in changes if each.head.detection is not None]
    numbers = {each.head.metric: each.numbers for each in changes}
    levelled = numbers_at_report_level(numbers, min(alphas, default=0.0))
    return {each.head.metric: replace(each, numbers=levelled[each.head.metric]) for each in changes}


def numbers_at_report_level(
    metrics: Mapping[str, Sequence[Number]], alpha: float = ALPHA
) -> dict[str, list[Number]]:
    """The same of the differences of metrics, wherever they come from.

    Args:
        metrics: for each metric the numbers of what has changed in the same days.
        alpha: the level of their tests.
    """
    tests = {metric: _tests_of(numbers) for metric, numbers in metrics.items()}
    level = _level([*tests.values()], alpha)
    return {metric: _at_level(numbers, tests[metric], level) for metric, numbers in metrics.items()}


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


def _tests_of(numbers: Sequence[Tested]) -> _Tests:
    tests = [test for each in numbers if (test := _test_of(each)) is not None]
    whole = next(
        (
            (bool(each.told), each.p_value)
            for each in numbers
            if each.measure == "distance" and each.p_value is not None
        ),
        None,
    )
    return _Tests(tests, whole, any(each.measure == "difference in share" for each in numbers))


def _test_of(number: Tested) -> _Test | None:
    if number.measure not in _TESTED or number.adjusted_p_value is None:
        return None
    if number.low is None or number.high is None:
        return None
    return _Test(bool(number.told), number.adjusted_p_value, number.low, number.high)


def _at_level(numbers: Sequence[Number], tests: _Tests, level: float) -> list[Number]:
    values, moved = tests.clear(level)
    clear = iter(values)
    others = {"distance": moved, "difference in quantile": moved or any(values)}
    levelled = []
    for each in numbers:
        if _test_of(each) is not None:
            told = next(clear)
        elif each.measure in others:
            told = bool(each.told) and others[each.measure]
        else:
            levelled.append(each)
            continue
        levelled.append(cast("Number", replace(cast("Any", each), told=told)))
    return levelled
