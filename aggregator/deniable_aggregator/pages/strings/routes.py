"""Routes of strings that nobody listed: starts a run, and gives a result as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import request

from deniable_aggregator.answers.discoveries import DiscoveryQuery
from deniable_aggregator.answers.parsing import MalformedQueryError, parse_query
from deniable_aggregator.asking.questions import DISCOVER, DISCOVERY
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.http.tables import table_response
from deniable_aggregator.media.rows import rows_of
from deniable_aggregator.pages.addresses import address, changed
from deniable_aggregator.pages.rendering import HEADERS, go_to, here
from deniable_aggregator.pages.strings.discovered import SHOWN
from deniable_aggregator.pages.visit import current_visit

if TYPE_CHECKING:
    from flask import Blueprint, Response

FILE = "csv"
FIELDS = DiscoveryQuery.__struct_fields__


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


def add_found_files(routes: Blueprint) -> None:
    """Adds ``/metric/NAME/discoveries/NUMBER.csv``.

    Args:
        routes: pages that ask.
    """

    def file(name: str, number: int) -> Response:
        found = current_visit().source.ask(DISCOVERY.of(name, number))
        if not found.result:
            raise ProblemError("no_result", f"Discovery {number} is {found.state}.")
        return table_response(rows_of(found.result), FILE, f"{name}-discovery-{number}", HEADERS)

    path = f"/metric/<name>/discoveries/<int(max={(1 << 63) - 1}):number>.{FILE}"
    routes.add_url_rule(path, "found strings", file)
