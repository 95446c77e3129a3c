"""Counting the reports of numeric mechanisms: how often each outcome came."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from deniable_aggregator.tallies.fakes import radius
from deniable_aggregator.tallies.outcomes import OutcomeTally

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms import NumericMechanism
    from deniable_shared.spec import Spec


class Mean(NamedTuple):
    """An unbiased estimate of a mean, in widths of the range above its lower end.

    Attributes:
        mean: the estimate; may lie outside [0, 1].
        variance: of the estimate, for the population that the devices come from.
        radius: how far fake reports could move it, see `fakes`.
    """

    mean: float
    variance: float
    radius: float


class NumberTally(OutcomeTally):
    """The outcomes of a number metric, or of a distribution whose reports are numbered outcomes."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._mechanism = cast("NumericMechanism", spec.mechanism)

    def mean(self, counts: NDArray[np.int64]) -> Mean:
        """The average of the numbers that the outcomes stand for.

        Its variance is the reports' own, so it contains the spread of the values. One more report
        with the variance of the noise alone keeps it above zero where a few happen to agree.

        Args:
            counts: int64, (cells,), of at least one report.
        """
        reports = self.reports(counts)
        values = self._values
        mean = float(counts @ values) / reports
        squares = float(counts @ (values - mean) ** 2)
        noise = self._mechanism.variance(min(max(mean, 0.0), 1.0), 1)
        moved = radius(mean, float(values.min()), float(values.max()), reports=reports)
        return Mean(mean, (squares + noise) / reports**2, float(moved))

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        return np.asarray(self._mechanism.outcome_values())
