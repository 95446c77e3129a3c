"""What a surface prints of a number of an answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.surfaces.asking import shown_as
from tests.surfaces.ranges import ranges_in

if TYPE_CHECKING:
    from tests.surfaces.computed import Computed
    from tests.surfaces.ranges import Range
    from tests.surfaces.rows import Document, PrintedRow


def rows_about(
    document: Document, surface: str, number: Computed, *, by_period: bool = False
) -> list[PrintedRow]:
    """The rows that are about a number.

    Args:
        document: what the surface says.
        surface: its name.
        number: as it was computed.
        by_period: whether there are rows of several periods.
    """
    number = number._replace(subject=shown_as(surface, number.subject))
    return [row for row in document.rows if number.is_about(row, by_period=by_period)]


def ranges_of(rows: list[PrintedRow], number: Computed) -> list[Range]:
    """The ranges in some rows that can be those of a number, by their unit."""
    return [each for row in rows for each in row.ranges() if each.unit in (number.unit, "")]


def ranges_said(document: Document, surface: str, number: Computed) -> list[Range]:
    """The ranges that sentences give for a number: "channel=beta (19.5 to 20.8% of all)"."""
    name = re.escape(shown_as(surface, number.subject))
    found = re.findall(rf"{name}(?: is|:)? (\([^)]*\)|[^;.]*(?:\.\d[^;.]*)*)", document.text)
    return [each for said in found for each in ranges_in(said)]
