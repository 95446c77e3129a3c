"""Counting the reports of numeric mechanisms: how often each outcome came."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from deniable_aggregator.statistics.checks import bounds_check
from deniable_aggregator.statistics.histograms.homogeneity import OutcomeCounts
from deniable_aggregator.statistics.influence import influence
from deniable_aggregator.statistics.mean_limits import bit_limits, mean_limits
from deniable_aggregator.tallies.base import Tally, chunks, tallies
from deniable_shared.errors import WireError
from deniable_shared.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Hybrid,
    MemoizedOneBitMean,
    OneBitMean,
    Piecewise,
    SquareWave,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from deniable_aggregator.statistics.checks import SliceChecks
    from deniable_shared.mechanisms import NumericMechanism
    from deniable_shared.spec import Spec


class OutcomeTally(Tally):
    """One counter per outcome.

    Args:
        spec: a metric whose mechanism has a number of `outcomes`, at most 65,536.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._outcomes = cast("int", spec.mechanism.outcomes)  # type: ignore[attr-defined]
        self._integer = np.dtype(f">u{self._width}")

    @property
    def cells(self) -> int:
        """The number of outcomes."""
        return self._outcomes

    def _check(self, payload: bytes) -> None:
        """Every report is the number of an outcome."""
        self._read_payload(payload)

    def count(self, payload: bytes) -> NDArray[np.int64]:
        """Counts every outcome."""
        counts = np.zeros(self.cells, np.int64)
        for part in chunks(self._read_payload(payload)):
            counts += np.bincount(part, minlength=self.cells)
        return counts

    def reports(self, counts: NDArray[np.int64]) -> int:
        """The sum of all counters."""
        return int(counts.sum())

    def _read_payload(self, payload: bytes) -> NDArray[Any]:
        self._check_width(payload)
        outcomes = np.frombuffer(payload, self._integer)
        highest = int(outcomes.max())
        if highest >= self.cells:
            raise WireError(
                f"a report of {self.spec.name} must be below {self.cells}, got {highest}"
            )
        return outcomes


class Mean(NamedTuple):
    """An unbiased estimate of a mean, in widths of the range above its lower end.

    Attributes:
        mean: the estimate; may lie outside [0, 1].
        variance: of the estimate, for the population that the devices come from.
        influence: how far forged reports could move it; see `statistics.influence`.
    """

    mean: float
    variance: float
    influence: float


@tallies(
    DiscreteGaussian,
    DiscreteLaplace,
    Hybrid,
    MemoizedOneBitMean,
    OneBitMean,
    Piecewise,
    SquareWave,
)
class NumberTally(OutcomeTally):
    """The outcomes of a number metric, or of a distribution whose reports are numbered outcomes."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._mechanism = cast("NumericMechanism", spec.mechanism)

    def _checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],  # noqa: ARG002
        has_diagnostics: NDArray[np.bool_],  # noqa: ARG002
    ) -> Iterable[SliceChecks]:
        """Outcomes are as frequent as noise allows."""
        reports = counts.sum(axis=1)[:, None]
        return [bounds_check(counts, reports, *_outcome_bounds(self._mechanism))]

    def outcomes(self, counts: NDArray[np.int64]) -> OutcomeCounts:
        """The outcomes in their order."""
        return OutcomeCounts("ordered", counts, np.full(counts.size, self.reports(counts)))

    def mean(self, counts: NDArray[np.int64]) -> Mean:
        """The average of the numbers that the outcomes stand for.

        Its variance is the reports' own, so it contains the spread of the values. A few may happen
        to agree, so it counts four more reports with the variance of the noise alone, and of bits
        one more of each kind (Agresti and Coull 1998 do likewise for proportions).

        Args:
            counts: int64, (cells,), of at least one report.
        """
        reports = self.reports(counts)
        values = self._values
        mean = float(counts @ values) / reports
        squares = float(counts @ (values - mean) ** 2)
        noise = self._mechanism.variance(min(max(mean, 0.0), 1.0), 1)
        moved = influence(mean, float(values.min()), float(values.max()), reports=reports)
        if self._is_bit:
            ones = (int(counts[1]) + 1) / (reports + 2)
            variance = ones * (1 - ones) * float(values[1] - values[0]) ** 2 / reports
        else:
            variance = (squares + 4 * noise) / (reports * (reports + 3))
        return Mean(mean, variance, float(moved))

    def mean_limits(self, counts: NDArray[np.int64], alpha: float) -> tuple[float, float]:
        """An interval for the mean of the population, in widths of the range above its lower end.

        Args:
            counts: int64, (cells,), of at least one report.
            alpha: the probability that it may miss, in (0, 1).
        """
        reports, values, noise = self.reports(counts), self._values, self._mechanism.variance
        if self._is_bit:
            lie, _ = _outcome_bounds(self._mechanism)
            return bit_limits(int(counts[1]), reports, float(lie), alpha)
        mean = float(counts @ values) / reports
        observed = float(counts @ (values - mean) ** 2) / max(reports - 1, 1)
        least = noise(min(max(mean, 0.0), 1.0), 1)
        return mean_limits(
            mean, max(observed, least), (noise(0.0, 1), noise(1.0, 1)), reports, alpha
        )

    @property
    def _is_bit(self) -> bool:
        return isinstance(self._mechanism, OneBitMean | MemoizedOneBitMean)

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        return np.asarray(self._mechanism.outcome_values())


@lru_cache(256)
def _outcome_bounds(mechanism: NumericMechanism) -> tuple[NDArray[np.float64], ...]:
    """`NumericMechanism.outcome_bounds` as arrays: there may be tens of thousands."""
    return tuple(map(np.asarray, mechanism.outcome_bounds()))
