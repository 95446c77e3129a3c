"""What the page of saved lists shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator import lists as shipped
from deniable_aggregator.pages.addresses import address
from deniable_aggregator.telling.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.saved_lists import SavedList, SavedLists

MOST_SHOWN = 1_000
"""Values of a list on its page; its file has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLine:
    """A list of values.

    Attributes:
        name: of the list.
        given: how commands name it.
        text: how many values it has, and what is known of it.
        place: the address of its values; empty if it comes with Deniable.
        delete: where the form that deletes it is sent; likewise.
    """

    name: str
    given: str
    text: str
    place: str = ""
    delete: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListsView:
    """What the page shows.

    Attributes:
        saved: the lists of this application.
        shipped: the lists that come with Deniable.
        name: what was typed as the name of a list that was refused; else empty.
        values: what was typed as its values.
        problem: why it was refused; empty if nothing was.
        done: what has just been done; empty if nothing was.
    """

    saved: Sequence[ListLine]
    shipped: Sequence[ListLine]
    name: str = ""
    values: str = ""
    problem: str = ""
    done: str = ""


def lists_view(
    lists: SavedLists, *, name: str = "", values: str = "", problem: str = "", done: str = ""
) -> ListsView:
    """What the page shows.

    Args:
        lists: those of the application.
        name: typed, if it was refused.
        values: likewise.
        problem: why.
        done: what has just been done.
    """
    return ListsView(
        saved=[
            ListLine(
                name=each.name,
                given=f"saved:{each.name}",
                text=f"{counted(each.values, 'value')}, saved on {each.saved}",
                place=address("lists", each.name),
                delete=address("lists", each.name, "delete"),
            )
            for each in lists.lists
        ],
        shipped=[
            ListLine(
                name=each,
                given=f"list:{each}",
                text=f"{counted(len(shipped.load(each)), 'value')}: {what}",
            )
            for each, what in shipped.DESCRIPTIONS.items()
        ],
        name=name,
        values=values,
        problem=problem,
        done=done,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OneListView:
    """What the page of one list shows.

    Attributes:
        name: of the list.
        given: how commands name it.
        count: how many values it has.
        values: the first of them.
        left_out: what is said of the others; empty if all are shown.
        file: the address of a text file of all.
        delete: where the form that deletes it is sent.
    """

    name: str
    given: str
    count: str
    values: Sequence[str]
    left_out: str
    file: str
    delete: str


def one_list_view(found: SavedList) -> OneListView:
    """What the page of one list shows.

    Args:
        found: the list.
    """
    more = len(found.values) - MOST_SHOWN
    return OneListView(
        name=found.name,
        given=f"saved:{found.name}",
        count=counted(len(found.values), "value"),
        values=found.values[:MOST_SHOWN],
        left_out=f"{counted(more, 'more value')}: the file has all." if more > 0 else "",
        file=address("lists", f"{found.name}.txt"),
        delete=address("lists", found.name, "delete"),
    )
