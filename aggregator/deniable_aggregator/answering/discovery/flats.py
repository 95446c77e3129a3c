"""Cells that are lifted together, as forged reports lift them, and as no strings are.

A report of a point supports all items whose hyperplanes hold it. Those whose hyperplanes hold all
points of a line are the items of a *flat*, a subspace of the geometry: so a few hundred reports,
spread over the points of one line, lift hundreds of items by as much as if each had so many
devices. Items of devices are anywhere. So a flat of which nearly all items stand out is not due to
devices, and what its items have in common is taken out.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy import special

from deniable_aggregator.counting.kernels import point_coordinates, point_numbers
from deniable_shared.exact_bounds import SCALE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.answering.discovery.levels import Level
    from deniable_shared.mechanisms.oracles.pgr import ProjectiveGeometryResponse

FALSE_ALARM: Final = 0.001
"""The nominal level of the test: how seldom honest reports may seem to lift a flat."""

_OUTSTANDING_Z: Final = 4.5
"""Flats are looked for through items so many standard errors above 0."""
_LIFTED_Z: Final = 1.0
"""And of their other items those are counted that are so many above 0."""
_CHOSEN_Z: Final = 2.0
"""By so many standard errors of what a flat's items share its generators may be high because of
that: they were chosen for being high."""
_HELD_Z: Final = 3.0
"""Items so many standard errors above the others of their flat are held by devices."""
_MOST_OUTSTANDING: Final = 256
"""So many items are looked at: the largest."""
_MOST_FLATS: Final = 64
"""So many flats are taken out."""
_ENOUGH_POINTS: Final = 24
"""The flats that are looked for first are the smallest with so many points."""
_SAMPLED: Final = 256
"""So many points tell whether a larger flat is lifted, too."""
_WINDOWS: Final = {2: 40, 3: 12, 4: 10, 5: 9}
"""How many neighbours in rank are tried as the generators of a flat, by how many those are. Items
that are lifted together have nearly the same rank."""


class Flat(NamedTuple):
    """Cells of the first level that were lifted together.

    Attributes:
        cells: how many there are.
        reports: about how many reports lifted them.
    """

    cells: int
    reports: int


def take_out_flats(level: Level, oracle: ProjectiveGeometryResponse) -> list[Flat]:
    """Takes out of the first level what the cells of lifted flats have in common.

    In deeper levels a cell is in one of many rows, so that a flat lifts hardly anything there.

    Args:
        oracle: of the level.

    Returns:
        What was taken out: hardly ever anything, if devices made all reports (`FALSE_ALARM`).
    """
    (excess,), flats = level.excess, []
    search = _FlatSearch(oracle, FALSE_ALARM / _MOST_FLATS)
    deviation = math.sqrt(level.total * level.variance)
    for _ in range(_MOST_FLATS if level.total else 0):
        cells = search.lifted(excess, deviation, level.total)
        if not cells.size:
            break
        lift = np.median(excess[cells])
        excess[cells] -= lift
        forged = float(lift) * (level.p - level.q) / (1 - level.q)
        flats.append(Flat(cells.size, round(forged)))
    return flats


class _Cells(NamedTuple):
    """The cells of a level, in standard errors of a cell that nobody is in.

    Attributes:
        z: float32, (items,): the excess.
        is_lifted: bool, (items,): of which more than `_LIFTED_Z` are.
        usual: which part of all items that is.
        share: what one standard error is, as a share of the reports.
        reports: how many there are.
    """

    z: NDArray[np.float32]
    is_lifted: NDArray[np.bool_]
    usual: float
    share: float
    reports: float


class _FlatSearch:
    """Finds lifted flats among the items of one oracle.

    Args:
        chance: how probable a find among honest reports may be.
    """

    def __init__(self, oracle: ProjectiveGeometryResponse, chance: float) -> None:
        self._oracle, self._chance = oracle, chance
        self._q, self._t, self._size = oracle.q, oracle.t, oracle.size
        self._generators = 2
        while (self._q**self._generators - 1) // (self._q - 1) < _ENOUGH_POINTS:
            self._generators += 1
        self._random = np.random.default_rng(0)  # the same flats are found again

    def lifted(
        self, excess: NDArray[np.float32], deviation: float, reports: float
    ) -> NDArray[np.int64]:
        """The items of the flat that is lifted most clearly: int64; none if there is none.

        Args:
            excess: float32, (items,): see `Level`.
            deviation: its standard error where nobody is.
            reports: how many there are.
        """
        items = np.empty(0, np.int64)
        outstanding = np.flatnonzero(excess > np.float32(_OUTSTANDING_Z * deviation))
        if outstanding.size <= self._generators or self._generators >= self._t:
            return items
        order = np.argsort(-excess[outstanding], kind="stable")
        outstanding = outstanding[order[:_MOST_OUTSTANDING]]
        z = excess / np.float32(deviation)
        is_lifted = z > _LIFTED_Z
        seen = _Cells(z, is_lifted, float(is_lifted.mean()), deviation / reports, reports)
        spanning = self._spanning(seen, outstanding)
        while spanning.size:
            items = self._items(spanning)
            if spanning.size == self._t - 1:  # all that one point lifts
                break
            spanning = self._wider(seen, spanning, np.setdiff1d(outstanding, items))
        return items

    def _spanning(self, seen: _Cells, outstanding: NDArray[np.int64]) -> NDArray[np.int64]:
        """Items that span the smallest flat that is lifted most clearly; none if there is none.

        Args:
            outstanding: int64: the largest first.
        """
        width = _WINDOWS[self._generators]
        within = np.array([*combinations(range(width), self._generators)])
        starts = np.arange(0, max(outstanding.size - width // 2, 1), width // 2)
        places = (starts[:, None, None] + within).reshape(-1, self._generators)
        spans = outstanding[np.unique(places[(places < outstanding.size).all(axis=1)], axis=0)]
        points, is_span = self._points(spans, self._coefficients(self._generators))
        others = points < self._size
        for generator in spans.T:
            others &= points != generator[:, None]
        count = others.sum(axis=1)
        places = np.where(others, points, 0)
        lifted = (seen.is_lifted[places] & others).sum(axis=1)
        p_values = special.bdtrc(lifted - 1, count, seen.usual)
        p_values[~is_span | (2 * lifted <= count)] = 1.0
        likely = np.flatnonzero(p_values * len(spans) < self._chance)
        if likely.size:
            shared = self._shared(seen, spans[likely], points[likely])
            p_values = np.maximum(p_values[likely], shared)
            best = int(p_values.argmin())
            if p_values[best] * len(spans) < self._chance:
                return np.asarray(spans[likely[best]])
        return outstanding[:0]

    def _shared(
        self, seen: _Cells, spans: NDArray[np.int64], points: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """How probable it is that items of honest reports share so large a lift: float64, (flats,).

        Some points are on the hyperplanes of all items of a flat of d generators, of K points about
        K / q^d. Of n reports these have n / q^d, and n f P / q^(d - 1) more if devices of a share f
        hold items of the flat. The number is nearly Poisson.

        Args:
            spans: int64, (flats, generators).
            points: int64, (flats, points): of each flat.
        """
        z = np.where(points < self._size, seen.z[np.minimum(points, self._size - 1)], np.nan)
        others = np.where((points[..., None] == spans[:, None]).any(axis=-1), np.nan, z)
        lift = np.nanmedian(others, axis=1)
        held = np.where(z - lift[:, None] > _HELD_Z, z - lift[:, None], 0.0)
        shares = np.minimum(np.nansum(held, axis=1) * seen.share, 1.0)
        d, support = self._generators, self._oracle.support
        own = self._oracle.inside / SCALE * shares * self._q ** (1.0 - d)
        mean = seen.reports * (self._q ** float(-d) + own)
        lifting = lift * seen.share * seen.reports * (support.p - support.q)
        least = np.maximum(mean + lifting - _CHOSEN_Z * np.sqrt(mean), 1e-9)
        return np.asarray(special.gammainc(least, mean))

    def _wider(
        self, seen: _Cells, spanning: NDArray[np.int64], further: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """With a further item, if the flat that they span is lifted, too; else none."""
        if not further.size:
            return further
        coefficients = self._random.integers(0, self._q, (spanning.size + 1, _SAMPLED))
        coefficients[-1] = 1  # outside of the flat so far
        spans = np.column_stack([np.tile(spanning, (further.size, 1)), further])
        points, _ = self._points(spans, coefficients)
        others = (points < self._size) & (points != further[:, None])
        lifted = (seen.is_lifted[np.where(others, points, 0)] & others).sum(axis=1)
        best = int((lifted / np.maximum(others.sum(axis=1), 1)).argmax())
        count = int(others[best].sum())
        chance = special.bdtrc(lifted[best] - 1, count, seen.usual) * further.size
        if 2 * lifted[best] > count and chance < self._chance:
            return np.asarray(spans[best])
        return further[:0]

    def _items(self, spanning: NDArray[np.int64]) -> NDArray[np.int64]:
        """All items of a flat."""
        points, _ = self._points(spanning[None], self._coefficients(spanning.size))
        return np.unique(points[points < self._size])

    def _coefficients(self, generators: int) -> NDArray[np.int64]:
        """Those of all points of a flat: int64, (generators, points)."""
        points = (self._q**generators - 1) // (self._q - 1)
        return point_coordinates(np.arange(points), self._q, generators)

    def _points(
        self, spans: NDArray[np.int64], coefficients: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Sums of multiples of items.

        Args:
            spans: int64, (flats, generators).
            coefficients: int64, (generators, points).

        Returns:
            The numbers of the points: int64, (flats, points). Whether none of the sums is 0, so
            that the items span a flat of so many dimensions: bool, (flats,).
        """
        vectors = point_coordinates(spans.ravel(), self._q, self._t).reshape(self._t, *spans.shape)
        sums = [own @ coefficients % self._q for own in vectors]
        is_span = np.any(sums, axis=0).all(axis=1)
        return point_numbers(sums, self._q), is_span
