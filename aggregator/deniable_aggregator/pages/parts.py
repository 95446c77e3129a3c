"""What pages are built of, as plain data: the macros of ``parts.html.jinja`` show it.

A table of texts alone is a `report.document.Table`; the macro shows that as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from deniable_aggregator.pages.addresses import changed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.charts.figure import Figure

BadgeKind = Literal[
    "ok",
    "suspicious",
    "uneven",
    "stopped",
    "unknown",
    "changed",
    "risen",
    "fallen",
    "unchanged",
    "untold",
]
"""What a badge says; each kind has a sign of its own, so that none is told by its colour alone."""

NoticeKind = Literal["warning", "error", "done", "note"]


@dataclass(frozen=True, slots=True)
class Badge:
    """A word or two about something, with a sign.

    Attributes:
        kind: which sign.
        text: the words.
    """

    kind: BadgeKind
    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A text that leads somewhere.

    Attributes:
        text: of it.
        address: made by `addresses`.
    """

    text: str
    address: str


Cell = str | Link | Badge


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: its heading.
        key: what it is called in addresses that sort by it; empty if nothing sorts by it.
        words: whether it holds words, which begin at its left; numbers end at its right.
        minor: whether phones can do without it.
    """

    title: str
    key: str = ""
    words: bool = False
    minor: bool = False

    @property
    def css_class(self) -> str:
        """How its cells look."""
        return " ".join(name for name in ("words", "minor") if getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table, perhaps sorted by one of its columns.

    Attributes:
        name: of the table within its page: letters and hyphens.
        caption: what it is.
        columns: their headings; the first is of names.
        rows: as many cells each.
        left_out: what is said of rows that are not in it.
        address: of the page, with all parameters; headings link to it with another ``sort``.
        sort: the key of the column by which it is sorted, with a hyphen before it if the largest
            comes first.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    left_out: str = ""
    address: str = ""
    sort: str = ""

    def order_of(self, column: Column) -> str:
        """What ``aria-sort`` says of a column; empty if it is not sorted by it."""
        if not column.key or self.sort.removeprefix("-") != column.key:
            return ""
        return "descending" if self.sort.startswith("-") else "ascending"

    def sorted_by(self, column: Column) -> str:
        """Where its heading leads: the other way round, or the largest number or first word first.

        Args:
            column: one of the columns that have a key.
        """
        other = {"descending": "", "ascending": "-"}
        sign = other.get(self.order_of(column), "" if column.words else "-")
        return changed(self.address, sort=sign + column.key) + f"#{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Something at a glance, with the address of more.

    Attributes:
        title: what it is.
        address: of more.
        name: what it is called in registries and addresses, if that is not the title.
        headline: its number, a range in words.
        of: what the number is of.
        more: what else there is, in a small line.
        figure: a series of it, drawn without axes.
        badges: what is special about it.
        asides: small lines below.
    """

    title: str
    address: str
    name: str = ""
    headline: str = ""
    of: str = ""
    more: str = ""
    figure: Figure | None = None
    badges: Sequence[Badge] = ()
    asides: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class State:
    """Why there is nothing to see, or not what was asked for, and what to do next.

    Attributes:
        title: in a few words.
        text: in a plain sentence.
        commands: what to run next, a line each.
        link: where to go next.
        kind: how grave it is.
    """

    title: str
    text: str
    commands: Sequence[str] = ()
    link: Link | None = None
    kind: NoticeKind = "note"
