"""Counting RAPPOR's Bloom filters, and decoding a candidate list by regression."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy import linalg, sparse

from deniable_aggregator.kernels import hashing
from deniable_aggregator.statistics.checks import bounds_check, evenness_check
from deniable_aggregator.statistics.influence import influence
from deniable_aggregator.statistics.item_shares import ItemShares
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

    from deniable_aggregator.statistics.checks import Check
    from deniable_shared.spec import Spec

MAX_CANDIDATES = 4_096
_CHUNK_CELLS = 1 << 22


@tallies(Rappor)
class RapporTally(GroupedTally):
    """cohorts x (1 + bits) counters, read by weighted least squares with an intercept.

    With t the debiased share of devices of a cohort that set a bit, the model is
    t = (sum of the shares of the candidates that set it) + intercept. The intercept takes up the
    values that are not on the list: without it every candidate would be biased upward.
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
        self, counts: NDArray[np.int64], diagnostics: NDArray[np.int64] | None
    ) -> Iterator[Check]:
        """Cohorts are equally common, and bits as frequent as noise allows."""
        cohorts = self._grouped(counts)
        if self._groups > 1:
            yield evenness_check("groups", cohorts[:, 0], f"the {self._groups} cohorts")
        ones, trials = cohorts[:, 1:].ravel(), np.repeat(cohorts[:, 0], self._bits)
        support = self._mechanism.support
        yield bounds_check(ones, trials, support.q, support.p)
        yield self.diagnostics.check(diagnostics)

    def shares(
        self, counts: NDArray[np.int64], items: Sequence[str], repeated: float = 0.0
    ) -> ItemShares:
        """Regression of the debiased bits on the candidates' filters.

        Standard errors come from the exact variance of the bits at the fitted shares, widened
        where the residuals are larger than that: they carry collisions and unlisted values too.

        Args:
            counts: int64, (cells,), of at least one report.
            items: the candidates.
            repeated: how often a device may have reported its permanent bits again.

        Raises:
            ParameterError: if there are more candidates than the bits of all cohorts can tell
                apart: two thirds of bits x cohorts, and at most 4,096.
        """
        cohorts = self._grouped(counts)
        reports, ones = self._oracle.reports(cohorts), self._oracle.supporting(cohorts)
        seen = np.flatnonzero(reports)
        limit = min(MAX_CANDIDATES, 2 * seen.size * self._bits // 3)
        if len(items) > limit:
            raise ParameterError("candidates", f"at most {limit} for this RAPPOR", len(items))
        weights = np.repeat(reports[seen].astype(np.float64), self._bits)
        support = self._mechanism.support
        observed = support.share(ones[seen].ravel() / weights, 1)
        design = self._design(items, seen)
        weighted = design.multiply(weights[:, None]).tocsr()
        inverse = linalg.pinvh((design.T @ weighted).toarray())
        fitted_shares = inverse @ (weighted.T @ observed)
        fitted = design @ fitted_shares
        set_bits, lie = np.clip(fitted, 0.0, 1.0), self._mechanism.flip / SCALE
        permanent = Support(1 - lie, lie).variance(set_bits, 1)
        bit_variance = (support.variance(set_bits, 1) + repeated * permanent) / weights
        freedom = weights.size - design.shape[1]
        misfit = float(((observed - fitted) ** 2 / bit_variance).sum()) / max(freedom, 1)
        spread = weighted.T @ weighted.multiply(bit_variance[:, None])
        covariance = inverse @ np.asarray(spread.todense()) @ inverse
        covariance = covariance[:-1, :-1] * max(1.0, misfit)
        variance = np.diag(covariance)
        share = fitted_shares[:-1]
        moved = _influence(share, inverse[:-1], weighted, support, int(reports.sum()))
        return ItemShares(share, variance, variance, covariance=covariance, influence=moved)

    def _design(self, items: Sequence[str], cohorts: NDArray[np.int64]) -> Any:
        """Sparse float64, (cohorts x bits, items + 1): which items set which bit, and ones."""
        words = hashing.words(items, self.spec.salt)
        hashes = self._mechanism.hashes
        rows, columns = [], []
        for position, cohort in enumerate(cohorts.tolist()):
            for index in range(hashes):
                bit = hashing.buckets(words, key(cohort * hashes + index), self._bits)
                rows.append(position * self._bits + bit)
                columns.append(np.arange(words.size))
        height = cohorts.size * self._bits
        where = (np.concatenate(rows), np.concatenate(columns))
        filters = sparse.csr_array((np.ones(where[0].size), where), shape=(height, words.size))
        filters.data[:] = 1.0  # two hash functions may set the same bit
        return sparse.hstack([filters, np.ones((height, 1))], format="csr")


def _influence(
    share: NDArray[np.float64],
    inverse: NDArray[np.float64],
    weighted: Any,
    support: Support,
    reports: int,
) -> NDArray[np.float64]:
    """How far forged reports could move shares if they are spread over cohorts like honest ones.

    Each bit counts with its weight in the regression, so the worst report of a cohort has the ones
    where this is positive. (Fakes in few cohorts change the weights, and are seen as too many.)
    """
    ends = -support.q / (support.p - support.q), (1 - support.q) / (support.p - support.q)
    low, high = np.empty_like(share), np.empty_like(share)
    step = max(1, _CHUNK_CELLS // weighted.shape[0])
    for start in range(0, share.size, step):
        chunk = slice(start, start + step)
        weights = (weighted @ inverse[chunk].T).T
        above, below = weights.clip(min=0).sum(axis=1), weights.clip(max=0).sum(axis=1)
        low[chunk] = above * ends[0] + below * ends[1]
        high[chunk] = above * ends[1] + below * ends[0]
    return np.asarray(influence(share, low, high, reports=reports))
