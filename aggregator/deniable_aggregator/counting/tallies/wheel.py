"""The tally of the wheel: reports by row and bucket, and the shares of any items from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from deniable_aggregator.counting.statistics.set_estimates import SetShares, shares_of_sets
from deniable_aggregator.counting.statistics.sketch_rows import SketchRows
from deniable_aggregator.counting.tallies.base import tallies
from deniable_aggregator.counting.tallies.oracle import ItemTally
from deniable_aggregator.counting.tallies.sets import SetSizes, SetTally
from deniable_aggregator.counting.tallies.string_places import StringPlaces, hashed_strings
from deniable_aggregator.counting.tallies.strings import GroupedTally
from deniable_shared import hashing
from deniable_shared.mechanisms import Wheel
from deniable_shared.mechanisms.sets.wheel import MARKER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.counting.statistics.checks import SliceChecks
    from deniable_shared.mechanisms.oracle import IndexOracle
    from deniable_shared.spec import Spec


@tallies(Wheel)
class WheelTally(GroupedTally, SetTally):
    """One counter for each bucket of each row."""

    def __init__(self, spec: Spec) -> None:
        self._mechanism = cast("Wheel", spec.mechanism)
        # After its row a report is one of so many outcomes, as those of oracles are.
        buckets = ItemTally(cast("IndexOracle", self._mechanism))
        super().__init__(spec, self._mechanism.rows, buckets)

    def _checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],  # noqa: ARG002
        has_diagnostics: NDArray[np.bool_],  # noqa: ARG002
    ) -> Iterator[SliceChecks]:
        """Rows are as common as they are drawn, and in each all counts are within bounds."""
        yield from self._group_checks(counts, "rows of the wheel")

    def outcomes(self, counts: NDArray[np.int64]) -> None:  # noqa: ARG002
        """None: among so many cells no change of an item stands out."""
        return

    def shares(self, counts: NDArray[np.int64], items: Sequence[str]) -> SetShares:
        """The shares of any texts; cost grows linearly with candidates times rows.

        The marker of larger sets is always among them, as many devices may report it.
        """
        return self._shares_beside_marker(counts, items).take(np.arange(len(items)))

    def sizes(self, counts: NDArray[np.int64]) -> SetSizes:
        """The share of sets of more items than a report covers; of others it does not tell."""
        listed = self.spec.items
        shares = self._shares_beside_marker(counts, listed)
        return SetSizes(self._mechanism.most, None, None, shares.take(np.array([len(listed)])))

    def _shares_beside_marker(self, counts: NDArray[np.int64], items: Sequence[str]) -> SetShares:
        """The shares of texts, and last that of sets of more items than a report covers."""
        rows = self._counts_by_group(counts)
        reports = self._oracle.reports(rows)
        filled = np.flatnonzero(reports)
        marks = (hashing.word(MARKER, self.spec.salt),)
        strings = hashed_strings(
            tuple(items), self.spec.salt, self._mechanism.rows, self._mechanism.buckets, marks
        )
        places = StringPlaces(strings, filled)
        sketch = SketchRows(reports[filled], rows[filled], self._mechanism.bucket_support)
        return shares_of_sets(sketch, filled, self._mechanism.support, places)
