"""The numbers of an answer as they were computed, to the last digit: from its CSV."""

from __future__ import annotations

import csv
import io
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.surfaces.ranges import HUNDRED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.surfaces.ranges import Range
    from tests.surfaces.rows import PrintedRow

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_PARTS: Final = ("version ", "key ", "channel=")
"""How the names of parts of the reports begin."""

SHARES: Final = ("share", "combined", "rest", "segment size", "set size", "bin")
POINTS: Final = ("difference in share", "difference in combined")
LIMITS: Final = {
    "battery": (Decimal(0), HUNDRED),
    "startup_seconds": (Decimal(0), Decimal(10)),
    "plugins": (Decimal("-Infinity"), Decimal("Infinity")),
}
"""What the numbers of a metric can be."""


class Computed(NamedTuple):
    """A number, and what it is about.

    Attributes:
        row: all that the long table says of it.
        subject: what it is about, as tables name it.
        days: the first and the last day.
        low: the lower end of its interval, in percent or points if it is of shares.
        high: the upper end.
        unit: "%", "points", "times" or nothing.
    """

    row: Mapping[str, str]
    subject: str
    days: tuple[str, str]
    low: Decimal
    high: Decimal
    unit: str

    @property
    def measure(self) -> str:
        """What it is."""
        return self.row["measure"]

    @property
    def estimate(self) -> Decimal | None:
        """The number; None where the reports cannot place it."""
        text = self.row["estimate"]
        return self._scaled(text) if text else None

    def decimal(self, column: str) -> Decimal | None:
        """Another column, such as ``possible_low``; None where it is empty."""
        return self._scaled(self.row[column]) if self.row[column] else None

    def _scaled(self, text: str) -> Decimal:
        return Decimal(text) * (HUNDRED if self.unit in ("%", "points") else 1)

    @property
    def possible(self) -> tuple[Decimal, Decimal]:
        """Between which numbers it lies for certain."""
        if self.unit == "%":
            return Decimal(0), HUNDRED
        if self.unit or self.measure.startswith(("difference", "effect")):
            return Decimal("-Infinity"), Decimal("Infinity")
        return LIMITS[self.row["metric"]]

    @property
    def within(self) -> tuple[Decimal, Decimal]:
        """The ends, as far as the number can be there."""
        least, most = self.possible
        return min(max(self.low, least), most), max(min(self.high, most), least)

    def is_about(self, printed: PrintedRow, *, by_period: bool) -> bool:
        """Whether a printed row is about it.

        Args:
            printed: the row.
            by_period: whether there are rows of several periods.
        """
        cells = (*printed.names, *printed.cells)
        if by_period and not any(day in cell for cell in cells for day in self.days):
            return False
        if not by_period and any(_DATE.search(cell) for cell in cells):
            return False  # a page also has what was so in each week
        if self.row.get("within"):
            named = self.measure.startswith("effect") or not printed.cells[0]
            about_it = named or self.subject in printed.names
            return about_it and self.row["within"] in printed.names
        if self.measure != "segment size" and any(
            name.startswith(_PARTS) for name in printed.names[1:]
        ):
            return False
        if self.measure == "bin" and printed.names[:2] == tuple(self.subject.split(" to ")):
            return True
        return any(
            name == self.subject
            or name.startswith((f"{self.subject} (", f"{self.subject} of values, those"))
            for name in printed.names
        )

    def is_in(self, found: Range) -> bool:
        """Whether a printed range is its interval, rounded outward."""
        if found.unit not in (self.unit, ""):
            return False
        if not found.covers(*self.within):
            return False
        beyond = self.low, self.high
        return found.is_close_to(*self.within) or found.is_close_to(*beyond)


def computed_in(text: str) -> Iterator[Computed]:
    """The numbers with intervals of an answer.

    Args:
        text: the answer as CSV.
    """
    for row in csv.DictReader(io.StringIO(text)):
        measure = row["measure"]
        nothing = row["low"] == row["high"] == "0.0" and measure.startswith("effect")
        if row["low"] and row["high"] and measure != "distance" and not nothing:
            share, points = measure in SHARES, measure in POINTS
            points = points or (measure.startswith("effect") and bool(row["value"]))
            scale = HUNDRED if share or points else 1
            unit = "%" if share else "points" if points else "times" * (measure == "lift")
            yield Computed(
                row, _subject(row), (row["since"], row["until"]),
                Decimal(row["low"]) * scale, Decimal(row["high"]) * scale, unit,
            )  # fmt: skip


def _subject(row: Mapping[str, str]) -> str:
    measure = row["measure"].removeprefix("difference in ")
    if measure == "segment size":
        return row["segment"]
    if measure in ("mean", "items per device"):
        return measure
    if measure == "quantile":
        return _percentile(Decimal(row["quantile"]) * HUNDRED)
    if measure == "bin":
        return f"{float(row['bin_from']):g} to {float(row['bin_to']):g}"
    return row["value"]


def _percentile(percent: Decimal) -> str:
    if percent == 50:
        return "median"
    number = f"{percent.normalize():f}"
    ending = {"1": "st", "2": "nd", "3": "rd"}.get(number[-1], "th")
    return f"{number}{ending} percentile"
