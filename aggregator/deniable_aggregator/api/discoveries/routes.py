"""Routes: strings that nobody listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from flask import Blueprint, Response, request

from deniable_aggregator.answers.discoveries import DiscoveryLists, DiscoveryQuery
from deniable_aggregator.api.formats import VARY, asked_format
from deniable_aggregator.api.parameters import read_body, read_query
from deniable_aggregator.http.authorization import require_reader
from deniable_aggregator.http.json import MEDIA_TYPE
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.http.tables import table_response
from deniable_aggregator.media.rows import rows_of
from deniable_shared.characters import visible_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.api.discoveries.service import DiscoveryService
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.security.key_verifier import KeyVerifier

PATH: Final = "/v1/metrics/<name>/discoveries"
MOST: Final = (1 << 63) - 1
"""No store can look for a larger number."""

_LISTS: Final = 'Send JSON: {"hints": ["...", ...], "deny": ["...", ...]}, either or none of them.'


def blueprint(service: DiscoveryService, verifier: KeyVerifier, settings: Settings) -> Blueprint:
    """The routes."""
    routes = Blueprint("discoveries", __name__)

    def ask(name: str) -> Response:
        application = require_reader(verifier).application
        answer = service.ask(
            application, name, read_query(DiscoveryQuery), _read_lists(settings.max_body_bytes)
        )
        if answer.state == "done":
            return _json(answer)
        return _json(answer, 202, {"Location": f"/v1/metrics/{name}/discoveries/{answer.id}"})

    def find(name: str, number: int, ending: str = "") -> Response:
        application, format_ = require_reader(verifier).application, asked_format(ending)
        answer = service.find(application, name, number)
        if format_ is None:
            return _json(answer)
        if not answer.result:
            raise ProblemError(
                "no_result",
                f"Discovery {number} is {answer.state}. The same path without .{format_} says how "
                "far it is.",
            )
        file_name = f"{name}-discovery-{number}"
        return table_response(rows_of(answer.result), format_, file_name, {"Vary": VARY})

    def list_(name: str) -> Response:
        return _json(service.list(require_reader(verifier).application, name))

    routes.add_url_rule(PATH, "ask", ask, methods=["POST"])
    routes.add_url_rule(PATH, "list", list_)
    for end in ("", ".<ending>"):
        routes.add_url_rule(f"{PATH}/<int(max={MOST}):number>{end}", "find", find)
    return routes


def _read_lists(limit: int) -> DiscoveryLists:
    """The lists in the body; none without a body."""
    if not request.content_length:
        return DiscoveryLists()
    lists = read_body(DiscoveryLists, _LISTS, limit, code="malformed_question")
    if not all(line.strip() for line in lists.deny):
        raise ProblemError("malformed_question", "deny must hold no empty text.")
    return lists


def _json(
    answer: msgspec.Struct, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """An answer with texts that devices sent: characters that act on a terminal are escaped."""
    content = visible_json(msgspec.json.encode(answer).decode())
    return Response(content, status, headers, content_type=MEDIA_TYPE)
