"""A metric over time, and what has changed between two periods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers import trends
from deniable_analysis.results.estimates import not_among
from deniable_analysis.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterator


class Series(Result[trends.Series]):
    """Estimates of the same metric, period by period: ``for period in series``."""

    def __iter__(self) -> Iterator[trends.Period]:
        return iter(self.answer.periods)

    def __len__(self) -> int:
        return len(self.answer.periods)


class Change(Result[trends.Change]):
    """What has changed between two periods: ``for difference in change``, ``change["dark"]``."""

    def __iter__(self) -> Iterator[trends.Difference]:
        return iter(self.answer.changes)

    def __len__(self) -> int:
        return len(self.answer.changes)

    def __getitem__(self, value: str) -> trends.Difference:
        """By how much the share of a value differs.

        Raises:
            ParameterError: if the answer does not have it.
        """
        for each in self.answer.changes:
            if each.value == value:
                return each
        raise not_among(value, self._ipython_key_completions_())

    @property
    def clear(self) -> list[trends.Difference]:
        """The clear changes."""
        return [each for each in self.answer.changes if each.changed]

    def _ipython_key_completions_(self) -> list[str]:
        return [each.value for each in self.answer.changes if each.value]
