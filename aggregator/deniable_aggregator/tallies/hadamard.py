"""Hadamard responses: an exact integer transform tells how many reports support each item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deniable_aggregator.kernels.walsh_hadamard import walsh_hadamard
from deniable_aggregator.statistics.checks import evenness_check
from deniable_aggregator.statistics.counted_sums import CountedSums
from deniable_aggregator.statistics.influence import influence
from deniable_aggregator.tallies.base import tallies
from deniable_aggregator.tallies.oracle import IndexTally
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import HadamardResponse, RecursiveHadamardResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deniable_aggregator.statistics.checks import SliceChecks
    from deniable_aggregator.statistics.item_shares import ItemShares


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
