"""The page of saved views and share links, and of a page that is to be saved or shared."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flask import Blueprint, Response, request

from deniable_aggregator.answers.dates import epoch_of
from deniable_aggregator.answers.views import (
    MOST_NAME_LETTERS,
    Place,
    may_be_shared,
    read_place,
    with_fixed_days,
)
from deniable_aggregator.doors.pages.metric.periods import DEFAULT_PERIOD, PERIODS
from deniable_aggregator.doors.pages.parts import Kept
from deniable_aggregator.doors.pages.rendering import (
    PREFIX_HEADER,
    SHARED,
    SHARED_HEADERS,
    address,
    checked_prefix,
    go_to,
    here,
    page,
)
from deniable_aggregator.doors.pages.visit import current_visit
from deniable_aggregator.keeping.views import NoSuchViewError
from deniable_aggregator.telling.wording import key_in_words, listed
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.answers.views import SavedView
    from deniable_aggregator.doors.pages.visit import PageParts
    from deniable_aggregator.keeping.settings import Settings
    from deniable_aggregator.keeping.share_links import ShareLink

DIGEST_SETTINGS: Final = """\
digest_every = "week"
digest_mail_to = "team@example.org"
digest_mail_from = "deniable@example.org"
digest_mail_server = "smtps://mail.example.org\""""
"""With which a server sends digests by mail."""

LASTING: Final = (("7", "a week"), ("30", "30 days"), ("90", "90 days"))
"""For how many days a link can work."""

