"""The pages: which path is answered by what."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from flask import Blueprint, Response, request

from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answering.responses import table_response
from deniable_aggregator.answers.discoveries import DiscoveryQuery
from deniable_aggregator.answers.fields import MalformedQueryError, parse_query
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.questions import DISCOVER, DISCOVERY, METRIC, METRICS, Source
from deniable_aggregator.doors.pages.annotations import add_annotations
from deniable_aggregator.doors.pages.health import add_health
from deniable_aggregator.doors.pages.keys import add_keys
from deniable_aggregator.doors.pages.lists import add_lists
from deniable_aggregator.doors.pages.metric.answering import ask, questions
from deniable_aggregator.doors.pages.metric.choices import read_choices
from deniable_aggregator.doors.pages.metric.files import export
from deniable_aggregator.doors.pages.metric.shared import add_shared
from deniable_aggregator.doors.pages.metric.strings import SHOWN, lists_of, strings_of
from deniable_aggregator.doors.pages.metric.view import metric_view
from deniable_aggregator.doors.pages.operations import add_operations
from deniable_aggregator.doors.pages.overview.view import add_overview
from deniable_aggregator.doors.pages.parts import State
from deniable_aggregator.doors.pages.plan import add_plan
from deniable_aggregator.doors.pages.privacy import add_privacy
from deniable_aggregator.doors.pages.rendering import (
    HEADERS,
    address,
    changed,
    go_to,
    here,
    page,
    static_file,
)
from deniable_aggregator.doors.pages.rendering import (
    PATH as STATIC_PATH,
)
from deniable_aggregator.doors.pages.sign_in import add_sign_in
from deniable_aggregator.doors.pages.views import add_views
from deniable_aggregator.doors.pages.visit import (
    PageParts,
    SessionCookie,
    admit_visitors,
    current_visit,
)
from deniable_aggregator.keeping.sessions import SessionKeeper
from deniable_aggregator.keeping.share_links import ShareLinkKeeper
from deniable_aggregator.media.rows import rows_of
from deniable_aggregator.telling.document import Link
from deniable_aggregator.telling.wording import shown_value
from deniable_shared.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.answers.service import Operations
    from deniable_aggregator.keeping.keys import Key
    from deniable_aggregator.keeping.parts import Parts


FOUND_FILE = "csv"
FIELDS = DiscoveryQuery.__struct_fields__


def add_metric(routes: Blueprint) -> None:
    """Adds ``/metric/NAME`` and the files below it.

    Args:
        routes: pages that ask.
    """
    found = f"/metric/<name>/discoveries/<int(max={(1 << 63) - 1}):number>.{FOUND_FILE}"
    routes.add_url_rule(found, "found strings", found_strings)
    routes.add_url_rule("/metric/<name>", "metric", metric)
    routes.add_url_rule("/metric/<name>/export.<ending>", "metric export", export)


def metric(name: str) -> Response:
    """The page of a metric; 400 where a choice is wrong, with an answer all the same."""
    visit = current_visit()
    try:
        details = visit.source.ask(METRIC.of(name))
    except AskingError as error:
        if error.code != "unknown_metric":
            raise
        return _unknown(name, [each.name for each in visit.source.ask(METRICS).metrics])
    choices = read_choices(request.args, details, visit.today)
    strings = strings_of(visit.source, details, choices, request.args)
    answers = ask(visit.source, details, questions(details, choices, lists_of(strings)), strings)
    metrics = visit.source.ask(METRICS).metrics
    view = metric_view(answers, choices, _address(name), metrics)
    return page("metric/metric.html.jinja", status=400 if choices.problems else 200, shown=view)


def _unknown(name: str, known: list[str]) -> Response:
    """There is no such metric; perhaps another was meant."""
    meant = nearest(name, known)
    link = Link("Show all metrics", address())
    if meant is not None:
        link = Link(f"Did you mean {meant}?", address("metric", meant))
    state = State("No such metric", f"There is no metric {shown_value(name)} here.", link=link)
    return page("metric/unknown.html.jinja", status=404, state=state)


def _address(name: str) -> str:
    """Where the page is, with all that was chosen."""
    chosen = [each for each in request.args.items(multi=True) if each[1]]
    return f"{address('metric', name)}{'?' if chosen else ''}{urlencode(chosen)}"


def found_strings(name: str, number: int) -> Response:
    """What was found of strings that nobody listed, as a file."""
    found = current_visit().source.ask(DISCOVERY.of(name, number))
    if found.result is None:
        raise ProblemError("no_result", f"Discovery {number} is {found.state}.")
    rows = rows_of(found.result)
    return table_response(rows, FOUND_FILE, f"{name}-discovery-{number}", HEADERS)


def add_discovering(routes: Blueprint) -> None:
    """Adds ``POST /metric/NAME/discover``.

    Args:
        routes: pages of the server's own process, which runs what is started.
    """

    def start(name: str) -> Response:
        given = [each for each in request.form.items(multi=True) if each[0] in FIELDS]
        try:
            query = parse_query(DiscoveryQuery, given)
        except MalformedQueryError as error:
            raise ProblemError("malformed_question", f"{error}.") from None
        current_visit().source.ask(DISCOVER.of(name), query)
        shown = changed(f"{address('metric', name)}?{request.form.get(SHOWN, '')}")
        return go_to(here(f"{shown}#discovered"))

    routes.add_url_rule("/metric/<name>/discover", "discover", start, methods=["POST"])


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
        links=ShareLinkKeeper(
            parts.store, parts.verifier, parts.clock, allowed=parts.settings.share_links == "on"
        ),
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


def shared_pages(pages: PageParts) -> Blueprint:
    """The pages of share links, which need no session.

    Args:
        pages: what they are made with.
    """
    routes = Blueprint("pages of share links", __name__)
    add_shared(routes, pages)
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
    add_views(routes, pages)
    add_annotations(routes, pages.parts.annotations)
    add_discovering(routes)
    add_operations(routes, operations)
    add_keys(routes, pages.parts)
    return routes


def open_pages(pages: PageParts) -> Blueprint:
    """What needs no session."""
    routes = Blueprint("pages for all", __name__)
    routes.add_url_rule(f"{STATIC_PATH}/<name>", view_func=static_file)
    routes.add_url_rule("/robots.txt", view_func=keep_robots_out)
    add_sign_in(routes, pages)
    return routes


def keep_robots_out() -> Response:
    """Tells search engines to leave the whole server alone."""
    return Response("User-agent: *\nDisallow: /\n", mimetype="text/plain")
