"""Tallies of strings: reports begin with a public group, a sketch's row or a cohort of RAPPOR."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from deniable_aggregator.counting import hash_cells
from deniable_aggregator.counting.statistics.bloom_filters import Cells, regress, regression_shares
from deniable_aggregator.counting.statistics.checks import SliceChecks, bounds_check, evenness_check
from deniable_aggregator.counting.statistics.sketch_fit import (
    FITTED_REPORTS,
    FittedRows,
    fitted_shares,
)
from deniable_aggregator.counting.statistics.sketch_rows import SketchRows
from deniable_aggregator.counting.statistics.sketches import (
    SketchShares,
    StringSums,
    shares_of_strings,
)
from deniable_aggregator.counting.tallies.base import ShareTally, chunks, oracle_tally_for, tallies
from deniable_aggregator.counting.tallies.diagnostics import GROUP_BYTES, OnesHistogram
from deniable_aggregator.counting.tallies.oracle import BitsTally, IndexTally, OracleTally
from deniable_aggregator.counting.tallies.string_places import (
    RememberedPlaces,
    StringPlaces,
    hashed_strings,
)
from deniable_shared.device_classes import CLASSES, classes_by_group
from deniable_shared.errors import ParameterError, WireError
from deniable_shared.exact_bounds import SCALE
from deniable_shared.hashing import key
from deniable_shared.mechanisms import Rappor, Sketch, Support

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.counting.statistics.outcomes import OutcomeCounts
    from deniable_aggregator.counting.statistics.shares import ItemShares
    from deniable_aggregator.counting.tallies.counts import FewCounts
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
        first, *others = (
            self._oracle.count(part["group"].astype(np.uint16), part["report"], self._groups)
            for part in chunks(reports)
        )
        for counts in others:
            first += counts
        return first.ravel()

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

    def outcomes(self, counts: NDArray[np.int64]) -> OutcomeCounts | None:
        """The oracle's, for each group."""
        return self._oracle.outcomes(self._counts_by_group(counts))._replace(kind="bits")

    def reports_by_group(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many reports each group has: int64, (groups,).

        Args:
            counts: int64, (cells,).
        """
        return self._oracle.reports(self._counts_by_group(counts))

    def supporting_of_groups(
        self, counts: NDArray[np.int64], groups: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """How many reports of some groups support each item or bit: int64, (groups, items).

        Args:
            counts: int64, (cells,).
            groups: int64, (groups,): their numbers.
        """
        return self._oracle.supporting(self._counts_by_group(counts)[groups])

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


_BLOCK_CELLS: Final = 1 << 18
"""Rows are read so many cells at a time."""


@tallies(Sketch)
class SketchTally(GroupedTally):
    """An oracle's counts for every row; the share of any string can be estimated from them."""

    def __init__(self, spec: Spec) -> None:
        self._mechanism = cast("Sketch", spec.mechanism)
        super().__init__(spec, self._mechanism.rows, oracle_tally_for(self._mechanism.inner))

    @property
    def has_places(self) -> bool:
        """Whether the inner oracle counts outcomes."""
        return isinstance(self._oracle, IndexTally)

    def places(self, payload: bytes) -> NDArray[np.int64]:
        """The counter of each report."""
        reports = self._read_payload(payload)
        return cast("IndexTally", self._oracle).places(reports["group"], reports["report"])

    @cached_property
    def diagnostics(self) -> OnesHistogram | None:
        """Those of the inner oracle's reports."""
        return self._oracle.grouped_diagnostics()

    def _checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],
        has_diagnostics: NDArray[np.bool_],
    ) -> Iterator[SliceChecks]:
        """Rows are as common as they are drawn, and in each all counts are within bounds."""
        yield from self._group_checks(counts, "rows of the sketch")
        if self.diagnostics is not None:
            yield self.diagnostics.check(diagnostics).only_where(has_diagnostics)

    def shares(self, counts: NDArray[np.int64], items: Sequence[str]) -> SketchShares:
        """The shares of any strings; cost grows linearly with candidates times rows."""
        rows = self._counts_by_group(counts)
        reports = self._oracle.reports(rows)
        filled = np.flatnonzero(reports)
        supporting = self._supporting(rows, filled, np.min_scalar_type(reports.max()))
        return self._shares(reports[filled], filled, supporting, items)

    def shares_of_few(self, counts: FewCounts, items: Sequence[str]) -> SketchShares:
        """The same from the cells that reports support, where these are few."""
        rows, outcomes = np.divmod(counts.places, self._oracle.cells)
        reports = np.bincount(rows, minlength=self._groups)
        filled = np.flatnonzero(reports)
        rank = np.repeat(np.arange(filled.size), reports[filled])
        oracle = cast("IndexTally", self._oracle)
        supporting = oracle.supporting_few(rank, outcomes, filled.size)
        if supporting is None:
            return self.shares(counts.array, items)
        return self._shares(reports[filled], filled, supporting, items)

    def _shares(
        self,
        reports: NDArray[np.int64],
        filled: NDArray[np.int64],
        supporting: NDArray[Any],
        items: Sequence[str],
    ) -> SketchShares:
        """The shares of strings.

        Args:
            reports: int64, (filled,): of each row that has any.
            filled: int64, (filled,): the numbers of these rows.
            supporting: integers, (filled, buckets): how many reports support each bucket.
        """
        support = self._mechanism.inner.support
        strings = hashed_strings(
            tuple(items), self.spec.salt, self._mechanism.rows, self._mechanism.buckets
        )
        places = StringPlaces(strings, filled)
        enough = reports.sum() >= FITTED_REPORTS * self._mechanism.rows
        if enough and self._mechanism.is_fitted:
            cells = RememberedPlaces(places)
            (whole,) = cells.sums([supporting.astype(np.float64)])
            return fitted_shares(
                FittedRows(reports, supporting, support),
                whole.astype(np.int64),
                self._mechanism.support,
                cells,
                self._support_range,
            )
        sketch = SketchRows(reports, supporting, support)
        return shares_of_strings(
            sketch,
            StringSums(*places.sums(sketch.packed)),
            self._mechanism.support,
            places.buckets,
            self._support_range,
        )

    @cached_property
    def _support_range(self) -> tuple[int, int]:
        """How many buckets a report supports, at least and at most."""
        return self._oracle.support_range(np.arange(self._mechanism.buckets))

    def _supporting(
        self, rows: NDArray[np.int64], filled: NDArray[np.int64], dtype: Any
    ) -> NDArray[Any]:
        """How many reports of some of the rows support each bucket.

        Args:
            rows: int64, (rows, cells).
            filled: int64, (filled,): which of them.
            dtype: of integers as narrow as they can be.
        """
        found = np.empty((filled.size, self._mechanism.buckets), dtype)
        step = max(1, _BLOCK_CELLS // self._mechanism.buckets)
        for start in range(0, filled.size, step):
            chosen = filled[start : start + step]
            found[start : start + step] = self._oracle.supporting(rows[chosen])
        return found


MAX_CANDIDATES: Final = 4_096


@tallies(Rappor)
class RapporTally(GroupedTally):
    """cohorts x (1 + bits) counters, read by weighted least squares with an intercept.

    With t the debiased share of devices of a cohort that set a bit, the model is t = (sum of the
    shares of the candidates that set it) + intercept. The intercept takes up rare values that are
    not on the list, and bits that a common one sets are left out: see `bloom_regression`.
    """

    def __init__(self, spec: Spec) -> None:
        self._mechanism = cast("Rappor", spec.mechanism)
        self._bits = self._mechanism.bits
        super().__init__(spec, self._mechanism.cohorts, BitsTally(self._mechanism.filter))

    @cached_property
    def diagnostics(self) -> OnesHistogram:
        """How many ones reports have; a value sets up to h different bits."""
        own = range(1, self._mechanism.hashes + 1)
        return OnesHistogram(self._bits, self._mechanism.support, skip=GROUP_BYTES, own=own)

    def _checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],
        has_diagnostics: NDArray[np.bool_],
    ) -> Iterator[SliceChecks]:
        """Cohorts are as common as classes make them, and bits as frequent as noise allows."""
        support = self._mechanism.support
        yield from self._group_checks(counts, "cohorts", (support.q, support.p))
        yield self.diagnostics.check(diagnostics).only_where(has_diagnostics)

    def shares(
        self, counts: NDArray[np.int64], items: Sequence[str], repeated: float = 0.0
    ) -> ItemShares:
        """Regression of the debiased bits on the filters of the candidates that somebody holds.

        Standard errors come from the exact variance of the bits at the fitted shares, widened
        where the residuals are larger than that: they carry collisions and unlisted values too.

        Args:
            counts: int64, (cells,), of at least one report.
            repeated: how often a device may have reported its permanent bits again.

        Raises:
            ParameterError: if there are more candidates than the bits of all cohorts can tell
                apart: two thirds of bits x cohorts, and at most 4,096.
        """
        cohorts = self._counts_by_group(counts)
        reports, ones = self._oracle.reports(cohorts), self._oracle.supporting(cohorts)
        present = np.flatnonzero(reports)
        limit = min(MAX_CANDIDATES, 2 * present.size * self._bits // 3)
        if len(items) > limit:
            raise ParameterError("candidates", f"at most {limit} for this RAPPOR", len(items))
        support, lie = self._mechanism.support, self._mechanism.flip / SCALE
        weights = np.repeat(reports[present].astype(np.float64), self._bits)
        observed = np.asarray(support.share(ones[present].ravel() / weights, 1))
        cells = Cells(observed, weights, present.size, support)
        regression, scores = regress(cells, self._places(items, present))
        repeat_variance = repeated * Support(1 - lie, lie).variance(0.0, 1)
        return regression_shares(regression, scores, self._mechanism.hashes, repeat_variance)

    def _places(self, items: Sequence[str], cohorts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bits that items set: int64, (items, cohorts x hashes), numbered over all cohorts."""
        words = hash_cells.words(items, self.spec.salt)
        hashes = self._mechanism.hashes
        places = [
            position * self._bits
            + hash_cells.buckets(words, key(cohort * hashes + index), self._bits)
            for position, cohort in enumerate(cohorts.tolist())
            for index in range(hashes)
        ]
        return np.stack(places, axis=1)
