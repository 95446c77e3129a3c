"""The page of saved lists of values."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flask import Blueprint, Response, request

from deniable_aggregator.answers import lists as shipped
from deniable_aggregator.answers.dates import epoch_of
from deniable_aggregator.asking.questions import SAVED_LIST
from deniable_aggregator.doors.pages.parts import Kept
from deniable_aggregator.doors.pages.rendering import address, go_to, here, page
from deniable_aggregator.doors.pages.visit import current_visit
from deniable_aggregator.keeping.lists_and_annotations import NoSuchListError, SavedListKeeper
from deniable_aggregator.telling.wording import counted
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError
from deniable_shared.value_lists import notices, read_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.administration import SavedList, SavedLists


MOST_SHOWN = 200
"""Values of a list on its page; its file has all."""


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

    saved: Sequence[Kept]
    shipped: Sequence[Kept]
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
            Kept(
                name=each.name,
                text=f"{counted(each.values, 'value')}, saved on {each.saved}",
                place=address("lists", each.name),
                end=address("lists", each.name, "delete"),
            )
            for each in lists.lists
        ],
        shipped=[
            Kept(name=each, text=f"{counted(len(shipped.load(each)), 'value')}: {what}")
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
        notices: what looks as if a program had mangled it.
        file: the address of a text file of all.
        delete: where the form that deletes it is sent.
    """

    name: str
    given: str
    count: str
    values: Sequence[str]
    left_out: str
    notices: Sequence[str]
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
        notices=notices(found.values),
        left_out=f"{counted(more, 'more value')}: the file has all." if more > 0 else "",
        file=address("lists", f"{found.name}.txt"),
        delete=address("lists", found.name, "delete"),
    )


PATH: Final = "/lists"
_LARGEST_SHOWN_AGAIN: Final = 20_000
"""Characters of refused values that are shown again to be corrected."""


def add_lists(routes: Blueprint, keeper: SavedListKeeper) -> None:
    """Adds ``/lists`` and what is below it.

    Args:
        routes: pages of the server's own process.
        keeper: keeps the lists.
    """
    lists = _Lists(keeper)
    routes.add_url_rule(PATH, "lists", lists.show)
    routes.add_url_rule(PATH, "save list", lists.save, methods=["POST"])
    routes.add_url_rule(f"{PATH}/<name>.txt", "list file", lists.file)
    routes.add_url_rule(f"{PATH}/<name>", "list", lists.show_one)
    routes.add_url_rule(f"{PATH}/<name>/delete", "delete list", lists.delete, methods=["POST"])


class _Lists:
    def __init__(self, keeper: SavedListKeeper) -> None:
        self._keeper = keeper

    def show(self) -> Response:
        """All lists, and a form for another."""
        done = {"saved": "The list is saved.", "deleted": "The list is deleted."}
        return self._page(done=done.get(request.args.get("done", ""), ""))

    def show_one(self, name: str) -> Response:
        """The values of one list."""
        found = current_visit().source.ask(SAVED_LIST.of(name))
        return page("lists/one.html.jinja", list=one_list_view(found))

    def file(self, name: str) -> Response:
        """The values of one list as a text file, which can be uploaded again."""
        found = current_visit().source.ask(SAVED_LIST.of(name))
        response = Response("".join(f"{each}\n" for each in found.values), mimetype="text/plain")
        response.headers.set("Content-Disposition", "attachment", filename=f"{name}.txt")
        return response

    def save(self) -> Response:
        """Saves what was typed, pasted or uploaded."""
        visit = current_visit()
        name, typed = request.form.get("name", "").strip(), request.form.get("values", "")
        content = b""
        if (uploaded := request.files.get("file")) is not None:
            with closing(uploaded):
                content = uploaded.read()
        try:
            self._keeper.save(
                visit.application,
                name,
                (*read_list(typed), *read_list(content)),
                today=epoch_of(visit.today),
                actor=visit.key.id,
            )
        except ParameterError as error:
            shown = typed if len(typed) <= _LARGEST_SHOWN_AGAIN else ""
            problem = visible(f"{error}.")
            return self._page(status=400, name=name[:100], values=shown, problem=problem)
        return go_to(here(address("lists", done="saved")))

    def delete(self, name: str) -> Response:
        """Deletes a list; one that is not there any more is deleted already."""
        visit = current_visit()
        with suppress(NoSuchListError):
            self._keeper.delete(
                visit.application, name, today=epoch_of(visit.today), actor=visit.key.id
            )
        return go_to(here(address("lists", done="deleted")))

    def _page(self, *, status: int = 200, **shown: str) -> Response:
        lists = self._keeper.all(current_visit().application)
        return page("lists/lists.html.jinja", status=status, lists=lists_view(lists, **shown))
