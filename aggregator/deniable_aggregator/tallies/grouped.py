"""Tallies of reports that begin with a public group: the row of a sketch, a cohort of RAPPOR."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable_aggregator.statistics.checks import bounds_check, evenness_check
from deniable_aggregator.tallies.base import ShareTally, chunks
from deniable_shared.device_classes import CLASSES, classes_by_group
from deniable_shared.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deniable_aggregator.statistics.checks import SliceChecks
    from deniable_aggregator.statistics.histograms.homogeneity import OutcomeCounts
    from deniable_aggregator.tallies.oracle import OracleTally
    from deniable_shared.spec import Spec


class GroupedTally(ShareTally):
    """The counts of one oracle for each group. A report begins with its group, in two bytes.

    Args:
        oracle: counts and reads what follows the group.
    """

    def __init__(self, spec: Spec, groups: int, oracle: OracleTally[Any]) -> None:
        super().__init__(spec)
        self._groups = groups
        self._oracle = oracle
        self._dtype = np.dtype([("group", ">u2"), ("report", f"V{self._width - 2}")])

    @property
    def cells(self) -> int:
        """The oracle's, for each group."""
        return self._groups * self._oracle.cells

    def _check(self, payload: bytes) -> None:
        """Every group exists, and every report is one that a device can send."""
        self._read_payload(payload)

    def count(self, payload: bytes) -> NDArray[np.int64]:
        """Counts by group."""
        reports = self._read_payload(payload)
        counts = np.zeros((self._groups, self._oracle.cells), np.int64)
        for part in chunks(reports):
            groups = part["group"].astype(np.uint16)
            counts += self._oracle.count(groups, part["report"], self._groups)
        return counts.ravel()

    @cached_property
    def _group_shares(self) -> NDArray[np.float64] | None:
        """The probability of each group: float64, (groups,); None if all are equal."""
        if self.spec.mechanism.permanent_groups == 1:
            return None
        return np.array(classes_by_group(self._groups)) / CLASSES

    def reports(self, counts: NDArray[np.int64]) -> int:
        """The sum over all groups."""
        return int(self._oracle.reports(self._counts_by_group(counts)).sum())

    def _group_checks(
        self, counts: NDArray[np.int64], noun: str, bounds: tuple[float, float] | None = None
    ) -> Iterator[SliceChecks]:
        """Groups are as common as they are drawn, and in each all counts are within bounds.

        Args:
            counts: int64, (slices, cells).
            bounds: the lowest and highest probability of each count; None for the oracle's.
        """
        slices = len(counts)
        rows = counts.reshape(slices * self._groups, self._oracle.cells)
        reports = self._oracle.reports(rows).reshape(slices, self._groups)
        if self._groups > 1:
            yield evenness_check(
                "groups", reports, f"the {self._groups} {noun}", self._group_shares
            )
        bounded, low, high = self._oracle.bounded_counts(rows)
        bounded = bounded.reshape(slices, self._groups, -1)
        yield bounds_check(bounded, reports[:, :, None], *(bounds or (low, high)))

    def outcomes(self, counts: NDArray[np.int64]) -> OutcomeCounts:
        """The oracle's, for each group."""
        return self._oracle.outcomes(self._counts_by_group(counts))._replace(kind="bits")

    def supported_by_group(
        self, counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many reports each group has, and how many of them support each item or bit.

        Args:
            counts: int64, (cells,).

        Returns:
            int64, (groups,) and (groups, items).
        """
        grouped = self._counts_by_group(counts)
        return self._oracle.reports(grouped), self._oracle.supporting(grouped)

    def _counts_by_group(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return counts.reshape(self._groups, self._oracle.cells)

    def _read_payload(self, payload: bytes) -> NDArray[Any]:
        self._check_width(payload)
        reports = np.frombuffer(payload, self._dtype)
        highest = int(reports["group"].max())
        if highest >= self._groups:
            raise WireError(
                f"the group of a report of {self.spec.name} must be below {self._groups}, "
                f"got {highest}"
            )
        try:
            for part in chunks(reports):
                self._oracle.check(np.ascontiguousarray(part["report"]))
        except WireError as error:
            raise WireError(f"a report of {self.spec.name} {error}") from None
        return reports
