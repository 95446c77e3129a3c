"""What is said of an answer, as plain data: every medium draws the same blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deniable_aggregator.answers.measured import Unit
    from deniable_aggregator.telling.figure import Figure
    from deniable_aggregator.telling.interval import Interval

Way = Literal["risen", "fallen", "changed", "unchanged", "untold"]
"""What has become of a number: a clear rise, a clear fall, a clear change that is neither, no clear
change; or that it cannot be told from zero. Media that have signs give each its own."""

WAY_WORDS: Final[Mapping[Way, str]] = {
    "risen": "clear rise",
    "fallen": "clear fall",
    "changed": "clear change",
    "unchanged": "no clear change",
    "untold": "can't tell from zero",
}
"""What has become of a number, in words."""


class Link(str):
    """A text of a cell that leads somewhere, in media that have links.

    Args:
        text: of the cell.
        address: where it leads.
    """

    address: str

    def __new__(cls, text: str, address: str) -> Self:
        """The text with its address."""
        link = super().__new__(cls, text)
        link.address = address
        return link


class Badge(str):
    """A word or two of a cell with a sign, in media that have signs.

    Args:
        text: of the cell.
        kind: which sign.
    """

    kind: str

    def __new__(cls, text: str, kind: str) -> Self:
        """The text with its sign."""
        badge = super().__new__(cls, text)
        badge.kind = kind
        return badge


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    Attributes:
        heading: its name; may be empty.
        key: what it is sorted by where a table can be sorted; empty for nothing.
        words: whether it holds words, which begin at its left; numbers end at its right.
        minor: whether it may be left out where there is no room.
        folds: whether its texts may be broken over several lines.
        once: whether a text that stands in the row above, too, may be left out.
    """

    heading: str
    key: str = ""
    words: bool = False
    minor: bool = False
    folds: bool = False
    once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a table.

    Attributes:
        cells: a text for each column.
        interval: what a bar beside it shows; None for no bar.
        way: what has become of its number; None where that is not asked.
        group_ends: whether rows of another kind follow.
        truth: the true number, where it is known.
    """

    cells: Sequence[str]
    interval: Interval | None = None
    way: Way | None = None
    group_ends: bool = False
    truth: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of texts, with bars where there is room for them.

    Attributes:
        name: of the table within its document: letters and hyphens.
        caption: what it is.
        columns: what its rows hold; the first is of names.
        rows: in their order.
        left_out: what is said of rows that are not in it; empty for nothing.
        unit: of the bars; None if there are none.
        zero: where the bars have a line: what nothing would be; None for nowhere.
        ends: between which numbers the scale of the bars lies at least.
        way: of which column the cells say what has become of the numbers; None if none does.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    left_out: str = ""
    unit: Unit | None = None
    zero: float | None = 0.0
    ends: Sequence[float] = ()
    way: int | None = None


def text_table(
    name: str,
    caption: str,
    columns: Sequence[Column | str],
    rows: Iterable[Sequence[str]],
    left_out: str = "",
) -> Table:
    """A table of texts without bars.

    Args:
        name: of the table within its document.
        caption: what it is.
        columns: as of `Table`, or headings: the first one's column has words, others have numbers.
        rows: as many cells each.
        left_out: what is said of rows that are not in it.
    """
    return Table(
        name=name,
        caption=caption,
        columns=[
            Column(heading=each, words=place == 0) if isinstance(each, str) else each
            for place, each in enumerate(columns)
        ],
        rows=[Row(cells=cells) for cells in rows],
        left_out=left_out,
    )


class ClearChange(NamedTuple):
    """A clear change.

    Attributes:
        text: the same in words.
        way: whether it is a rise, a fall or neither.
    """

    text: str
    way: Literal["risen", "fallen", "changed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What is said of an answer, in the order in which it is read.

    Attributes:
        metric: its name.
        title: what the metric is for, or its name.
        also: what belongs to the title, such as "by week"; may be empty.
        cautions: warnings, a sentence or two each, the gravest first.
        notes: what else to know before the numbers.
        finding: what was found, in a sentence.
        changes: the clear changes in it, the largest first; empty of an answer that compares
            nothing.
        unchanged: what has not clearly changed, and how far it can have moved.
        days: which days were covered and whether their reports look honest, a line for each period
            of a change.
        counted: how many reports there were, and how devices made them.
        basis: which reports the answer is based on, and what its intervals mean, in a sentence.
        asides: what is to be known of the numbers, a line each.
        tables: the numbers.
        figure: a picture of them; None of an answer without one.
        below: what stands below the numbers, a line each.
        meaning: what the numbers mean, a line each.
    """

    metric: str
    title: str
    also: str = ""
    cautions: Sequence[str] = ()
    notes: Sequence[str] = ()
    finding: str = ""
    changes: Sequence[ClearChange] = ()
    unchanged: Sequence[str] = ()
    days: Sequence[str] = ()
    counted: str = ""
    basis: str = ""
    asides: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figure: Figure | None = None
    below: Sequence[str] = ()
    meaning: Sequence[str] = ()
