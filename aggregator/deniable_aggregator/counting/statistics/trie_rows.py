"""The counts of a trie of codes, row by row: what strings that nobody holds have there."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_aggregator.counting.statistics.binomial import log_probabilities
from deniable_aggregator.counting.statistics.sum_law import SumLaw, frequencies

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Trie

ROW_CAP: Final = 4.5
"""A row is left out of an estimate where its cell is so many standard deviations above it."""

_TEST_CAP: Final = 3.0
"""Cells count for the test at most so many standard deviations above those that nobody is in."""

_BELOW: Final = 12.0
_ABOVE: Final = 45.0
"""The law of a cell of the first level reaches so many standard deviations from its mean."""

_STEPS: Final = 4_096

_ENOUGH_CELLS: Final = 1_024
"""Of fewer cells it is not measured how much more than noise they differ."""


class RowColumns(NamedTuple):
    """What is known of each row: float64, (rows,) each, the first level being one row.

    Attributes:
        level: int64: in which level it is.
        p: with which probability a report supports its own cell.
        q: and any given other one.
        shared: the probability that another string is in a given string's cell; 0 in level 0.
        gain: how much a report's support says: (p - q) / (q (1 - q)), for the probability q of a
            string that nobody holds.
        spread: how much larger than noise the variance of a row's cells is.
    """

    level: NDArray[np.int64]
    reports: NDArray[np.float64]
    p: NDArray[np.float64]
    q: NDArray[np.float64]
    shared: NDArray[np.float64]
    gain: NDArray[np.float64]
    spread: NDArray[np.float64]


class TrieRows:
    """The counts of a trie, in few bytes, and what is worked out of them once.

    A string that nobody holds has in each deeper level a random cell of every row, as in a sketch.
    In the first level, strings that end there have a cell of their own, with no other string in it.

    Attributes:
        supporting: int32 or int64, (rows, cells) of each level: how many reports support each cell.
        columns: what is known of each row of all levels.

    Args:
        trie: the mechanism.
        supports: as `TrieTally.supports_of_level`.
    """

    def __init__(
        self,
        trie: Trie,
        supports: Callable[[int], tuple[NDArray[np.int64], NDArray[np.int64]]],
    ) -> None:
        self.levels = trie.levels
        self.supporting: list[NDArray[np.int64] | NDArray[np.int32]] = []
        self._capped: list[NDArray[np.int64]] = []
        parts: list[NDArray[np.float64]] = []
        for level in range(trie.levels):
            reports, supporting = supports(level)
            own, absent = trie.oracle(level).support, trie.support(level)
            cells = supporting.shape[1]
            spread = 1.0
            if level:
                caps = _caps(reports, absent.q, _TEST_CAP)
                self._capped.append(frequencies(np.minimum(supporting, caps[:, None])))
                is_kept = supporting <= _caps(reports, absent.q, ROW_CAP)[:, None]
                if cells >= _ENOUGH_CELLS:
                    spread = _spread(supporting, is_kept, reports, absent.q)
            size = len(reports)
            gain = (absent.p - absent.q) / (absent.q * (1 - absent.q))
            values = (own.p, own.q, 1 / cells if level else 0.0, gain, spread)
            columns = [np.full(size, float(level)), reports.astype(np.float64)]
            parts.append(np.array([*columns, *(np.full(size, value) for value in values)]))
            fits = int(supporting.max(initial=0)) < 1 << 31
            self.supporting.append(supporting.astype(np.int32) if fits else supporting)
        level_of, *remaining = np.concatenate(parts, axis=1)
        self.columns = RowColumns(level_of.astype(np.int64), *remaining)
        self._laws: dict[int, SumLaw] = {}

    @cached_property
    def total(self) -> int:
        """How many reports there are."""
        return int(self.columns.reports.sum())

    @property
    def nbytes(self) -> int:
        """How much memory the counts take."""
        return sum(array.nbytes for array in (*self.supporting, *self._capped))

    @cached_property
    def caps(self) -> NDArray[np.float64]:
        """What the cells of each row count for the test at most; no limit in the first level."""
        columns = self.columns
        absent = columns.q + columns.shared * (columns.p - columns.q)
        caps = _caps(columns.reports, absent, _TEST_CAP).astype(np.float64)
        return np.where(columns.level > 0, caps, np.inf)

    @cached_property
    def part_of_first(self) -> float:
        """How much a supporter in the first level counts for the test; one in a deeper counts 1."""
        gain = self.columns.gain
        return float(gain[0] / gain[-1])

    def law(self, end: int) -> SumLaw:
        """The law of the test's sum for a string that nobody holds.

        Of its cells in the levels from the end on, the sum of what these count for the test of a
        sketch, those of the first level times `part_of_first`.
        """
        if end not in self._laws:
            self._laws[end] = self._law(end)
        return self._laws[end]

    def _law(self, end: int) -> SumLaw:
        values, weights, starts, size = [], [], [], 0
        if end == 0:
            first = _binomial(int(self.columns.reports[0]), float(self.columns.q[0]))
            values.append(first[0] * self.part_of_first)
            weights.append(first[1])
            starts.append(0)
            size = first[0].size
        for counts in self._capped[max(end - 1, 0) :]:
            for row in counts:
                possible = np.flatnonzero(row)
                values.append(possible.astype(np.float64))
                weights.append(row[possible] / row.sum())
                starts.append(size)
                size += possible.size
        return SumLaw.of_outcomes(
            np.concatenate(values),
            np.concatenate(weights),
            np.array(starts),
            float(end > 0 or self.levels == 1),
        )


def _caps(
    reports: NDArray[np.int64] | NDArray[np.float64],
    q: NDArray[np.float64] | float,
    deviations: float,
) -> NDArray[np.int64]:
    """The highest count of a cell that nobody is in; the last term allows for skewness."""
    deviation = np.sqrt(reports * q * (1 - q))
    skew = (deviations**2 - 1) / 6 * (1 - 2 * np.asarray(q))
    return np.ceil(reports * q + deviations * deviation + skew).astype(np.int64)


def _spread(
    supporting: NDArray[np.int64], is_kept: NDArray[np.bool_], reports: NDArray[np.int64], q: float
) -> float:
    """How much larger than that of noise the variance of a level's kept cells is: at least 1."""
    above = np.where(is_kept, supporting - reports[:, None] * q, 0.0)
    number = np.maximum(is_kept.sum(axis=1), 1)
    variance = (above**2).sum(axis=1) / number - (above.sum(axis=1) / number) ** 2
    noise = float(reports.sum()) * q * (1 - q)
    return max(1.0, float(variance.sum()) / noise) if noise else 1.0


def _binomial(trials: int, q: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Counts about their mean and their probabilities, finely enough for a sum."""
    mean, deviation = trials * q, math.sqrt(trials * q * (1 - q)) + 1
    low, high = max(0, int(mean - _BELOW * deviation)), min(trials, int(mean + _ABOVE * deviation))
    counts = np.unique(np.linspace(low, high, min(high - low + 1, _STEPS)).astype(np.int64))
    logs = log_probabilities(counts, trials, q)
    weights = np.exp(logs - logs.max())
    if counts.size > 1:
        weights *= np.gradient(counts.astype(np.float64))
    likely = weights > 0
    return counts[likely].astype(np.float64), weights[likely] / weights[likely].sum()
