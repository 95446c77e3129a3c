"""What all tallies have in common, and which mechanism has which tally."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeVar

import numpy as np

from deniable_aggregator.counting.statistics.checks import SliceChecks, join_checks
from deniable_shared.errors import ParameterError, WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.counting.statistics.outcomes import OutcomeCounts
    from deniable_aggregator.counting.statistics.shares import ItemShares
    from deniable_aggregator.counting.tallies.counts import FewCounts
    from deniable_aggregator.counting.tallies.diagnostics import Diagnostics
    from deniable_aggregator.counting.tallies.oracle import OracleTally
    from deniable_shared.mechanisms import Mechanism, Oracle
    from deniable_shared.spec import Spec


CHUNK_REPORTS: Final = 1 << 18

CHECKED_CELLS: Final = 1 << 16
"""Slices are checked so many counters at a time; what is worked out of them stays in the cache."""

_Make = TypeVar("_Make", bound="Callable[[Any], Any]")

TALLIES: Final[dict[type[Mechanism], Callable[[Any], Any]]] = {}
"""What counts the reports of each mechanism; filled by `tallies`."""


class Tally(ABC):
    """Counts the reports of one spec, and estimates from the counts.

    Counts are integers, and those of two sets of reports add up to those of their union. Nothing
    else is kept of the reports.

    Attributes:
        spec: the metric.
    """

    is_sparse: ClassVar[bool] = False
    """Whether each report adds 1 to one of so many counters that those of a slice are nearly all 0;
    then `places` tells which, `checks` takes a sparse array, and there are no diagnostics."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self._width = spec.mechanism.report_bytes

    @cached_property
    def diagnostics(self) -> Diagnostics | None:
        """What is counted beside the tally to make forged reports visible; None for nothing."""
        return None

    @cached_property
    def _possible(self) -> bytes:
        """All valid reports, if a report is one byte."""
        reports = (bytes([value]) for value in range(256))
        return b"".join(report for report in reports if self._is_possible(report))

    def _is_possible(self, report: bytes) -> bool:
        try:
            self._check(report)
        except WireError:
            return False
        return True

    @property
    def digest(self) -> bytes:
        """The digest of the spec."""
        return self.spec.digest

    @property
    def report_bytes(self) -> int:
        """How many bytes a report has."""
        return self._width

    @property
    def noise_is_permanent(self) -> bool:
        """Whether reports show answers that a device gives for good, which link its reports."""
        return self.spec.mechanism.epsilon_permanent is not None

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many integers a tally has."""

    def check(self, payload: bytes) -> None:
        """Refuses a payload that is not a whole number of possible reports.

        Args:
            payload: one or more reports, concatenated.

        Raises:
            WireError: naming what is wrong; nothing has been counted.
        """
        # One small report is the common case; calling NumPy for it costs a tenth of its upload.
        if self._width == 1 and payload and not payload.translate(None, self._possible):
            return
        self._check(payload)

    @abstractmethod
    def _check(self, payload: bytes) -> None:
        """As `check`, for reports of any width."""

    @abstractmethod
    def count(self, payload: bytes) -> NDArray[np.int64]:
        """The counts of a payload's reports: int64, (cells,).

        Raises:
            WireError: as `check` does.
        """

    def places(self, payload: bytes) -> NDArray[np.int64]:
        """The counter to which each report of a payload adds 1, where the tally has places.

        Returns:
            int64, (reports,), in the order of the reports.

        Raises:
            WireError: as `check` does.
        """
        raise NotImplementedError(f"{type(self).__name__} has no places")

    @property
    def has_places(self) -> bool:
        """Whether each report adds 1 to one counter, which `places` tells."""
        return self.is_sparse

    @abstractmethod
    def reports(self, counts: NDArray[np.int64]) -> int:
        """How many reports a tally holds."""

    def outcomes(self, counts: NDArray[np.int64]) -> OutcomeCounts | None:  # noqa: ARG002
        """How often outcomes came whose law depends on what devices hold alone.

        None where no test of them is known.

        Args:
            counts: int64, (cells,).
        """
        return None

    @property
    def stored_cells(self) -> int:
        """How many integers are stored: those of the tally, then those of its diagnostics."""
        return self.cells + (0 if self.diagnostics is None else self.diagnostics.cells)

    def fold(self, payload: bytes) -> tuple[int, NDArray[np.int64]]:
        """Counts a payload for storing.

        Returns:
            How many reports it has, and the counts of the tally and its diagnostics: int64,
            (stored_cells,).

        Raises:
            WireError: as `check` does.
        """
        counts = self.count(payload)
        reports = self.reports(counts)
        if self.diagnostics is not None:
            rows = np.frombuffer(payload, np.uint8).reshape(-1, self._width)
            beside = np.zeros(self.diagnostics.cells, np.int64)
            for part in chunks(rows):
                beside += self.diagnostics.count(part)
            counts = np.concatenate([counts, beside])
        return reports, counts

    def checks(self, stored: NDArray[np.int64], reports: NDArray[np.int64]) -> list[SliceChecks]:
        """Whether the reports of slices look like those of honest devices.

        Args:
            stored: int64, (slices, stored_cells), at least one slice.
            reports: int64, (slices,): how many reports each has; at least 1.
        """
        step = max(1, CHECKED_CELLS // self.stored_cells)
        parts = []
        for start in range(0, len(stored), step):
            part = stored[start : start + step]
            counts, beside = part[:, : self.cells], part[:, self.cells :]
            has_diagnostics = np.zeros(len(part), np.bool_)
            if self.diagnostics is not None:
                has_diagnostics = self.diagnostics.reports(beside) == reports[start : start + step]
            parts.append(list(self._checks(counts, beside, has_diagnostics)))
        return join_checks(parts)

    @abstractmethod
    def _checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],
        has_diagnostics: NDArray[np.bool_],
    ) -> Iterable[SliceChecks]:
        """As `checks`.

        Args:
            counts: int64, (slices, cells).
            diagnostics: int64, (slices, diagnostic cells): the counts of `diagnostics`.
            has_diagnostics: bool, (slices,): of which slices these are the counts of all reports.
        """

    def _check_width(self, payload: bytes) -> None:
        if not payload or len(payload) % self._width:
            name = self.spec.name
            raise WireError(
                f"a payload of {name} must be a multiple of {self._width} bytes, got {len(payload)}"
            )


class SliceShares(NamedTuple):
    """Estimates of items' shares from the reports of each of several slices.

    Attributes:
        share: float64, (slices, items): as of `ItemShares`.
        variance: float64, (slices, items): likewise; infinite where no report is about an item.
    """

    share: NDArray[np.float64]
    variance: NDArray[np.float64]


class ShareTally(Tally):
    """A tally that estimates shares of items."""

    shares_each_slice: ClassVar[bool] = True
    """Whether `shares_of_slices` estimates slices one by one, which is slow."""

    @abstractmethod
    def shares(self, counts: NDArray[np.int64], items: Sequence[str]) -> ItemShares:
        """Estimates the shares of items from counts.

        Args:
            counts: int64, (cells,), of at least one report.
            items: whose shares are wanted; for a known domain, some of its items.

        Raises:
            ParameterError: if an item is not in the metric's domain, or the list is too long for
                the mechanism.
        """

    def shares_of_few(self, counts: FewCounts, items: Sequence[str]) -> ItemShares:
        """What `shares` estimates, from the counts of few reports.

        Raises:
            ParameterError: as `shares` does.
        """
        return self.shares(counts.array, items)

    def shares_of_slices(self, counts: NDArray[np.int64], items: Sequence[str]) -> SliceShares:
        """What `shares` estimates, for several slices at once.

        Args:
            counts: int64, (slices, cells), of at least one report each.
            items: as of `shares`.

        Raises:
            ParameterError: as `shares` does.
        """
        estimates = [self.shares(row, items) for row in counts]
        share, variance = (
            np.array(column).reshape(len(counts), len(items))
            for column in (
                [estimate.share for estimate in estimates],
                [estimate.variance for estimate in estimates],
            )
        )
        return SliceShares(share, variance)


def chunks(reports: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Splits reports into consecutive chunks, so that memory does not grow with their number."""
    for start in range(0, len(reports), CHUNK_REPORTS):
        yield reports[start : start + CHUNK_REPORTS]


def tallies(*mechanisms: type[Mechanism]) -> Callable[[_Make], _Make]:
    """Registers what counts the reports of mechanisms.

    Of oracles it is an `OracleTally` and called with the oracle; of all others a `Tally`, called
    with the spec.
    """

    def register(make: _Make) -> _Make:
        TALLIES.update(dict.fromkeys(mechanisms, make))
        return make

    return register


def registered_tally(mechanism: Mechanism) -> Callable[[Any], Any]:
    """What `tallies` registered for a mechanism.

    Raises:
        ParameterError: if nothing is registered for its very class: another mechanism's tally
            would debias with other probabilities.
    """
    make = TALLIES.get(type(mechanism))
    if make is None:
        raise ParameterError("mechanism", "one with a registered tally", mechanism.name)
    return make


def oracle_tally_for(oracle: Oracle) -> OracleTally[Any]:
    """The tally of an oracle by itself.

    Raises:
        ParameterError: if none is registered for it.
    """
    tally: OracleTally[Any] = registered_tally(oracle)(oracle)
    return tally
