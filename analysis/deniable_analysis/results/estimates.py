"""What a metric amounts to: shares of values, a mean, or a distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers import estimates
from deniable_analysis.results.result import Result
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError
from deniable_shared.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers.common import Number, Quantile
    from deniable_aggregator.answers.segments import SegmentCloseness
    from deniable_aggregator.answers.shares import Share


class Shares(Result[estimates.Shares | estimates.SegmentShares]):
    """The shares of values; a sequence of them: ``for share in shares``, ``shares["dark"]``."""

    def __iter__(self) -> Iterator[Share]:
        return iter(self.answer.estimates)

    def __len__(self) -> int:
        return len(self.answer.estimates)

    def __getitem__(self, value: str) -> Share:
        """The share of a value.

        Raises:
            ParameterError: if the answer does not have it.
        """
        for each in self.answer.estimates:
            if each.value == value:
                return each
        raise not_among(value, self.values)

    @property
    def closeness(self) -> SegmentCloseness | None:
        """How far the segment is from all devices; None of an answer without a segment."""
        if isinstance(self.answer, estimates.SegmentShares) and self.answer.closeness:
            return self.answer.closeness
        return None

    @property
    def values(self) -> list[str]:
        """The values, in the order of the answer."""
        return [each.value for each in self.answer.estimates]

    def _ipython_key_completions_(self) -> list[str]:
        return self.values


class Mean(Result[estimates.Mean]):
    """The mean of a number, in the metric's own unit."""

    @property
    def mean(self) -> Number:
        """The estimate with its interval."""
        return self.answer.mean


class Distribution(Result[estimates.Distribution]):
    """The histogram of a number, its mean and its quantiles, in the metric's own unit."""

    @property
    def mean(self) -> Number:
        """The mean with its interval."""
        return self.answer.mean

    @property
    def quantiles(self) -> list[Quantile]:
        """The quantiles with their intervals."""
        return self.answer.quantiles

    @property
    def bins(self) -> list[estimates.Bin]:
        """The histogram."""
        return self.answer.bins


def not_among(value: str, values: list[str]) -> ParameterError:
    """The error of a value that an answer does not have.

    Args:
        value: what was typed.
        values: those that it has.
    """
    near = nearest(value, values) if isinstance(value, str) else None
    meant = "" if near is None else f" (did you mean {visible(near)!r}?)"
    return ParameterError("value", f"one of those in the answer{meant}", value)
