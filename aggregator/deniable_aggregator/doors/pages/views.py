"""The page of saved views: of those that there are, and of one that is to be saved."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flask import Blueprint, Response, request

from deniable_aggregator.answers.dates import epoch_of
from deniable_aggregator.answers.views import MOST_NAME_LETTERS, Place, read_place
from deniable_aggregator.doors.pages.metric.periods import DEFAULT_PERIOD, PERIODS
from deniable_aggregator.doors.pages.rendering import address, go_to, here, page
from deniable_aggregator.doors.pages.visit import current_visit
from deniable_aggregator.keeping.views import NoSuchViewError
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.views import SavedViews
    from deniable_aggregator.keeping.parts import Parts


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewLine:
    """A saved view.

    Attributes:
        name: of the view.
        text: its metric and days.
        place: the address of its page.
        delete: where the form that deletes it is sent.
    """

    name: str
    text: str
    place: str
    delete: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewsView:
    """What the page shows.

    Attributes:
        lines: the saved views.
        of: the address of the page that is to be saved; empty if none is.
        of_text: its metric and days, and whether these move.
        name: in the form that saves it.
        most_letters: of a name.
        problem: why what was typed is refused; empty if nothing was.
        done: what has just been done; empty if nothing was.
    """

    lines: Sequence[ViewLine]
    of: str = ""
    of_text: str = ""
    name: str = ""
    most_letters: int = MOST_NAME_LETTERS
    problem: str = ""
    done: str = ""


def views_view(
    saved: SavedViews,
    of: Place | None = None,
    *,
    name: str = "",
    problem: str = "",
    done: str = "",
) -> ViewsView:
    """What the page shows.

    Args:
        saved: the views of the application.
        of: the page that is to be saved.
        name: as it was typed.
        problem: why that is refused.
        done: what has just been done.
    """
    return ViewsView(
        lines=[
            ViewLine(
                name=each.name,
                text=in_words(read_place(each.place)),
                place=each.place,
                delete=address("views", each.name, "delete"),
            )
            for each in saved.views
        ],
        of="" if of is None else of.address,
        of_text="" if of is None else f"{in_words(of)}. {_whether_days_move(of)}",
        name=name,
        problem=problem,
        done=done,
    )


def in_words(place: Place) -> str:
    """The metric and the days of a page."""
    chosen, period = dict(place.chosen), _period(place)
    days = PERIODS.get(period, period).lower()
    if period == "own":
        days = f"{chosen.get('since', '')} to {chosen.get('until', 'yesterday')}"
    return f"{place.metric}, {days}"


def _whether_days_move(place: Place) -> str:
    if _period(place) == "own":
        return "The view always shows these days."
    return "Its days move with time: whoever opens the view sees the newest."


def _period(place: Place) -> str:
    chosen = dict(place.chosen)
    own = "own" if "since" in chosen or "until" in chosen else DEFAULT_PERIOD
    return chosen.get("period", own)


PATH: Final = "/views"
_DONE: Final = {"saved": "The view is saved.", "deleted": "The view is deleted."}


def add_views(routes: Blueprint, parts: Parts) -> None:
    """Adds ``/views`` and what is below it.

    Args:
        routes: pages of the server's own process.
        parts: keep views.
    """
    pages = _Views(parts)
    routes.add_url_rule(PATH, "views", pages.show)
    routes.add_url_rule(PATH, "save view", pages.save, methods=["POST"])
    routes.add_url_rule(f"{PATH}/<name>/delete", "delete view", pages.delete, methods=["POST"])


class _Views:
    def __init__(self, parts: Parts) -> None:
        self._keeper = parts.views

    def show(self) -> Response:
        """All views, and a form for the page from which the visitor comes."""
        try:
            of = self._place(request.args.get("of", ""))
        except ParameterError as error:
            return self._page(status=400, problem=visible(f"{error}."))
        return self._page(of, done=_DONE.get(request.args.get("done", ""), ""))

    def save(self) -> Response:
        """Saves a view."""
        visit = current_visit()
        name, of = (request.form.get(each, "") for each in ("name", "of"))
        place = None
        try:
            place = self._place(of)
            self._keeper.save(
                visit.application, name, of, today=epoch_of(visit.today), actor=visit.key.id
            )
        except ParameterError as error:
            problem = visible(f"{error}.")
            return self._page(place, status=400, name=name[:100], problem=problem)
        return go_to(here(address("views", done="saved")))

    def delete(self, name: str) -> Response:
        """Deletes a view; one that is not there any more is deleted already."""
        visit = current_visit()
        with suppress(NoSuchViewError):
            self._keeper.delete(
                visit.application, name, today=epoch_of(visit.today), actor=visit.key.id
            )
        return go_to(here(address("views", done="deleted")))

    def _place(self, of: str) -> Place | None:
        return self._keeper.place(current_visit().application, of) if of else None

    def _page(self, of: Place | None = None, *, status: int = 200, **shown: str) -> Response:
        saved = self._keeper.all(current_visit().application)
        return page("views/views.html.jinja", status=status, views=views_view(saved, of, **shown))
