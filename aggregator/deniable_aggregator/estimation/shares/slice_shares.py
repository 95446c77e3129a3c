"""Estimates of the items of an answer from each of many slices of one of its versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable_aggregator.estimation.shares.domains import (
    FLAG,
    default_items,
    views_of,
)
from deniable_aggregator.estimation.shares.items import combine_specs
from deniable_aggregator.tallies import share_tally_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_shared.spec import Spec


class SliceEstimates(NamedTuple):
    """Estimates of items from each slice; NaN where its reports say nothing of an item.

    Attributes:
        share: float64, (slices, items).
        standard_error: float64, (slices, items).
    """

    share: NDArray[np.float64]
    standard_error: NDArray[np.float64]


class SliceEstimator:
    """Estimates the items of an answer from slices of one version.

    Args:
        versions: all versions that the answer is about; they decide what a value means.

    Attributes:
        one_by_one: whether every slice takes a while, and not only all of them together.
    """

    def __init__(self, spec: Spec, items: Sequence[str], versions: Sequence[Spec]) -> None:
        self._spec, self.items, self.versions = spec, list(items), tuple(versions)
        self._tally = share_tally_for(spec)
        self._own: list[str] = self.items
        self._merged = False
        if spec.type == "string" or (len(versions) == 1 and set(items) <= set(spec.items)):
            self._places = np.arange(len(items))
            self._impossible = np.zeros(0, np.int64)
        elif any(version.segments is not None for version in versions):
            self._merged = True
        else:
            self._see()
        self.one_by_one = self._merged or self._tally.shares_each_slice

    def _see(self) -> None:
        """Where the items of the answer stand among those of the version."""
        domain = FLAG if self._spec.value_type == "boolean" else default_items(self.versions)
        view = views_of(self.versions, domain or ())[0][self._spec]
        position = {item: place for place, item in enumerate(domain or ())}
        requested = np.array([position.get(item, -1) for item in self.items], np.int64)
        own = {place: number for number, place in enumerate(view.known.tolist())}
        places = np.array([own.get(place, -1) for place in requested.tolist()], np.int64)
        self._places = np.flatnonzero(places >= 0)
        self._own = [view.items[number] for number in places[self._places].tolist()]
        self._impossible = np.flatnonzero(np.isin(requested, view.impossible))

    def estimate(self, counts: NDArray[np.int64]) -> SliceEstimates:
        """The estimates.

        Args:
            counts: int64, (slices, cells), of at least one report each.
        """
        shape = len(counts), len(self.items)
        if self._merged:
            share, error = np.full((2, *shape), np.nan)
            for row, of_slice in enumerate(counts):
                share[row], error[row] = self._estimate_merged(of_slice)
            return SliceEstimates(share, error)
        estimates = self._tally.shares_of_slices(counts, self._own)
        share, error = estimates.share, np.sqrt(estimates.variance)
        unknown = np.isinf(error)
        if unknown.any():
            share, error = (np.where(unknown, np.nan, column) for column in (share, error))
        if self._own == self.items:
            return SliceEstimates(share, error)
        placed = SliceEstimates(*np.full((2, *shape), np.nan))
        # What no report of the version can be about, none is about: without an error.
        for column, own in zip(placed, (share, error), strict=True):
            column[:, self._places] = own
            column[:, self._impossible] = 0.0
        return placed

    def in_answer_order(
        self, own: NDArray[np.float64], items: Sequence[str], impossible: float
    ) -> NDArray[np.float64]:
        """Numbers of the items of the answer, from those of the version's own items.

        Args:
            own: float64, (own items,).
            impossible: the number of an item that no report of the version can be about.

        Returns:
            float64, (items,); NaN where the version says nothing.
        """
        column = np.full(len(self.items), np.nan)
        if not self._merged:
            column[self._impossible] = impossible
            number = {item: place for place, item in enumerate(items)}
            is_known = [item in number for item in self._own]
            column[self._places[is_known]] = own[[number[i] for i in self._own if i in number]]
        return column

    def _estimate_merged(
        self, counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The estimates of one slice whose items are merged from others: the values of segments."""
        share, error = np.full((2, len(self.items)), np.nan)
        position = {item: place for place, item in enumerate(self.items)}
        estimates = combine_specs([(self._spec, counts)], None, "noise", versions=self.versions)
        for place in estimates.wanted.tolist():
            at = position.get(estimates.domain[place])
            if at is not None:
                share[at] = estimates.combined.share[place]
                error[at] = np.sqrt(estimates.combined.variance[place])
        return share, error
