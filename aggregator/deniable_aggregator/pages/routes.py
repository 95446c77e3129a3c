"""The pages: which path is answered by what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint

from deniable_aggregator.pages.admission import admit_visitors
from deniable_aggregator.pages.annotations.routes import add_annotations
from deniable_aggregator.pages.health.routes import add_health
from deniable_aggregator.pages.keys.routes import add_keys
from deniable_aggregator.pages.lists.routes import add_lists
from deniable_aggregator.pages.metric.routes import add_discovering, add_metric
from deniable_aggregator.pages.operations.routes import add_operations
from deniable_aggregator.pages.overview.routes import add_overview
from deniable_aggregator.pages.page_parts import PageParts
from deniable_aggregator.pages.plan.routes import add_plan
from deniable_aggregator.pages.privacy.routes import add_privacy
from deniable_aggregator.pages.session_cookie import SessionCookie
from deniable_aggregator.pages.sign_in.routes import add_sign_in
from deniable_aggregator.pages.static_files import PATH as STATIC_PATH
from deniable_aggregator.pages.static_files import static_file
from deniable_aggregator.security.sessions import SessionKeeper

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.answers.operations import Operations
    from deniable_aggregator.asking.source import Source
    from deniable_aggregator.parts import Parts
    from deniable_aggregator.security.keys import Key


def page_parts(parts: Parts, source_of: Callable[[str], Source]) -> PageParts:
    """What pages are made with.

    Args:
        parts: the store, and what is made over it.
        source_of: answers questions about an application's metrics.
    """
    return PageParts(
        parts=parts,
        source_of=source_of,
        sessions=SessionKeeper(parts.store, parts.verifier, parts.clock),
        cookie=SessionCookie(parts.settings.port),
    )


def answer_pages(pages: PageParts) -> Blueprint:
    """The pages of `paths.ANSWER_PAGES`.

    Args:
        pages: what they are made with.
    """
    routes = Blueprint("pages of answers", __name__)
    admit_visitors(routes, pages)
    add_overview(routes, pages.parts.settings)
    add_health(routes)
    add_plan(routes)
    add_privacy(routes, pages.parts)
    add_metric(routes)
    return routes


def server_pages(pages: PageParts, operations: Callable[[Key], Operations]) -> Blueprint:
    """All other pages: those that need what only the server's own process has.

    Args:
        pages: what they are made with.
        operations: says how the server is doing, as far as the holder of a key may know.
    """
    routes = Blueprint("pages of the server", __name__)
    admit_visitors(routes, pages)
    add_lists(routes, pages.parts.lists)
    add_annotations(routes, pages.parts.annotations)
    add_discovering(routes)
    add_operations(routes, operations)
    add_keys(routes, pages.parts)
    return routes


def open_pages(pages: PageParts) -> Blueprint:
    """What needs no session."""
    routes = Blueprint("pages for all", __name__)
    routes.add_url_rule(f"{STATIC_PATH}/<name>", view_func=static_file)
    add_sign_in(routes, pages)
    return routes
