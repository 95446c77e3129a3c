"""Counting RAPPOR's Bloom filters, and reading a list of candidates from them by regression."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from deniable_aggregator.kernels import hashing
from deniable_aggregator.statistics.hashed.bloom_regression import Cells, regress
from deniable_aggregator.statistics.hashed.regression_shares import regression_shares
from deniable_aggregator.tallies.base import tallies
from deniable_aggregator.tallies.diagnostics import GROUP_BYTES, OnesHistogram
from deniable_aggregator.tallies.grouped import GroupedTally
from deniable_aggregator.tallies.oracle import BitsTally
from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE
from deniable_shared.hashing import key
from deniable_shared.mechanisms import Rappor, Support

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.statistics.checks import SliceChecks
    from deniable_aggregator.statistics.item_shares import ItemShares
    from deniable_shared.spec import Spec

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
        words = hashing.words(items, self.spec.salt)
        hashes = self._mechanism.hashes
        places = [
            position * self._bits + hashing.buckets(words, key(cohort * hashes + index), self._bits)
            for position, cohort in enumerate(cohorts.tolist())
            for index in range(hashes)
        ]
        return np.stack(places, axis=1)
