"""Which changes are clear: beyond noise and sampling, over all that was asked together.

Within a metric the tests of its values, of its distribution as a whole and of values together share
the level. A report of fifty metrics would still show two or three clear changes where nothing has
changed. So metrics are chosen first, by Benjamini and Hochberg over one p-value per metric, and
within those that are chosen the level is made smaller by the part that they are of all (Benjamini
and Bogomolov, 2014, "Selective inference on multiple families of hypotheses"): of the changes that
are called clear, 5% at most on average, over the chosen metrics, are none. One metric alone is a
family, too, so that an answer, a page, a report and the overview say the same of the same question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.common import DetectionNote

ALPHA: Final = 0.05
"""Of the tests whose outcomes are in the table of estimates."""

_TESTED: Final = ("difference in share", "difference in mean")
_OTHERS: Final = ("distance", "difference in combined")


class Tested(Protocol):
    """A number that may be a difference with its test: of an answer, or of the SQL table."""

    @property
    def measure(self) -> str:
        """What the number is."""

    @property
    def told(self) -> bool | None:
        """Whether the test of its metric alone finds a change."""

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
    levelled = numbers_at_level(numbers, min(alphas, default=0.0))
    return {
        each.head.metric: replace(
            each,
            head=replace(each.head, detection=_among(each.head.detection, len(changes))),
            numbers=levelled[each.head.metric],
        )
        for each in changes
    }


def _among(note: DetectionNote | None, metrics: int) -> DetectionNote | None:
    return None if note is None else replace(note, metrics=metrics)


def numbers_at_level(
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
class _Tests:
    """The tests of one metric.

    Attributes:
        rows: the p-values of its values or of its mean, corrected for their number.
        others: of the distribution as a whole and of values together, by measure. The values of a
            category are tested one by one: the test of all is not one more find.
    """

    rows: Sequence[float]
    others: Mapping[str, float]

    @property
    def count(self) -> int:
        """How many tests share the level."""
        return max(1, bool(self.rows) + len(self.others))

    @property
    def smallest(self) -> float:
        """The p-value that nothing has changed in the metric."""
        return min(1.0, self.count * min((*self.rows, *self.others.values()), default=1.0))


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
    rows = [p_value for each in numbers if (p_value := _p_value_of(each)) is not None]
    shares = bool(rows) and any(each.measure == "difference in share" for each in numbers)
    return _Tests(
        rows,
        {
            each.measure: each.p_value
            for each in numbers
            if each.measure in _OTHERS
            and each.p_value is not None
            and not (shares and each.measure == "distance")
        },
    )


def _p_value_of(number: Tested) -> float | None:
    return number.adjusted_p_value if number.measure in _TESTED else None


def _at_level(numbers: Sequence[Number], tests: _Tests, level: float) -> list[Number]:
    each_level = level / tests.count
    any_row = any(p_value <= each_level for p_value in tests.rows)
    moved = any_row or any(p_value <= each_level for p_value in tests.others.values())
    levelled = []
    for each in numbers:
        p_value = _p_value_of(each)
        if p_value is not None:
            told = p_value <= each_level
        elif each.measure in tests.others:
            told = tests.others[each.measure] <= each_level
        elif each.measure == "distance":
            told = any_row and bool(each.told)
        elif each.measure == "difference in quantile":
            told = moved and bool(each.told)
        else:
            levelled.append(each)
            continue
        levelled.append(cast("Number", replace(cast("Any", each), told=told)))
    return levelled
