"""Routes: the registered metrics, estimates, and the health of reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint

from deniable_aggregator.answers.questions import DaysQuery, EstimateQuery
from deniable_aggregator.api.conditional import answered
from deniable_aggregator.api.parameters import read_lists, read_query
from deniable_aggregator.http.authorization import require_reader
from deniable_aggregator.http.json import json_response

if TYPE_CHECKING:
    from flask import Response

    from deniable_aggregator.api.query_service import QueryService
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.security.key_verifier import KeyVerifier


def blueprint(service: QueryService, verifier: KeyVerifier, settings: Settings) -> Blueprint:
    """The routes."""
    routes = Blueprint("estimates", __name__)

    def metrics() -> Response:
        return json_response(service.metrics(require_reader(verifier).application))

    def metric(name: str) -> Response:
        return json_response(service.metric(require_reader(verifier).application, name))

    def overview() -> Response:
        application = require_reader(verifier).application
        return json_response(service.health_overview(application, read_query(DaysQuery)))

    def estimate(name: str, ending: str = "") -> Response:
        application = require_reader(verifier).application
        query, lists = read_query(EstimateQuery), read_lists(settings)
        return answered(
            lambda: service.validity(application, name, query, lists),
            lambda: service.estimate(application, name, query, lists),
            ending,
        )

    def health(name: str, ending: str = "") -> Response:
        application = require_reader(verifier).application
        query = read_query(DaysQuery)
        return answered(
            lambda: service.validity(application, name, query),
            lambda: service.health(application, name, query),
            ending,
        )

    routes.add_url_rule("/v1/metrics", view_func=metrics)
    routes.add_url_rule("/v1/metrics/<name>", view_func=metric)
    routes.add_url_rule("/v1/health", view_func=overview)
    for end in ("", ".<ending>"):
        path = f"/v1/metrics/<name>/estimate{end}"
        routes.add_url_rule(path, view_func=estimate, methods=["GET", "POST"])
        routes.add_url_rule(f"/v1/metrics/<name>/health{end}", view_func=health)
    return routes
