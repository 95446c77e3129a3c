"""``/v1/metrics/NAME/health``: do these reports look like those of devices?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import Blueprint

from deniable_aggregator.api import parameters
from deniable_aggregator.api.parameters import FIRST_DAY
from deniable_aggregator.api.query_service import LAST_DAY
from deniable_aggregator.http.authorization import require_reader
from deniable_aggregator.http.problems import ProblemError

if TYPE_CHECKING:
    from deniable_aggregator.api.query_service import QueryService
    from deniable_aggregator.security.key_verifier import KeyVerifier


def blueprint(reading: QueryService, verifier: KeyVerifier) -> Blueprint:
    """The route."""
    routes = Blueprint("poisoning", __name__)

    def health(name: str) -> dict[str, Any]:
        key = require_reader(verifier)
        parameters.reject_unknown_parameters("since", "until")
        since, until = parameters.day("since"), parameters.day("until")
        if since is not None and until is not None and since > until:
            raise ProblemError("malformed_question", f"since must not be after until, got {since}")
        return {
            "application": key.application,
            "metric": name,
            "since": None if since is None else since.isoformat(),
            "until": None if until is None else until.isoformat(),
            **reading.health(key.application, name, since or FIRST_DAY, until or LAST_DAY),
        }

    routes.add_url_rule("/v1/metrics/<name>/health", view_func=health)
    return routes
