"""Tallies of mechanisms whose report is the number of an outcome: how often each one came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deniable_aggregator.tallies.base import Tally, parts
from deniable_shared.errors import WireError

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        self._checked(payload)

    def count(self, payload: bytes) -> NDArray[np.int64]:
        """Counts every outcome."""
        counts = np.zeros(self.cells, np.int64)
        for part in parts(self._checked(payload)):
            counts += np.bincount(part, minlength=self.cells)
        return counts

    def reports(self, counts: NDArray[np.int64]) -> int:
        """The sum of all counters."""
        return int(counts.sum())

    def _checked(self, payload: bytes) -> NDArray[Any]:
        self._check_width(payload)
        outcomes = np.frombuffer(payload, self._integer)
        highest = int(outcomes.max())
        if highest >= self.cells:
            raise WireError(
                f"a report of {self.spec.name} must be below {self.cells}, got {highest}"
            )
        return outcomes
