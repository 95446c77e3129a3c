"""What devices truly held: every recorded value, with its day, key and version.

This is the truth that answers are compared with. Nothing here knows how anything is estimated.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

Record = tuple[tuple[str, bool | str], ...]
"""A value of attributes, as pairs of name and value."""

Value = bool | str | Record | tuple[str, str | None]
"""A recorded value that is no number; with segments a value and its segment."""


@dataclass(frozen=True)
class Batch:
    """What some devices with the same build recorded of one metric on one day.

    Attributes:
        metric: its name.
        day: from 0.
        key: the name of the write key.
        version: of the application.
        values: different values; empty for numbers.
        counts: how many devices recorded each.
        numbers: float64, what each device recorded.
        secrets: of a memoised metric, each device's secret, value by value.
    """

    metric: str
    day: int
    key: str
    version: int
    values: Sequence[Value] = ()
    counts: Sequence[int] = ()
    numbers: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    secrets: Sequence[bytes] = ()

    @property
    def reports(self) -> int:
        """How many reports it makes."""
        return sum(self.counts) + len(self.numbers)


class Selection(NamedTuple):
    """Which of a metric's recorded values are meant.

    Attributes:
        days: the first and the last day, or None for all.
        without: keys to leave out.
        versions: of the application, or None for all.
    """

    days: tuple[int, int] | None = None
    without: tuple[str, ...] = ()
    versions: tuple[int, ...] | None = None

    def includes(self, batch: Batch) -> bool:
        """Whether the values of a batch are meant."""
        return (
            (self.days is None or self.days[0] <= batch.day <= self.days[1])
            and batch.key not in self.without
            and (self.versions is None or batch.version in self.versions)
        )


ALL: Final = Selection()


class Recorded:
    """All recorded values, and how many reports were forged beside them."""

    def __init__(self) -> None:
        self._batches: dict[str, list[Batch]] = {}
        self._forged: list[Batch] = []

    def add(self, batches: Iterable[Batch]) -> None:
        """Adds what was recorded, once its reports have been accepted."""
        for batch in batches:
            self._batches.setdefault(batch.metric, []).append(batch)

    def add_forged(self, batch: Batch) -> None:
        """Adds forged reports: they count as reports, and have no true value."""
        self._forged.append(batch)

    def values(self, metric: str, selection: Selection = ALL) -> Counter[Value]:
        """How many devices recorded each value."""
        found: Counter[Value] = Counter()
        for batch in self._selected(metric, selection):
            for value, count in zip(batch.values, batch.counts, strict=True):
                found[value] += count
        return found

    def numbers(self, metric: str, selection: Selection = ALL) -> NDArray[np.float64]:
        """All recorded numbers, float64."""
        found = [batch.numbers for batch in self._selected(metric, selection)]
        return np.concatenate(found) if found else np.empty(0)

    def reports(self, metric: str, selection: Selection = ALL) -> int:
        """How many reports there are, forged ones too."""
        return sum(batch.reports for batch in self._selected(metric, selection)) + sum(
            batch.reports
            for batch in self._forged
            if batch.metric == metric and selection.includes(batch)
        )

    def days(self, metric: str, selection: Selection = ALL) -> list[int]:
        """The days with reports, in order."""
        return sorted({b.day for b in self._selected(metric, selection) if b.reports})

    def versions(self, metric: str, selection: Selection = ALL) -> list[int]:
        """The versions of the application that reported, in order."""
        return sorted({b.version for b in self._selected(metric, selection) if b.reports})

    def _selected(self, metric: str, selection: Selection) -> list[Batch]:
        return [each for each in self._batches.get(metric, ()) if selection.includes(each)]
