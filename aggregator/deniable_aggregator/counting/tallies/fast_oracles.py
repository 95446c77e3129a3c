"""Oracles whose supports are counted for all items at once: OLH, Hadamard, projective geometry."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np
from scipy import fft

from deniable_aggregator.counting.kernels import bit_sums, singer_cycle, walsh_hadamard
from deniable_aggregator.counting.statistics.checks import SliceChecks, evenness_check, sum_check
from deniable_aggregator.counting.statistics.influence import influence
from deniable_aggregator.counting.statistics.shares import CountedSums, ItemShares
from deniable_aggregator.counting.tallies.base import tallies
from deniable_aggregator.counting.tallies.diagnostics import SEED_BINS, SeedHistogram
from deniable_aggregator.counting.tallies.oracle import IndexTally, SupportTally
from deniable_shared import hashing
from deniable_shared.errors import WireError
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import (
    HadamardResponse,
    ProjectiveGeometryResponse,
    RecursiveHadamardResponse,
)
from deniable_shared.mechanisms.oracles.olh import SEED_BYTES, OptimizedLocalHashing, item_word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


_BLOCK_CELLS = 1 << 15
"""Reports times items that are hashed together; their words stay in the second-level cache."""

_BITS_BYTES = 1 << 24
"""How many bytes of support bits are gathered before they are added up."""

_SHIFT = np.uint64(33)
_UPPER = np.uint64(32)
_GAMMA = np.uint64(hashing.GOLDEN_GAMMA)
_MIX_1 = np.uint64(hashing.MIX_1)
_MIX_2 = np.uint64(hashing.MIX_2)


@tallies(OptimizedLocalHashing)
class LocalHashingTally(SupportTally[OptimizedLocalHashing]):
    """Which items of the domain a report supports; the reports themselves are not kept."""

    def __init__(self, oracle: OptimizedLocalHashing) -> None:
        super().__init__(oracle)
        words = np.array([item_word(item) for item in range(oracle.size)], np.uint64)
        self._words = _fold(words)
        # Bucket y holds the hashes from edges[y] on, in the upper 32 bits of the word.
        edges = [-(-(y << 32) // oracle.buckets) for y in range(oracle.buckets + 1)]
        self._edges = np.array(edges, np.uint64)

    def check(self, reports: NDArray[np.void]) -> None:
        """Every bucket exists. Any seed is possible."""
        highest = int(self._parse(reports)[1].max())
        if highest >= self.oracle.buckets:
            raise WireError(f"must have a bucket below {self.oracle.buckets}, got {highest}")

    def count(
        self, groups: NDArray[np.uint16], reports: NDArray[np.void], size: int
    ) -> NDArray[np.int64]:
        """Compares every report with every item, and adds up by group."""
        width = (self.oracle.size + 7) // 8
        step = max(1, _BITS_BYTES // width)
        counts = np.zeros((size, self.cells), np.int64)
        for start in range(0, reports.size, step):
            chunk = slice(start, start + step)
            bits = self._support_bits(*self._parse(reports[chunk]))
            packed = bits.view(f"V{width}").ravel()
            counts += bit_sums(groups[chunk], packed, size)[:, : self.cells]
        return counts

    @cached_property
    def diagnostics(self) -> SeedHistogram:
        """How seeds are spread."""
        return SeedHistogram()

    def checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],
        has_diagnostics: NDArray[np.bool_],
    ) -> Iterator[SliceChecks]:
        """Items are as frequent as noise allows and add up, and seeds are even."""
        yield from super().checks(counts, diagnostics, has_diagnostics)
        yield sum_check(self.supporting(counts), self.reports(counts), self.oracle.support)
        ranges = f"the {SEED_BINS} ranges of seeds"
        yield evenness_check("seeds", diagnostics, ranges).only_where(has_diagnostics)

    def _parse(self, reports: NDArray[np.void]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Seeds and buckets of reports."""
        width = self.oracle.report_bytes - SEED_BYTES
        form = np.dtype([("seed", ">u4"), ("bucket", f">u{width}")])
        parsed = np.ascontiguousarray(reports).view(form)
        return parsed["seed"].astype(np.uint64), parsed["bucket"].astype(np.int64)

    def _support_bits(self, seeds: NDArray[np.uint64], buckets: NDArray[np.int64]) -> NDArray[Any]:
        """Which items each report supports, as packed bits: uint8, (reports, bytes).

        This is `hashing.bucket` with three savings. The first xor and shift commute with the xor of
        word and key, so they are done once per item and once per report. The last one does not
        touch the upper 32 bits, which alone decide. And that those lie in the reported bucket is
        one subtraction and one comparison.
        """
        keys = _fold(_mix((seeds + np.uint64(1)) * _GAMMA))[:, None]
        low = (self._edges[buckets] << _UPPER)[:, None]
        # The last bucket ends at 2^64: the width is taken before the shift.
        width = ((self._edges[buckets + 1] - self._edges[buckets]) << _UPPER)[:, None]
        step = max(1, _BLOCK_CELLS // self.oracle.size)
        state = np.empty((step, self.oracle.size), np.uint64)
        shifted, supported = np.empty_like(state), np.empty(state.shape, np.bool_)
        bits = np.empty((seeds.size, (self.oracle.size + 7) // 8), np.uint8)
        for start in range(0, seeds.size, step):
            rows = slice(start, min(start + step, seeds.size))
            count = rows.stop - start
            words, moved, supports = state[:count], shifted[:count], supported[:count]
            np.bitwise_xor(self._words, keys[rows], out=words)
            words *= _MIX_1
            np.right_shift(words, _SHIFT, out=moved)
            words ^= moved
            words *= _MIX_2
            words -= low[rows]
            np.less(words, width[rows], out=supports)
            bits[rows] = np.packbits(supports, axis=1)
        return bits


def _fold(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The first step of the finalisation; it commutes with xor."""
    return words ^ (words >> _SHIFT)


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`hashing.mix` for arrays."""
    return _fold(_fold(_fold(words) * _MIX_1) * _MIX_2)


def _transform(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positive minus negative signs, agreed with each column.

    Args:
        counts: int64, (..., order - 1, 2): reports by row, the first left out, and sign.

    Returns:
        int64, (..., order).
    """
    *groups, rows, _ = counts.shape
    signed = np.zeros((*groups, rows + 1), np.int64)
    np.subtract(counts[..., 0], counts[..., 1], out=signed[..., 1:])
    return walsh_hadamard(signed)


class RowsTally(IndexTally):
    """One counter per row of a Hadamard matrix and symbol."""

    def checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],
        has_diagnostics: NDArray[np.bool_],
    ) -> Iterator[SliceChecks]:
        """Rows are drawn equally often."""
        yield from super().checks(counts, diagnostics, has_diagnostics)
        rows = cast("HadamardResponse | RecursiveHadamardResponse", self.oracle).order - 1
        if rows > 1:
            by_row = counts.reshape(len(counts), rows, -1).sum(axis=2)
            yield evenness_check("groups", by_row, f"the {rows} rows of the matrix")


@tallies(HadamardResponse)
class HadamardTally(RowsTally):
    """One counter per row and sign of the one-bit Hadamard response."""

    def support_range(self, chosen: NDArray[np.int64]) -> tuple[int, int]:
        """By the transform of the set: how many of its items have the sign of each row."""
        present = np.zeros(cast("HadamardResponse", self.oracle).order, np.int64)
        present[chosen] = 1
        most = int(np.abs(walsh_hadamard(present)[1:]).max())
        return (chosen.size - most) // 2, (chosen.size + most) // 2

    def supporting(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The reports whose sign is the item's, by one transform of each group."""
        order = cast("HadamardResponse", self.oracle).order
        agreed = _transform(counts.reshape(-1, order - 1, 2))[:, : self.oracle.size]
        return (self.reports(counts)[:, None] + agreed) >> 1


@tallies(RecursiveHadamardResponse)
class RecursiveHadamardTally(RowsTally):
    """One counter per row, block and sign of the recursive Hadamard response."""

    def supporting(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The reports that name the item's block and have its sign."""
        return self._supporting(counts)[0]

    def shares(self, counts: NDArray[np.int64]) -> ItemShares:
        """The unbiased estimates; their variance depends on how common each item's block is."""
        oracle = cast("RecursiveHadamardResponse", self.oracle)
        reports = int(self.reports(counts)[0])
        supporting = [column[0] for column in self._supporting(counts)]
        agreeing, naming = (column / reports for column in supporting)
        p, q, order = oracle.own / SCALE, oracle.other / SCALE, oracle.order
        share, block_share = _shares(oracle, agreeing, naming)
        clipped = np.clip(share, 0.0, 1.0)
        # A report that names the block has the item's sign or not.
        low, high = ((end - 2 * q) / (order * (p - q)) for end in (2 - order, order))
        weights = np.array([order, 2 - order]) / (order * (p - q))
        return CountedSums(
            share,
            oracle.variance_within(clipped, np.maximum(block_share, clipped), reports),
            oracle.variance_within(0.0, block_share, reports),
            influence=np.asarray(influence(share, low, high, reports=reports)),
            counts=np.stack([supporting[0], supporting[1] - supporting[0]], axis=1),
            trials=np.full((share.size, 2), reports),
            weights=np.broadcast_to(weights, (share.size, 2)),
            rarest=q,
            exclusive=True,
        )

    def shares_by_group(
        self, counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same estimates for each group."""
        oracle = cast("RecursiveHadamardResponse", self.oracle)
        reports = self.reports(counts)[:, None]
        least, supporting = np.maximum(reports, 1), self._supporting(counts)
        share, block_share = _shares(oracle, *(column / least for column in supporting))
        clipped = np.clip(share, 0.0, 1.0)
        noise = oracle.variance_within(clipped, np.maximum(block_share, clipped), least)  # type: ignore[arg-type]
        return share, np.where(reports > 0, noise, np.inf)

    def _supporting(self, counts: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Reports of the item's block with its sign, and with any: int64, (groups, size) each."""
        oracle = cast("RecursiveHadamardResponse", self.oracle)
        blocks = counts.reshape(-1, oracle.order - 1, oracle.blocks, 2).swapaxes(1, 2)
        naming = blocks.sum(axis=(2, 3))[:, :, None]
        agreeing = (naming + _transform(blocks)) >> 1
        # Items are dealt to the blocks in turn, so a column of all blocks is a run of items.
        by_item = agreeing.swapaxes(1, 2).reshape(naming.shape[0], -1)[:, : oracle.size]
        return by_item, np.tile(naming[:, :, 0], oracle.order)[:, : oracle.size]


def _shares(
    oracle: RecursiveHadamardResponse, agreeing: NDArray[np.float64], naming: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The shares of items, and of all items of each one's block.

    Args:
        oracle: the mechanism.
        agreeing: float64: which part of the reports name an item's block and have its sign.
        naming: float64: which part name its block.
    """
    p, q, order = oracle.own / SCALE, oracle.other / SCALE, oracle.order
    share = (2 * (order - 1) * agreeing - (order - 2) * naming - 2 * q) / (order * (p - q))
    return share, np.clip((naming - 2 * q) / (p - q), 0.0, 1.0)


_CHUNK_CELLS: Final = 1 << 17
"""So many counts are transformed at once: what comes of them stays in the processor's cache."""

_PART_BITS: Final = 24
"""Counts up to this many bits are transformed at once: in float64 the sums of the largest space
then come out within a few hundredths of the integers that they are (tested)."""

_EXACT_BITS: Final = 32
"""Reports that are transformed as one have at most so many bits together, which is less than the
counts that `_PART_BITS` allows add up to."""

_FEW_SUPPORTED: Final = 4
"""Where reports support together fewer items than one for so many counts, they are added one by
one."""

_MOST_LISTED_ITEMS: Final = 1 << 20
"""In larger spaces it is not listed which items each point supports."""

_REMEMBERED_SPACES: Final = 8

_MAX_SUPPORTED_POINTS: Final = 65_536
"""In larger spaces it is not worked out how many of some items each point supports."""


class _Space(NamedTuple):
    """A space along its cycle.

    Attributes:
        numbers: int32, (points,): the number of each point along the cycle.
        places: int32, (size,): the place of each item.
        length: of the transform.
        spectrum: complex128, (length // 2 + 1,): the transform of the set Z, continued to twice
            its length so that a correlation padded with zeros is the cyclic one.
    """

    numbers: NDArray[np.int32]
    places: NDArray[np.int32]
    length: int
    spectrum: NDArray[np.complex128]


@tallies(ProjectiveGeometryResponse)
class ProjectiveGeometryResponseTally(IndexTally):
    """One counter per point; an item's support is the sum over its hyperplane."""

    def supporting(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sums over the items' hyperplanes, exact.

        No sum of a group exceeds its reports, so several groups with few reports are transformed as
        one: the sums of each have bits of their own.
        """
        mechanism = cast("ProjectiveGeometryResponse", self.oracle)
        space = _space(mechanism.q, mechanism.t, mechanism.size)
        shape = len(counts), mechanism.size
        if mechanism.outcomes * mechanism.hyperplane <= _MOST_LISTED_ITEMS:
            places = np.flatnonzero(counts != 0)
            if places.size * mechanism.hyperplane * _FEW_SUPPORTED <= shape[0] * shape[1]:
                items = _items_by_point(mechanism.q, mechanism.t, mechanism.size)
                return _add_points(counts, places, items, mechanism.size)
        sums = np.empty(shape, np.int64)
        bits = max(int(counts.sum(axis=1).max(initial=0)).bit_length(), 1)
        together = _EXACT_BITS // bits if int(counts.min(initial=0)) >= 0 else 1
        rows = max(1, _CHUNK_CELLS // self.cells) * max(together, 1)
        for start in range(0, len(counts), rows):
            chunk = slice(start, start + rows)
            if together > 1:
                _add_together(counts[chunk], sums[chunk], space, together, bits)
            else:
                sums[chunk] = _sums(counts[chunk][:, space.numbers], space)
        return sums

    def supporting_few(
        self, groups: NDArray[np.int64], outcomes: NDArray[np.int64], size: int
    ) -> NDArray[Any] | None:
        """1 for each report and each item on its hyperplane."""
        mechanism = cast("ProjectiveGeometryResponse", self.oracle)
        supported = outcomes.size * mechanism.hyperplane
        if (
            mechanism.outcomes * mechanism.hyperplane > _MOST_LISTED_ITEMS
            or supported * _FEW_SUPPORTED > size * mechanism.size
        ):
            return None
        items = _items_by_point(mechanism.q, mechanism.t, mechanism.size)
        # Behind the items, what is a point and no item.
        width = mechanism.size + (mechanism.size < mechanism.outcomes)
        most = int(np.bincount(groups).max(initial=0))
        found = np.zeros((size, width), np.min_scalar_type(most))
        places = items[outcomes] + (groups * width)[:, None]
        np.add.at(found.reshape(-1), places.ravel(), found.dtype.type(1))
        return np.ascontiguousarray(found[:, : mechanism.size])

    def support_range(self, chosen: NDArray[np.int64]) -> tuple[int, int]:
        """The fewest and the most of them on one hyperplane."""
        supported = self._support_per_point(chosen)
        if supported is None:
            return super().support_range(chosen)
        return int(supported.min()), int(supported.max())

    def sum_variance(
        self, counts: NDArray[np.int64], chosen: NDArray[np.int64], share: float
    ) -> float | None:
        """The sample variance of how many of the items each report supports.

        Items are points, and sets of neighbours have many on a line: their variance was up to 2.7
        times that of a random set. But the tally says how many of the chosen items every single
        report supports. The sample variance of that number estimates the variance about the
        population without bias; about these devices it is less by f (1 - f) / n, since a device
        that holds one of the items supports p - q of them more.
        """
        supported = self._support_per_point(chosen)
        if supported is None:
            return None
        reports, numbers = int(counts.sum()), supported.astype(np.float64)
        deviation = numbers - counts @ numbers / reports
        sample = float(counts @ deviation**2) / max(reports - 1, 1)
        support = self.oracle.support
        return max(sample / (support.p - support.q) ** 2 - share * (1 - share), 0.0) / reports

    def _support_per_point(self, chosen: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """How many of some items a report of each point supports: int64, (points,).

        None if the space is too large.
        """
        if self.oracle.outcomes > _MAX_SUPPORTED_POINTS:
            return None
        # A point is on the hyperplane of another if and only if that is on its own.
        oracle = cast("ProjectiveGeometryResponse", self.oracle)
        everything = type(self)(replace(oracle, size=oracle.outcomes))
        present = np.zeros((1, self.oracle.outcomes), np.int64)
        present[0, chosen] = 1
        return np.asarray(everything.supporting(present)[0])


def _add_points(
    counts: NDArray[np.int64], places: NDArray[np.int64], items: NDArray[np.int32], size: int
) -> NDArray[np.int64]:
    """The sums of groups with few reports: each point is added to the items on its hyperplane.

    Args:
        counts: int64, (groups, points).
        places: int64, (points,): where they are not 0, of all groups one after the other.
        items: int32, (points, hyperplane): those on the hyperplane of each point.
        size: of items.
    """
    times = counts.ravel()[places]
    alike = int(times.min(initial=1)) > 0 and int(times.sum()) <= 2 * times.size
    if alike:  # nearly all are 1
        places = np.repeat(places, times)
    group, point = np.divmod(places, counts.shape[1])
    width = size + 1  # behind the items, what is a point and no item
    supported = (items[point] + (group * width)[:, None]).ravel()
    weights = None if alike else np.repeat(times, items.shape[1])
    added = np.bincount(supported, weights, len(counts) * width)  # exact below 2^53
    return np.asarray(added.reshape(len(counts), width)[:, :-1], np.int64)


def _add_together(
    counts: NDArray[np.int64],
    sums: NDArray[np.int64],
    space: _Space,
    together: int,
    bits: int,
) -> None:
    """The sums of groups whose reports have so many bits, as many groups at once as are named.

    Args:
        counts: int64, (groups, points).
        sums: int64, (groups, size): where the sums are put.
    """
    size = -(-len(counts) // together)
    parts = [slice(first, first + size) for first in range(0, len(counts), size)]
    packed = counts[parts[0]].copy()
    for place, part in enumerate(parts[1:], 1):
        above = counts[part]
        packed[: len(above)] += above << place * bits
    added = _rounded_sums(packed.take(space.numbers, axis=1), space)
    for place, part in enumerate(parts):
        own = sums[part]
        np.bitwise_and(added[: len(own)] >> place * bits, (1 << bits) - 1, out=own)


def _sums(counts: NDArray[np.int64], space: _Space) -> NDArray[np.int64]:
    """The same for counts along the cycle, split where they are too large for float64."""
    if int(counts.max()) >> _PART_BITS:
        low = counts & (1 << _PART_BITS) - 1
        return (_sums(counts >> _PART_BITS, space) << _PART_BITS) + _sums(low, space)
    return _rounded_sums(counts, space)


def _rounded_sums(counts: NDArray[np.int64], space: _Space) -> NDArray[np.int64]:
    transformed = fft.rfft(counts.astype(np.float64), space.length)
    np.conjugate(transformed, out=transformed)
    transformed *= space.spectrum
    sums = fft.irfft(transformed, space.length, overwrite_x=True).take(space.places, axis=1)
    return np.asarray(np.rint(sums, out=sums), np.int64)


@lru_cache(_REMEMBERED_SPACES)
def _items_by_point(q: int, t: int, size: int) -> NDArray[np.int32]:
    """The items on the hyperplane of each point: int32, (points, hyperplane); `size` for none."""
    numbers, places, zeros = singer_cycle(q, t, size)
    cycle = np.flatnonzero(zeros)
    item = np.full(zeros.size, size, np.int32)
    item[places] = np.arange(size, dtype=np.int32)
    along = item[(cycle - np.arange(zeros.size)[:, None]) % zeros.size]
    found: NDArray[np.int32] = np.empty_like(along)
    found[numbers] = along
    return found


@lru_cache(_REMEMBERED_SPACES)
def _space(q: int, t: int, size: int) -> _Space:
    numbers, places, zeros = singer_cycle(q, t, size)
    length = int(fft.next_fast_len(2 * zeros.size - 1, real=True))
    continued: NDArray[Any] = np.concatenate([zeros, zeros[:-1]]).astype(np.float64)
    return _Space(numbers, places, length, np.asarray(fft.rfft(continued, length)))
