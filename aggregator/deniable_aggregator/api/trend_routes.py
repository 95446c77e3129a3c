"""Routes for questions about time: series and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from flask import Blueprint, request
from msgspec.structs import replace

from deniable_aggregator.answers.questions import ChangeQuery, SeriesQuery
from deniable_aggregator.api.conditional import answered
from deniable_aggregator.api.parameters import read_lists, read_query
from deniable_aggregator.http.authorization import require_reader
from deniable_aggregator.http.problems import ProblemError

if TYPE_CHECKING:
    from flask import Response

    from deniable_aggregator.answers.questions import ValueLists
    from deniable_aggregator.api.query_service import QueryService
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.security.key_verifier import KeyVerifier

_WANTED: Final = 'Send JSON: {"candidates": ["...", ...]}, and no value in the query.'


def blueprint(service: QueryService, verifier: KeyVerifier, settings: Settings) -> Blueprint:
    """The routes."""
    routes = Blueprint("trends", __name__)

    def series(name: str, ending: str = "") -> Response:
        application = require_reader(verifier).application
        query = read_query(SeriesQuery)
        lists = _lists(query.value, settings)
        return answered(
            lambda: service.validity(application, name, query, lists),
            lambda: service.series(application, name, query, lists),
            ending,
        )

    def change(name: str, ending: str = "") -> Response:
        application = require_reader(verifier).application
        query = read_query(ChangeQuery)
        lists = _lists(query.value, settings)
        return answered(
            lambda: service.validity(application, name, query, lists),
            lambda: service.change(application, name, query, lists),
            ending,
        )

    for path, view in (("series", series), ("change", change)):
        for end in ("", ".<ending>"):
            rule = f"/v1/metrics/<name>/{path}{end}"
            routes.add_url_rule(rule, path, view, methods=["GET", "POST"])
    return routes


def _lists(named: tuple[str, ...], settings: Settings) -> ValueLists:
    """The values that a question is about, from its query or from its body."""
    if named and request.method == "POST":
        raise ProblemError("malformed_question", _WANTED)
    lists = read_lists(settings)
    return replace(lists, candidates=named) if named else lists
