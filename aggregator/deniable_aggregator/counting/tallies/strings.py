"""Tallies of strings: reports begin with a public group, a sketch's row or a cohort of RAPPOR."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

from deniable_aggregator.counting import hash_cells
from deniable_aggregator.counting.statistics.bloom_filters import Cells, regress, regression_shares
from deniable_aggregator.counting.statistics.checks import SliceChecks, bounds_check, evenness_check
from deniable_aggregator.counting.statistics.sketch_estimates import StringSums, shares_of_strings
from deniable_aggregator.counting.statistics.sketch_fit import (
    FITTED_REPORTS,
    FittedRows,
    fitted_shares,
)
from deniable_aggregator.counting.statistics.sketch_rows import SketchRows, SketchStack
from deniable_aggregator.counting.tallies.base import ShareTally, chunks, oracle_tally_for, tallies
from deniable_aggregator.counting.tallies.counts import FewCounts, all_counters
from deniable_aggregator.counting.tallies.diagnostics import GROUP_BYTES, OnesHistogram
from deniable_aggregator.counting.tallies.oracle import BitsTally, IndexTally, OracleTally
from deniable_aggregator.counting.tallies.string_places import (
    RememberedPlaces,
    StringPlaces,
    hashed_strings,
)
from deniable_aggregator.counting.yield_points import yield_point
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
    from deniable_aggregator.counting.statistics.sketches import SketchShares
    from deniable_aggregator.counting.tallies.counts import Counts
    from deniable_aggregator.counting.tallies.string_places import HashedStrings
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
        return shares_of_sketches([(self, counts)], items)[0]

    def shares_of_few(self, counts: FewCounts, items: Sequence[str]) -> SketchShares:
        """The same from the cells that reports support, where these are few."""
        return shares_of_sketches([(self, counts)], items)[0]

    def filled_rows(self, counts: Counts) -> tuple[NDArray[np.int64], SketchRows]:
        """The rows that have reports: their numbers, int64, (rows,), and what is counted there."""
        support, supporting = self._mechanism.inner.support, None
        if isinstance(counts, FewCounts):
            rows, outcomes = np.divmod(counts.places, self._oracle.cells)
            reports = np.bincount(rows, minlength=self._groups)
            filled = np.flatnonzero(reports)
            rank = np.repeat(np.arange(filled.size), reports[filled])
            oracle = cast("IndexTally", self._oracle)
            supporting = oracle.supporting_few(rank, outcomes, filled.size)
        if supporting is None:
            cells = self._counts_by_group(all_counters(counts))
            reports = self._oracle.reports(cells)
            filled = np.flatnonzero(reports)
            supporting = self._supporting(cells, filled, np.min_scalar_type(reports.max()))
        return filled, SketchRows(reports[filled], supporting, support)

    def strings(self, items: Sequence[str]) -> HashedStrings:
        """The buckets of strings in the rows."""
        sketch = self._mechanism
        return hashed_strings(tuple(items), self.spec.salt, sketch.rows, sketch.buckets)

    def fitted_shares(self, rows: SketchRows, places: StringPlaces) -> SketchShares | None:
        """The shares of strings that are fitted to all rows; None where rows are left out.

        Args:
            rows: as of `filled_rows`.
            places: where the strings are.
        """
        if not self._mechanism.is_fitted or rows.total < FITTED_REPORTS * self._mechanism.rows:
            return None
        cells = RememberedPlaces(places)
        (whole,) = cells.sums([rows.supporting.astype(np.float64)])
        return fitted_shares(
            FittedRows(rows.reports, rows.supporting, rows.support),
            whole.astype(np.int64),
            self._mechanism.support,
            cells,
            self.support_range,
        )

    @cached_property
    def support(self) -> Support:
        """With which probabilities a report supports a string, over all hash functions."""
        return self._mechanism.support

    @cached_property
    def support_range(self) -> tuple[int, int]:
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


_STACKED_CELLS: Final = 1 << 20
"""Sketches are estimated together up to so many cells."""


def shares_of_sketches(
    sketches: Sequence[tuple[SketchTally, Counts]], items: Sequence[str]
) -> list[SketchShares]:
    """The shares of any strings in each of several sketches, such as of the versions of a metric.

    Those of few reports are estimated together: by itself, each takes longer to call NumPy for
    than to work out.

    Args:
        sketches: what each has counted, of at least one report.
        items: the strings.
    """
    found: list[SketchShares | None] = [None] * len(sketches)
    stacks: dict[HashedStrings, list[_Counted]] = {}

    def estimate(strings: HashedStrings) -> None:
        stack = stacks.pop(strings)
        shares = _shares_of_stack(strings, stack)
        for counted, share in zip(stack, shares, strict=True):
            found[counted.place] = share

    for place, (tally, counts) in enumerate(sketches):
        yield_point()
        strings = tally.strings(items)
        filled, rows = tally.filled_rows(counts)
        found[place] = tally.fitted_shares(rows, StringPlaces(strings, filled))
        if found[place] is None:
            cells = sum(each.rows.supporting.size for each in stacks.get(strings, ()))
            if cells and cells + rows.supporting.size > _STACKED_CELLS:
                estimate(strings)
            stacks.setdefault(strings, []).append(_Counted(place, tally, filled, rows))
    for strings in list(stacks):
        estimate(strings)
    return cast("list[SketchShares]", found)


class _Counted(NamedTuple):
    """What a sketch has counted.

    Attributes:
        place: which of the sketches.
        filled: int64, (rows,): the numbers of the rows with reports.
        rows: these.
    """

    place: int
    tally: SketchTally
    filled: NDArray[np.int64]
    rows: SketchRows


def _shares_of_stack(strings: HashedStrings, sketches: Sequence[_Counted]) -> list[SketchShares]:
    places = StringPlaces(strings, np.concatenate([each.filled for each in sketches]))
    stack = SketchStack([each.rows for each in sketches])
    return shares_of_strings(
        stack,
        StringSums(*places.sums(stack.packed)),
        [each.tally.support for each in sketches],
        places.cells,
        [each.tally.support_range for each in sketches],
    )


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
