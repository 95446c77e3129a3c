"""Tries of codes: one counter for each point of each row of each level."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, cast

import numpy as np
from scipy.sparse import csr_array

from deniable_aggregator.counting import hash_cells
from deniable_aggregator.counting.statistics.checks import (
    SliceChecks,
    evenness_check,
    grouped_bounds_check,
)
from deniable_aggregator.counting.statistics.trie_estimates import PlacedStrings, shares_of_strings
from deniable_aggregator.counting.statistics.trie_rows import TrieRows
from deniable_aggregator.counting.tallies.base import ShareTally, chunks, oracle_tally_for, tallies
from deniable_aggregator.counting.tallies.crowded_points import (
    HARDLY_EVER,
    MEETING,
    NEVER,
    expected_reports,
    likeliest_mean,
    point_limits,
)
from deniable_shared.errors import WireError
from deniable_shared.mechanisms import Trie

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.counting.statistics.shares import ItemShares
    from deniable_shared.spec import Spec


MOST_ROWS_BYTES: Final = 128 << 20
"""The rows of all totals together; those that were asked for longest ago are forgotten."""

_PORTION_CELLS: Final = 1 << 18

_MOST_POPULAR: Final = 64
"""Of so many first pieces it is worked out which points they make likelier."""
SURELY: Final = 6.0
"""A first piece with so many standard errors is surely held."""


class Uncrowded(NamedTuple):
    """Counts without what hardly any honest devices send.

    Attributes:
        counts: integers as narrow as these allow, (cells,), since there may be 58 million.
        left_out: how many reports of each level are not in them.
        reports: how many each level had.
    """

    counts: NDArray[np.integer]
    left_out: tuple[int, ...]
    reports: tuple[int, ...]


class StringPlaces:
    """Where strings are in a trie, in portions of a few megabytes."""

    def __init__(self, spec: Spec, items: Sequence[str]) -> None:
        self._trie, self._salt = cast("Trie", spec.mechanism), spec.salt
        pieces = [cast("tuple[int, ...]", spec.encode(item)) for item in items]
        self._end = np.fromiter((len(path) - 1 for path in pieces), np.int64, len(pieces))
        self._pieces = np.zeros((len(pieces), self._trie.levels), np.int64)
        self._pieces[np.arange(self._trie.levels) <= self._end[:, None]] = np.fromiter(
            (piece for path in pieces for piece in path), np.int64
        )

    def __iter__(self) -> Iterator[PlacedStrings]:
        rows = 1 + self._trie.rows * (self._trie.levels - 1)
        step = max(1, _PORTION_CELLS // rows)
        for start in range(0, max(self._end.size, 1), step):
            yield self._place(self._pieces[start : start + step], self._end[start : start + step])

    def _place(self, pieces: NDArray[np.int64], end: NDArray[np.int64]) -> PlacedStrings:
        trie = self._trie
        cells = [pieces[:, :1]]
        names = hash_cells.extend(hash_cells.root(self._salt, end.size), pieces[:, 0])
        for level in range(1, trie.levels):
            piece = pieces[:, level]
            cells.append(hash_cells.cells(names, piece, level, trie.rows, trie.deeper.outcomes))
            names = np.where(end >= level, hash_cells.extend(names, piece), names)
        return PlacedStrings(end, np.concatenate(cells, axis=1), names)


class KeptRows:
    """The rows of the totals that were asked about last: working them out takes a second.

    Args:
        most_bytes: how much memory they take at most.
    """

    def __init__(self, most_bytes: int = MOST_ROWS_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[bytes, bytes], TrieRows] = OrderedDict()

    def rows(self, tally: TrieTally, counts: NDArray[np.integer]) -> TrieRows:
        """The rows of a total.

        Args:
            counts: integers, (cells,).
        """
        content = hashlib.sha256(np.ascontiguousarray(counts).data, usedforsecurity=False).digest()
        name = tally.digest, content
        with self._lock:
            if name in self._held:
                self._held.move_to_end(name)
                return self._held[name]
        rows = TrieRows(
            cast("Trie", tally.spec.mechanism), partial(tally.supports_of_level, counts)
        )
        with self._lock:
            self._held[name] = rows
            size = sum(kept.nbytes for kept in self._held.values())
            while size > self._most_bytes:
                size -= self._held.popitem(last=False)[1].nbytes
        return rows


KEPT_ROWS: Final = KeptRows()


@tallies(Trie)
class TrieTally(ShareTally):
    """The points of the first level, then those of each row of each deeper level.

    A report adds 1 to one of millions of counters.

    Args:
        spec: a string metric whose strings are discovered.
    """

    is_sparse: ClassVar[bool] = True

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        trie = self._trie = cast("Trie", spec.mechanism)
        points = [trie.first.outcomes, *[trie.deeper.outcomes] * (trie.rows * (trie.levels - 1))]
        self._row_starts = np.concatenate([[0], np.cumsum(points)])
        """The first counter of each row, the first level being one, and how many there are."""

    @property
    def cells(self) -> int:
        """The points of the first level's space, and for each row of the others those of theirs."""
        return int(self._row_starts[-1])

    def _check(self, payload: bytes) -> None:
        """Level, row and point of every report exist."""
        self.places(payload)

    def places(self, payload: bytes) -> NDArray[np.int64]:
        """The counter of each report."""
        self._check_width(payload)
        rows = np.frombuffer(payload, np.uint8).reshape(-1, self._width)
        return np.concatenate([self._places(chunk) for chunk in chunks(rows)])

    def _places(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        trie = self._trie
        level, row, point = rows[:, 0].astype(np.int64), rows[:, 1], _points(rows)
        self._require("level", level, np.full(level.size, trie.levels))
        self._require("row", row, np.where(level, trie.rows, 1))
        points = np.where(level, trie.deeper.outcomes, trie.first.outcomes)
        self._require("point", point, points)
        number = np.where(level, (level - 1) * trie.rows + row + 1, 0)
        return np.asarray(self._row_starts[number] + point)

    def _require(self, field: str, values: NDArray[Any], limits: NDArray[np.int64]) -> None:
        beyond = np.flatnonzero(values >= limits)
        if beyond.size:
            raise WireError(
                f"the {field} of a report of {self.spec.name} must be below {limits[beyond[0]]}, "
                f"got {values[beyond[0]]}"
            )

    def count(self, payload: bytes) -> NDArray[np.int64]:
        """Each report in its counter."""
        counts = np.zeros(self.cells, np.int64)
        np.add.at(counts, self.places(payload), 1)
        return counts

    def reports(self, counts: NDArray[np.integer]) -> int:
        """The sum of all counters."""
        return int(counts.sum())

    def uncrowded(self, counts: NDArray[np.int64]) -> Uncrowded:
        """Leaves out the reports of points that have more than devices send of one.

        First each point is cut to what it could have if all devices held one string. Then the
        popular first pieces say how much each point of the first level really can have, and how
        much any of a deeper level.

        Args:
            counts: int64, (cells,).
        """
        kept, trie = counts.astype(np.min_scalar_type(int(counts.max(initial=0)))), self._trie
        first, deeper = kept[: self._row_starts[1]], kept[self._row_starts[1] :]
        first_limit = likeliest_mean(trie.first, first.sum(keepdims=True), 1.0)
        _cut(first, point_limits(trie.first, first_limit, NEVER))
        self._cut_deeper(deeper, 1.0, NEVER)
        (reports,), (supporting,) = self.supports_of_level(kept, 0)
        if reports:
            support = trie.first.support
            shares = support.share(supporting, int(reports))
            surely = SURELY * support.variance(0.0, int(reports)) ** 0.5
            popular = _largest(shares, _MOST_POPULAR)
            held = popular[shares[popular] > surely]
            others = min(MEETING * surely, 1.0)
            expected = expected_reports(trie.first, int(reports), held, shares[held], others)
            crowded = np.flatnonzero(first > point_limits(trie.first, expected.min(), HARDLY_EVER))
            limits = point_limits(trie.first, expected[crowded], HARDLY_EVER)
            first[crowded] = np.minimum(first[crowded], limits)
            together = shares[popular[:MEETING]].sum()
            self._cut_deeper(deeper, float(np.clip(together, 0.0, 1.0)), HARDLY_EVER)
        before, after = self._of_levels(counts), self._of_levels(kept)
        return Uncrowded(kept, tuple((before - after).tolist()), tuple(before.tolist()))

    def _cut_deeper(self, counts: NDArray[np.integer], share: float, chance: float) -> None:
        """Cuts each point of each row below the first level to its limit."""
        oracle = self._trie.deeper
        rows = counts.reshape(-1, oracle.outcomes)
        mean = likeliest_mean(oracle, rows.sum(axis=1), share)
        _cut(rows, point_limits(oracle, mean, chance)[:, None])

    def _of_levels(self, counts: NDArray[np.integer]) -> NDArray[np.int64]:
        """How many reports each level has: int64, (levels,)."""
        ends = self._row_starts[1 :: self._trie.rows].tolist()
        return np.array([counts[start:end].sum() for start, end in pairwise([0, *ends])], np.int64)

    def supports_of_level(
        self, counts: NDArray[np.integer], level: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many reports each row of a level has, and how many of them support each item.

        The integers are exact. Memory is that of one level: 20 MB of supports at epsilon 4.

        Args:
            counts: integers, (cells,).
            level: from 0; the first level is one row.

        Returns:
            int64, (rows,) and (rows, items).
        """
        trie = self._trie
        first, end = (0, 1) if not level else (1 + (level - 1) * trie.rows, 1 + level * trie.rows)
        of_level = counts[self._row_starts[first] : self._row_starts[end]]
        rows = of_level.reshape(end - first, -1).astype(np.int64, copy=False)
        oracle = oracle_tally_for(trie.oracle(level))
        return oracle.reports(rows), oracle.supporting(rows)

    def checks(
        self,
        stored: Any,
        reports: NDArray[np.int64],  # noqa: ARG002
    ) -> list[SliceChecks]:
        """Levels and rows are as common as they are drawn, and points within their bounds.

        Args:
            stored: int64, (slices, cells): an array, or a sparse one.
            reports: int64, (slices,): not needed, as the counters are those of all reports.
        """
        return list(self._sparse_checks(csr_array(stored)))

    def _checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],  # noqa: ARG002
        has_diagnostics: NDArray[np.bool_],  # noqa: ARG002
    ) -> Iterator[SliceChecks]:
        yield from self._sparse_checks(csr_array(counts))

    def _sparse_checks(self, stored: csr_array) -> Iterator[SliceChecks]:
        trie, rows = self._trie, self._row_starts.size - 1
        shape = stored.shape[0], rows
        stored.sort_indices()
        row = np.searchsorted(self._row_starts, stored.indices, side="right") - 1
        place = np.repeat(np.arange(shape[0]) * rows, np.diff(stored.indptr)) + row
        reports = np.bincount(place, stored.data, shape[0] * rows).astype(np.int64).reshape(shape)
        if trie.levels > 1:
            starts = [0, *range(1, rows, trie.rows)]
            shares = np.array([float(share) for share in trie.level_shares])
            by_level = np.add.reduceat(reports, starts, axis=1)
            yield evenness_check("levels", by_level, f"the {trie.levels} levels", shares)
            rows_of = np.diff([*starts, rows])
            of_row = np.repeat(shares / rows_of, rows_of)
            yield evenness_check("groups", reports, f"the {rows} rows of all levels", of_row)
        least, most = _ends(place, stored.data, shape, np.diff(self._row_starts))
        low, high = (
            np.where(np.arange(rows), deeper, first)
            for first, deeper in zip(
                trie.first.outcome_bounds(), trie.deeper.outcome_bounds(), strict=True
            )
        )
        check = grouped_bounds_check(least, most, reports, (low, high), self.cells)
        beyond = self._beyond_limits(stored, place, reports)
        finding = f"{check.finding}, and {{2:,}} reports are more than points can have"
        yield replace(check, finding=finding, numbers=(*check.numbers, beyond))

    def _beyond_limits(
        self, stored: csr_array, place: NDArray[np.int64], reports: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """How many reports of each slice are cut even if all devices hold one string."""
        trie = self._trie
        limits = np.empty_like(reports)
        for oracle, rows in ((trie.first, slice(1)), (trie.deeper, slice(1, None))):
            mean = likeliest_mean(oracle, reports[:, rows], 1.0)
            limits[:, rows] = point_limits(oracle, mean, NEVER)
        above = np.maximum(stored.data - limits.ravel()[place], 0)
        of_slice = np.repeat(np.arange(len(reports)), np.diff(stored.indptr))
        return np.bincount(of_slice, above, len(reports)).astype(np.int64)

    def shares(self, counts: NDArray[np.integer], items: Sequence[str]) -> ItemShares:
        """The shares of any strings; cost grows linearly with them.

        A string that is cut has the share of all strings with the same beginning.
        """
        rows = KEPT_ROWS.rows(self, counts)
        return shares_of_strings(rows, StringPlaces(self.spec, items))


def _cut(counts: NDArray[np.integer], limits: NDArray[np.int64]) -> None:
    """Cuts counts to limits, in place."""
    np.minimum(counts, limits, out=counts, casting="unsafe")  # what is cut is smaller than before


def _largest(values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """The places of the largest values, the largest first."""
    places = np.argpartition(-values, min(most, values.size) - 1)[:most]
    return places[np.argsort(-values[places])]


def _ends(
    place: NDArray[np.int64],
    counts: NDArray[np.int64],
    shape: tuple[int, int],
    sizes: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The least and the largest count of each row.

    Args:
        place: int64, (found,): slice and row of each count that is not 0, ascending.
        counts: int64, (found,): these counts.
        sizes: int64, (rows,): how many counts each row has.

    Returns:
        int64, (slices, rows), twice.
    """
    least, most = np.zeros((2, shape[0] * shape[1]), np.int64)
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    occupied = place[starts]
    if occupied.size:
        least[occupied] = np.minimum.reduceat(counts, starts)
        most[occupied] = np.maximum.reduceat(counts, starts)
    touched = np.bincount(place, minlength=least.size).reshape(shape)
    return np.where(touched < sizes, 0, least.reshape(shape)), most.reshape(shape)


def _points(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The points of reports: big-endian integers behind level and row."""
    points = np.zeros(len(rows), np.int64)
    for place in range(2, rows.shape[1]):
        points <<= 8
        points |= rows[:, place]
    return points
