"""The route of the registry's history: every version that was registered, in a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from flask import Blueprint

from deniable_aggregator.http.authorization import require_reader
from deniable_aggregator.http.json import json_response

if TYPE_CHECKING:
    from flask import Response

    from deniable_aggregator.security.key_verifier import KeyVerifier
    from deniable_aggregator.store import Store

PATH: Final = "/v1/registry-history"


def blueprint(store: Store, verifier: KeyVerifier) -> Blueprint:
    """The route."""
    routes = Blueprint("registry_history", __name__)

    def history() -> Response:
        return json_response(store.metrics.history(require_reader(verifier).application))

    routes.add_url_rule(PATH, "history", history)
    return routes
