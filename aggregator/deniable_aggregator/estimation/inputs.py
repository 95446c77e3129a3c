"""What estimators work on: the tallies of one metric, and what is asked about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.answers.questions import ChangeQuery, EstimateQuery, ValueLists
from deniable_aggregator.statistics.intervals import DEFAULT_LEVEL, alpha_per_interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import IntervalKind
    from deniable_shared.spec import Spec


NO_LISTS = ValueLists()


@dataclass(frozen=True)
class EstimateRequest:
    """A question about one metric in one period.

    Attributes:
        query: how to answer. Its days do not matter here.
        lists: the values that the question is about.
        level: of the intervals, in (0, 1).
        versions: the versions of all periods of a question. Their values are estimated in each
            period. A value that a period does not know is left out of it. Empty for the versions
            with reports.
    """

    query: EstimateQuery
    lists: ValueLists = NO_LISTS
    level: float = DEFAULT_LEVEL
    versions: Sequence[Spec] = ()


@dataclass(frozen=True)
class ChangeRequest:
    """A question about the difference of one metric between two periods.

    Attributes:
        query: how to answer. Its days do not matter here.
        lists: the values that the question is about.
        level: of the intervals, in (0, 1).
    """

    query: ChangeQuery
    lists: ValueLists = NO_LISTS
    level: float = DEFAULT_LEVEL

    @property
    def interval(self) -> IntervalKind:
        """What intervals cover."""
        return self.query.interval or ("one" if self.query.top is None else "picked")

    def alpha(self, items: int) -> float:
        """The probability that a single interval may miss, if so many items are compared.

        Args:
            items: how many, at least 1 for intervals of several at once.
        """
        most_shown = min(self.query.top or items, items)
        return alpha_per_interval(self.interval, level=self.level, asked=items, shown=most_shown)


@dataclass(frozen=True)
class CollectedTallies:
    """What was counted of one metric over some days.

    Attributes:
        tallies: for each spec with reports in these days, the spec and its counts.
        periods: by the specs' digests, how many reports there are of each of their periods.
        excluded: how many reports are left out, because their keys are excluded.
    """

    tallies: Sequence[tuple[Spec, NDArray[np.int64]]]
    periods: Mapping[bytes, Mapping[int, int]]
    excluded: int = 0

    @property
    def specs(self) -> list[Spec]:
        """The specs with reports."""
        return [spec for spec, _ in self.tallies]

    @property
    def reports(self) -> int:
        """How many reports there are."""
        return sum(sum(periods.values()) for periods in self.periods.values())
