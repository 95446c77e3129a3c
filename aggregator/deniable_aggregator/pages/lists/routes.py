"""Routes of the page of saved lists: shows, saves and deletes them."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from flask import Response, request

from deniable_aggregator.asking.questions import SAVED_LIST
from deniable_aggregator.dates import epoch_of
from deniable_aggregator.lists.reading import read_values
from deniable_aggregator.pages.addresses import address
from deniable_aggregator.pages.lists.view import lists_view, one_list_view
from deniable_aggregator.pages.rendering import go_to, here, page
from deniable_aggregator.pages.visit import current_visit
from deniable_aggregator.saved_lists import NoSuchListError
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from flask import Blueprint

    from deniable_aggregator.saved_lists import SavedListKeeper

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
                (*read_values(typed), *read_values(content)),
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
