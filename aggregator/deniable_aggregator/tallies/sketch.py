"""Count-mean sketches: estimates for any list of strings."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from deniable_aggregator.kernels import hashing
from deniable_aggregator.statistics.checks import bounds_check, evenness_check
from deniable_aggregator.tallies.base import oracle_tally_for, tallies
from deniable_aggregator.tallies.grouped import GroupedTally
from deniable_aggregator.tallies.oracle import shares_from_support
from deniable_shared.hashing import key
from deniable_shared.mechanisms import Sketch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.statistics.checks import Check
    from deniable_aggregator.statistics.item_shares import ItemShares
    from deniable_aggregator.tallies.diagnostics import OnesHistogram
    from deniable_shared.spec import Spec

_CHUNK_ITEMS = 1 << 15


@tallies(Sketch)
class SketchTally(GroupedTally):
    """An oracle's counts for every row; the share of any string can be estimated from them.

    Args:
        spec: a string metric with a sketch.
    """

    def __init__(self, spec: Spec) -> None:
        self._mechanism = cast("Sketch", spec.mechanism)
        super().__init__(spec, self._mechanism.rows, oracle_tally_for(self._mechanism.inner))

    @cached_property
    def diagnostics(self) -> OnesHistogram | None:
        """Those of the inner oracle's reports."""
        return self._oracle.grouped_diagnostics()

    def _checks(
        self, counts: NDArray[np.int64], diagnostics: NDArray[np.int64] | None
    ) -> Iterator[Check]:
        """Rows are as common as they are drawn, and in each all counts are within bounds."""
        rows = self._grouped(counts)
        reports = self._oracle.reports(rows)
        if self._groups > 1:
            rows_of = f"the {self._groups} rows of the sketch"
            yield evenness_check("groups", reports, rows_of, self._group_shares)
        bounded, low, high = self._oracle.bounded_counts(rows)
        bounds = (np.broadcast_to(each, bounded.shape).ravel() for each in (low, high))
        yield bounds_check(bounded.ravel(), np.repeat(reports, bounded.shape[1]), *bounds)
        if self.diagnostics is not None:
            yield self.diagnostics.check(diagnostics)

    def shares(self, counts: NDArray[np.int64], items: Sequence[str]) -> ItemShares:
        """The shares of any strings; cost grows linearly with candidates times rows.

        The variance has, besides noise and sampled collisions, the error of this one hash family.
        More reports do not reduce it; its size is estimated from the sketch itself.
        """
        rows = self._grouped(counts)
        reports, supporting = self._oracle.reports(rows), self._oracle.supporting(rows)
        total = int(reports.sum())
        found = shares_from_support(self._sums(supporting, items), total, self._mechanism)
        family = self._mechanism.family_variance(self._second_moment(reports, supporting))
        counted = (
            None
            if found.support_counts is None
            else found.support_counts._replace(family_variance=family)
        )
        return replace(
            found,
            variance=found.variance + family,
            null_variance=found.null_variance + family,
            support_counts=counted,
        )

    def _sums(self, supporting: NDArray[np.int64], items: Sequence[str]) -> NDArray[np.int64]:
        """For each item, the support of its bucket summed over the rows: int64, (items,)."""
        words = hashing.words(items, self.spec.salt)
        sums = np.zeros(words.size, np.int64)
        keys = [key(row) for row in range(self._groups)]
        for start in range(0, words.size, _CHUNK_ITEMS):
            chunk = slice(start, start + _CHUNK_ITEMS)
            for row_key, row in zip(keys, supporting, strict=True):
                sums[chunk] += row[hashing.buckets(words[chunk], row_key, self._mechanism.buckets)]
        return sums

    def _second_moment(self, reports: NDArray[np.int64], supporting: NDArray[np.int64]) -> float:
        """The sum of all items' squared shares, estimated without bias, then kept in [0, 1].

        Within a row, C (C - 1) / (N (N - 1)) is an unbiased estimate of the squared probability
        that a report supports a bucket. Debiased and summed over the m buckets it estimates
        F2 + (1 - F2) / m.
        """
        pairs = float((reports * (reports - 1.0)).sum())
        if not pairs > 0:
            return 1.0
        inner, buckets = self._mechanism.inner.support, self._mechanism.buckets
        row_reports = reports[:, None].astype(np.float64)
        squares = supporting * (supporting - 1.0) - 2 * inner.q * supporting * (row_reports - 1)
        total = float(squares.sum()) + buckets * inner.q**2 * pairs
        concentration = total / (pairs * (inner.p - inner.q) ** 2)
        moment = (concentration - 1 / buckets) / (1 - 1 / buckets)
        return min(max(moment, 0.0), 1.0)
