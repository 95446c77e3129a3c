"""The pages: which path is answered by what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flask import Blueprint, g

from deniable_aggregator.dates import day_of
from deniable_aggregator.http.authorization import require_reader
from deniable_aggregator.pages.overview.routes import add_overview
from deniable_aggregator.pages.plan.routes import add_plan
from deniable_aggregator.pages.static_files import PATH as STATIC_PATH
from deniable_aggregator.pages.static_files import static_file
from deniable_aggregator.pages.visit import Visit
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.asking.source import Source
    from deniable_aggregator.security.key_verifier import KeyVerifier

ANSWER_PAGES: Final = ("/", "/health", "/plan", "/privacy", "/metric/")
"""Pages that take seconds of a processor, and so are made where questions are answered: these
paths, and those below one that ends in a slash."""


def is_answer_page(path: str) -> bool:
    """Whether a path is one of `ANSWER_PAGES`."""
    return path in ANSWER_PAGES or path.startswith(_BELOW)


_BELOW: Final = tuple(each for each in ANSWER_PAGES if len(each) > 1 and each.endswith("/"))


@dataclass(frozen=True, kw_only=True)
class PageParts:
    """What pages are made with.

    Attributes:
        source_of: answers questions about an application's metrics.
        verifier: verifies tokens.
        clock: seconds since 1970.
    """

    source_of: Callable[[str], Source]
    verifier: KeyVerifier
    clock: Callable[[], float]


def answer_pages(parts: PageParts) -> Blueprint:
    """The pages of `ANSWER_PAGES`."""
    routes = Blueprint("pages of answers", __name__)
    _admit(routes, parts)
    add_overview(routes)
    add_plan(routes)
    return routes


def server_pages(parts: PageParts) -> Blueprint:
    """All other pages: those that need what only the server's own process has."""
    routes = Blueprint("pages of the server", __name__)
    _admit(routes, parts)
    return routes


def open_pages() -> Blueprint:
    """What needs no key."""
    routes = Blueprint("pages for all", __name__)
    routes.add_url_rule(f"{STATIC_PATH}/<name>", view_func=static_file)
    return routes


def _admit(routes: Blueprint, parts: PageParts) -> None:
    def admit() -> None:
        key = require_reader(parts.verifier)
        g.visit = Visit(
            application=key.application,
            applications=(key.application,),
            key=key,
            source=parts.source_of(key.application),
            today=day_of(epoch_at(parts.clock())),
            form_token="",
        )

    routes.before_request(admit)