UNLISTED: Final = "without strings that nobody listed, as links show none"
"""Of a page that is to be shared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """A page that can be shared.

    Attributes:
        hidden: what the form that shares it carries unseen, by name: the page and its days.
        text: the metric and days that the link will show.
        days: for how many days it can work.
        refused: why the page cannot be shared; empty if it can.
    """

    hidden: Sequence[tuple[str, str]] = ()
    text: str = ""
    days: Sequence[tuple[str, str]] = LASTING
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewsView:
    """What the page shows.

    Attributes:
        saved: views, by name.
        of: the address of the page that is to be saved; empty if none is.
        of_text: its metric and days.
        move: whether these move.
        sharing: the form that shares the page; None if none is, or the settings do not let it.
        links: that work, the newest first.
        allowed: whether the server's settings let links be made.
        digests: whether people are told of changes without looking, in a sentence or two.
        missing_settings: that the server would need for that; empty if it has them.
        made: the address of a link that has just been made; empty if none was.
        shared: the address of the page that it shows.
        name: in the form that saves it.
        most_letters: of a name.
        problem: why what was typed is refused; empty if nothing was.
        done: what has just been done; empty if nothing was.
    """

    saved: Sequence[Kept]
    of: str = ""
    of_text: str = ""
    move: str = ""
    sharing: Sharing | None = None
    links: Sequence[Kept] = ()
    allowed: bool = False
    digests: str
    missing_settings: str = ""
    made: str = ""
    shared: str = ""
    name: str = ""
    most_letters: int = MOST_NAME_LETTERS
    problem: str = ""
    done: str = ""


def digests_in_words(settings: Settings) -> str:
    """Whether the server tells people of changes by itself."""
    what = "clear changes of all metrics, and reports that look wrong or have stopped"
    if settings.digest_every == "never":
        return (
            f"The server can send a few lines by itself, each week or day: {what}. It does not "
            "yet: whoever runs it adds these settings, or those of a chat."
        )
    ways = [settings.digest_webhook and "to a chat", settings.digest_mail_to and "by mail"]
    return (
        f"The server sends a few lines by itself, each {settings.digest_every}, "
        f"{listed(list(filter(None, ways)))}: {what}. Whoever runs it can add you."
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
_DONE: Final = {
    "saved": "The view is saved.",
    "deleted": "The view is deleted.",
    "revoked": "The link does not work any more.",
}


def add_views(routes: Blueprint, pages: PageParts) -> None:
    """Adds ``/views`` and what is below it.

    Args:
        routes: pages of the server's own process.
        pages: keep views, and links.
    """
    views = _Views(pages)
    routes.add_url_rule(PATH, "views", views.show)
    routes.add_url_rule(PATH, "save view", views.save, methods=["POST"])
    routes.add_url_rule(f"{PATH}/<name>/delete", "delete view", views.delete, methods=["POST"])
    routes.add_url_rule(f"{PATH}/share", "share view", views.share, methods=["POST"])
    revoke = f"{PATH}/links/<link_id>/revoke"
    routes.add_url_rule(revoke, "revoke link", views.revoke, methods=["POST"])


class _Views:
    def __init__(self, pages: PageParts) -> None:
        self._keys = pages.parts.store.keys
        self._keeper = pages.parts.views
        self._links = pages.links
        self._settings = pages.parts.settings

    def show(self) -> Response:
        """All views and links, and forms for the page from which the visitor comes."""
        try:
            of = self._place(request.args.get("of", ""))
            sharing = None if of is None else self._sharing(of, request.args)
        except ParameterError as error:
            return self._page(status=400, problem=visible(f"{error}."))
        done = _DONE.get(request.args.get("done", ""), "")
        return self._page(of, sharing, done=done)

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

    def share(self) -> Response:
        """Makes a link, and shows its address, which nobody can show again."""
        form, lasts = request.form, request.form.get("days", "")
        try:
            place = self._keeper.place(current_visit().application, form.get("of", ""))
            if not may_be_shared(place):
                raise ParameterError("place", UNLISTED, place.address)
            fixed = with_fixed_days(place, **_days(form))
            if lasts not in dict(LASTING):
                raise ParameterError("days", f"one of {', '.join(dict(LASTING))}", lasts[:100])
            secret = self._links.make(current_visit().key, fixed, int(lasts))
        except ParameterError as error:
            return self._page(status=400, problem=visible(f"{error}."))
        response = self._page(made=_whole(f"{SHARED}{secret}"), shared=place.address)
        response.headers.update(SHARED_HEADERS)
        return response

    def revoke(self, link_id: str) -> Response:
        """Ends a link."""
        visit = current_visit()
        self._links.revoke(visit.application, link_id, actor=visit.key.id)
        return go_to(here(address("views", done="revoked")))

    def _place(self, of: str) -> Place | None:
        return self._keeper.place(current_visit().application, of) if of else None

    def _sharing(self, place: Place, given: Mapping[str, str]) -> Sharing | None:
        days = _days(given)
        if not (self._links.allowed and days["since"]):
            return None
        if not may_be_shared(place):
            return Sharing(refused=f"The page must be {UNLISTED}.")
        fixed = with_fixed_days(place, **days)
        return Sharing(hidden=[("of", place.address), *days.items()], text=in_words(fixed))

    def _page(
        self,
        of: Place | None = None,
        sharing: Sharing | None = None,
        *,
        status: int = 200,
        name: str = "",
        problem: str = "",
        done: str = "",
        made: str = "",
        shared: str = "",
    ) -> Response:
        application = current_visit().application
        view = ViewsView(
            saved=list(map(_view, self._keeper.all(application).views)),
            of="" if of is None else of.address,
            of_text="" if of is None else in_words(of),
            move="" if of is None else _whether_days_move(of),
            sharing=sharing,
            links=list(map(self._link, self._links.all(application))),
            allowed=self._links.allowed,
            digests=digests_in_words(self._settings),
            missing_settings=DIGEST_SETTINGS * (self._settings.digest_every == "never"),
            made=made,
            shared=shared,
            name=name,
            problem=problem,
            done=done,
        )
        return page("views/views.html.jinja", status=status, views=view)

    def _link(self, link: ShareLink) -> Kept:
        key = self._keys.find(link.key)
        who = key_in_words(link.key, "" if key is None else key.label)
        return Kept(
            name=in_words(link.place),
            text=f"made with key {who}, works until {link.until}",
            end=address("views", "links", link.id, "revoke"),
        )


def _view(view: SavedView) -> Kept:
    return Kept(
        name=view.name,
        text=in_words(read_place(view.place)),
        place=view.place,
        end=address("views", view.name, "delete"),
    )


def _days(given: Mapping[str, str]) -> dict[str, str]:
    """The days that a page shows now, as `with_fixed_days` takes them."""
    return {name: given.get(name, "") for name in ("since", "until", "before", "by")}


def _whole(path: str) -> str:
    """An address that can be sent to others: this server as the browser calls it, and a path."""
    origin = request.headers.get("Origin", "").rstrip("/")
    return f"{origin}{checked_prefix(request.headers.get(PREFIX_HEADER, ''))}{path}"
