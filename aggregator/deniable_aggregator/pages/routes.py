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
from deniable_aggregator.pages.plan.routes import add_plan
from deniable_aggregator.pages.privacy.routes import add_privacy
from deniable_aggregator.pages.sign_in.routes import add_sign_in
from deniable_aggregator.pages.static_files import PATH as STATIC_PATH
from deniable_aggregator.pages.static_files import static_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.annotations import AnnotationKeeper
    from deniable_aggregator.answers.operations import Operations
    from deniable_aggregator.audit import AuditEntry
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.pages.keys.acts import KeyActs
    from deniable_aggregator.pages.metric.routes import Discover
    from deniable_aggregator.pages.page_parts import PageParts
    from deniable_aggregator.saved_lists import SavedListKeeper
    from deniable_aggregator.security.keys import Key


def answer_pages(
    parts: PageParts, *, settings: Settings, last_entry: Callable[[], AuditEntry | None]
) -> Blueprint:
    """The pages of `paths.ANSWER_PAGES`.

    Args:
        parts: what pages are made with.
        settings: say for how long the server keeps what.
        last_entry: returns the last entry of the audit log.
    """
    routes = Blueprint("pages of answers", __name__)
    admit_visitors(routes, parts)
    add_overview(routes, weekly=parts.weekly)
    add_health(routes)
    add_plan(routes)
    add_privacy(routes, settings, last_entry)
    add_metric(routes)
    return routes


def server_pages(
    parts: PageParts,
    *,
    keeper: SavedListKeeper,
    annotator: AnnotationKeeper,
    discover: Discover,
    operations: Callable[[Key], Operations],
    key_acts: KeyActs,
) -> Blueprint:
    """All other pages: those that need what only the server's own process has.

    Args:
        parts: what pages are made with.
        keeper: keeps saved lists of values.
        annotator: keeps annotations.
        discover: starts runs that look for strings that nobody listed.
        operations: says how the server is doing, as far as the holder of a key may know.
        key_acts: what is done to keys.
    """
    routes = Blueprint("pages of the server", __name__)
    admit_visitors(routes, parts)
    add_lists(routes, keeper)
    add_annotations(routes, annotator)
    add_discovering(routes, discover)
    add_operations(routes, operations)
    add_keys(routes, key_acts)
    return routes


def open_pages(parts: PageParts) -> Blueprint:
    """What needs no session."""
    routes = Blueprint("pages for all", __name__)
    routes.add_url_rule(f"{STATIC_PATH}/<name>", view_func=static_file)
    add_sign_in(routes, parts)
    return routes
