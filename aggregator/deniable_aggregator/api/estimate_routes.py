"""Routes: the registered metrics, how ingest does, and estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import Blueprint, request

from deniable_aggregator.api import parameters
from deniable_aggregator.estimation.options import ItemSelection
from deniable_aggregator.http.authorization import require_reader
from deniable_aggregator.http.problems import ProblemError

if TYPE_CHECKING:
    from deniable_aggregator.api.query_service import QueryService
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.security.key_verifier import KeyVerifier


def blueprint(reading: QueryService, verifier: KeyVerifier, settings: Settings) -> Blueprint:
    """The routes."""
    routes = Blueprint("reading", __name__)

    def metrics() -> dict[str, Any]:
        return reading.metrics(require_reader(verifier).application)

    def status() -> dict[str, Any]:
        return reading.status(require_reader(verifier).application)

    def estimate(name: str) -> dict[str, Any]:
        key = require_reader(verifier)
        parameters.reject_unknown_parameters(
            "since",
            "until",
            "top",
            "detected",
            "about",
            "interval",
            "correction",
            "postprocess",
            "reconstruction",
            "segment",
        )
        asked = (
            parameters.parse_item_selection(settings)
            if request.method == "POST"
            else ItemSelection()
        )
        since, until = parameters.day("since"), parameters.day("until")
        if since is not None and until is not None and since > until:
            raise ProblemError("malformed_question", f"since must not be after until, got {since}")
        return reading.estimate(
            key.application,
            name,
            since=since,
            until=until,
            asked=asked,
            options=parameters.options(),
            reconstruction=parameters.reconstruction(),
            segment=request.args.get("segment"),
        )

    routes.add_url_rule("/v1/metrics", view_func=metrics)
    routes.add_url_rule("/v1/status", view_func=status)
    path = "/v1/metrics/<name>/estimate"
    routes.add_url_rule(path, view_func=estimate, methods=["GET", "POST"])
    return routes
