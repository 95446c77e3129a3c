"""Counting and reading the count-mean sketch."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from deniable_aggregator import hashing
from deniable_aggregator.tallies.base import Shares
from deniable_aggregator.tallies.bits import BitsTally
from deniable_aggregator.tallies.known import supported_shares
from deniable_shared.hashing import key
from deniable_shared.rationals import SCALE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_shared.mechanisms import CountMeanSketch
    from deniable_shared.spec import Spec

_CHUNK_ITEMS = 1 << 15


class CountMeanSketchTally(BitsTally):
    """rows x (1 + buckets) counters; any candidate can be read from them at any time."""

    def __init__(self, spec: Spec) -> None:
        self._mechanism = cast("CountMeanSketch", spec.mechanism)
        super().__init__(spec, self._mechanism.rows, self._mechanism.buckets)

    def shares(self, counts: NDArray[np.int64], items: Sequence[str]) -> Shares:
        """The shares of any strings; cost grows linearly with candidates times rows.

        The variance has, besides noise and sampled collisions, the error of this one hash family.
        More reports do not reduce it; its size is estimated from the sketch itself.
        """
        reports, ones = self._grouped(counts)
        total = int(reports.sum())
        noise = supported_shares(self._supporting(ones, items), total, self._mechanism.support)
        family = self._mechanism.family_variance(self._second_moment(reports, ones))
        return Shares(noise.share, noise.variance + family, noise.null_variance + family)

    def _supporting(self, ones: NDArray[np.int64], items: Sequence[str]) -> NDArray[np.int64]:
        """For each item, the sum over rows of the ones in its bucket: int64, (items,)."""
        words = hashing.words(items, self.spec.salt)
        supporting = np.zeros(words.size, np.int64)
        keys = [key(row) for row in range(self._groups)]
        for start in range(0, words.size, _CHUNK_ITEMS):
            chunk = slice(start, start + _CHUNK_ITEMS)
            for row_key, row in zip(keys, ones, strict=True):
                supporting[chunk] += row[hashing.buckets(words[chunk], row_key, self._bits)]
        return supporting

    def _second_moment(self, reports: NDArray[np.int64], ones: NDArray[np.int64]) -> float:
        """The sum of all items' squared shares, estimated without bias, then kept in [0, 1].

        Within a row, C (C - 1) / (N (N - 1)) is an unbiased estimate of the squared rate of a bit.
        Debiased and summed over buckets it estimates F2 + (1 - F2) / m.
        """
        pairs = float((reports * (reports - 1.0)).sum())
        if not pairs > 0:
            return 1.0
        flip = self._mechanism.flip / SCALE
        row_reports = reports[:, None].astype(np.float64)
        squares = ones * (ones - 1.0) - 2 * flip * ones * (row_reports - 1)
        total = float(squares.sum()) + self._bits * flip**2 * pairs
        concentration = total / (pairs * (1 - 2 * flip) ** 2)
        moment = (concentration - 1 / self._bits) / (1 - 1 / self._bits)
        return min(max(moment, 0.0), 1.0)
