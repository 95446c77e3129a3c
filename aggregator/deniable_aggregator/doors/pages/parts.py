"""What pages are built of, as plain data, and what is said where there is nothing to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from deniable_aggregator.doors.pages.rendering import changed
from deniable_aggregator.telling.document import Badge, Column, Link, Table
from deniable_aggregator.telling.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from deniable_aggregator.telling.figure import Figure


NoticeKind = Literal["warning", "error", "done", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorting:
    """How a table of a page is sorted, and where its headings lead.

    Attributes:
        table: the name of the table.
        address: of the page, with all parameters; headings link to it with another ``sort``.
        by: the key of the column by which it is sorted, with a hyphen before it if the largest
            comes first.
    """

    table: str
    address: str
    by: str

    def order_of(self, column: Column) -> str:
        """What ``aria-sort`` says of a column; empty if it is not sorted by it."""
        if not column.key or self.by.removeprefix("-") != column.key:
            return ""
        return "descending" if self.by.startswith("-") else "ascending"

    def sorted_by(self, column: Column) -> str:
        """Where its heading leads: the other way round, or the largest number or first word first.

        Args:
            column: one of the columns that have a key.
        """
        other = {"descending": "", "ascending": "-"}
        sign = other.get(self.order_of(column), "" if column.words else "-")
        return changed(self.address, sort=sign + column.key) + f"#{self.table}"


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing.

    Attributes:
        figure: what is drawn.
        caption: what it is; empty if the title of its part says it.
        broad: whether it fills the page.
    """

    figure: Figure
    caption: str = ""
    broad: bool = False


@dataclass(frozen=True, slots=True)
class Followed:
    """One number over time, as wide as the page.

    Attributes:
        figure: a series of that number.
        addresses: where each of its periods leads.
        hint: what they lead to, in a few words.
        says: the same in a sentence; may be empty.
    """

    figure: Figure
    addresses: Sequence[str]
    hint: str
    says: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a page: pictures and tables under a title.

    Attributes:
        name: of the part within the page: letters and hyphens.
        title: may be empty.
        texts: what is said before them, in small lines.
        pictures: side by side where there is room.
        tables: below them.
        folded: parts that open.
        sorting: how its tables of values are sorted; None if they are not.
        drawn: whether the intervals of tables are drawn beside the names.
        secondary: whether it is closed at first where there is little room.
    """

    name: str
    title: str = ""
    texts: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    folded: Sequence[Part] = ()
    sorting: Sorting | None = None
    drawn: bool = False
    secondary: bool = False


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Something that people keep, as a line.

    Attributes:
        name: what they call it.
        text: what else is known of it.
        place: the address of it; empty if it has no page.
        end: where the form is sent that deletes it; empty if the visitor may not.
    """

    name: str
    text: str
    place: str = ""
    end: str = ""


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


def no_metrics(application: str) -> State:
    """Nothing is registered.

    Args:
        application: whose metrics are shown.
    """
    return State(
        "No metrics yet",
        f"Metrics of {application} appear here as soon as their file is registered.",
        ("deniable check metrics.toml", "deniable metrics register metrics.toml"),
    )


def no_reports(needed: int | None = None, of: str = "") -> State:
    """Devices have sent nothing yet.

    Args:
        needed: how many reports make a first useful number, as planned; None if that is not known.
        of: what can be seen with so many, such as "a share of 10%".
    """
    text = "Reports appear after devices have sent them; most send once a day."
    if needed is not None:
        text += f" {of or 'A first number'} needs about {counted(needed, 'report')}."
    return State("No reports yet", text, link=Link("Plan how many are needed", "/plan"))


def suspicious(address: str) -> State:
    """The reports are not those of honest devices.

    Args:
        address: of the page about their health.
    """
    return State(
        "Do not rely on these numbers",
        "The reports are not all those of honest devices.",
        link=Link("See which checks fail, and which key stands out", address),
        kind="warning",
    )


def all_excluded() -> State:
    """Every report that there is was excluded."""
    return State(
        "All reports are excluded",
        "There are reports of these days, but those of all their keys are excluded.",
        ("deniable keys list", "deniable keys include KEY"),
        kind="warning",
    )


def stopped(since: date) -> State:
    """There are no reports any more.

    Args:
        since: the first day without.
    """
    return State(
        "Reports have stopped",
        f"There are no reports from {since} on. Devices may run a version that reports "
        "this metric no longer, or their key may be revoked.",
        ("deniable status", "deniable keys list"),
        kind="warning",
    )


def failed(message: str) -> State:
    """A question has no answer.

    Args:
        message: why, and what to do next.
    """
    return State("There is no answer", message, kind="error")
