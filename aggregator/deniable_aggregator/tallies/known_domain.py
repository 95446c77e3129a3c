"""Tallies of known domains: flags and categories."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable_aggregator.tallies.base import ShareTally, SliceShares, chunks
from deniable_shared.errors import ParameterError, WireError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.statistics.checks import SliceChecks
    from deniable_aggregator.statistics.histograms.homogeneity import OutcomeCounts
    from deniable_aggregator.statistics.item_shares import ItemShares
    from deniable_aggregator.tallies.diagnostics import Diagnostics
    from deniable_aggregator.tallies.oracle import OracleTally
    from deniable_shared.spec import Spec


class KnownDomainTally(ShareTally):
    """The counts of an oracle over the metric's own domain.

    Args:
        spec: a boolean or category metric.
        oracle: counts and reads its mechanism.
    """

    def __init__(self, spec: Spec, oracle: OracleTally[Any]) -> None:
        super().__init__(spec)
        self._oracle = oracle
        domain = ("false", "true") if spec.type == "boolean" else spec.values
        self._position = {item: position for position, item in enumerate(domain)}
        self._item = np.dtype(f"V{self._width}")

    @cached_property
    def diagnostics(self) -> Diagnostics | None:
        """The oracle's."""
        return self._oracle.diagnostics

    def _checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],
        has_diagnostics: NDArray[np.bool_],
    ) -> Iterable[SliceChecks]:
        """The oracle's."""
        return self._oracle.checks(counts, diagnostics, has_diagnostics)

    @property
    def cells(self) -> int:
        """The oracle's."""
        return self._oracle.cells

    def _check(self, payload: bytes) -> None:
        """Every report is one that a device can send."""
        self._read_payload(payload)

    def count(self, payload: bytes) -> NDArray[np.int64]:
        """Counts all reports in one group."""
        counts = np.zeros((1, self._oracle.cells), np.int64)
        for part in chunks(self._read_payload(payload)):
            counts += self._oracle.count(np.zeros(part.size, np.uint16), part, 1)
        return np.asarray(counts[0])

    def reports(self, counts: NDArray[np.int64]) -> int:
        """What the oracle counted."""
        return int(self._oracle.reports(counts[None])[0])

    def outcomes(self, counts: NDArray[np.int64]) -> OutcomeCounts:
        """The oracle's."""
        return self._oracle.outcomes(counts[None])

    def shares(self, counts: NDArray[np.int64], items: Sequence[str]) -> ItemShares:
        """The shares of some of the items."""
        return self._oracle.shares(counts[None]).take(self._chosen(items))

    shares_each_slice = False

    def shares_of_slices(self, counts: NDArray[np.int64], items: Sequence[str]) -> SliceShares:
        """The shares of some of the items, from all slices at once."""
        chosen = self._chosen(items)
        return SliceShares(*(every[:, chosen] for every in self._oracle.shares_by_group(counts)))

    def _chosen(self, items: Sequence[str]) -> NDArray[np.int64]:
        """The places of items in the domain."""
        unknown = [item for item in items if item not in self._position]
        if unknown:
            raise ParameterError(
                "candidates", f"items of {self.spec.name}: {', '.join(self._position)}", unknown[0]
            )
        return np.fromiter((self._position[item] for item in items), np.int64, len(items))

    def _read_payload(self, payload: bytes) -> NDArray[np.void]:
        self._check_width(payload)
        reports = np.frombuffer(payload, self._item)
        try:
            for part in chunks(reports):
                self._oracle.check(part)
        except WireError as error:
            raise WireError(f"a report of {self.spec.name} {error}") from None
        return reports
