"""The document as a whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec
from flask import Response

from deniable_aggregator.answers.service import Problem
from deniable_aggregator.api.openapi.operation import refusal
from deniable_aggregator.api.openapi.operations import OPERATIONS
from deniable_aggregator.api.openapi.schemas import components
from deniable_aggregator.http.json import MEDIA_TYPE
from deniable_shared import __version__

if TYPE_CHECKING:
    from flask import Flask

PATH: Final = "/openapi.json"
VERSION: Final = "3.1.0"

_PARAMETER: Final = re.compile(r"<(?:[a-z]+(?:\([^)]*\))?:)?([a-z_]+)>")
_METHODS: Final = {"GET", "POST", "PUT", "DELETE", "PATCH"}


def document(app: Flask) -> dict[str, Any]:
    """The OpenAPI document of an application.

    Args:
        app: the application, with all its routes.

    Raises:
        KeyError: if a route is not described.
    """
    paths: dict[str, dict[str, Any]] = {}
    refusals: dict[str, dict[str, Any]] = {}
    kinds: list[Any] = [Problem]
    for method, path in sorted(routes(app), key=lambda each: (each[1], each[0])):
        operation = OPERATIONS[method, path]
        kinds += operation.kinds()
        paths.setdefault(path, {})[method.lower()] = operation.object()
        refusals |= {name: refusal(codes) for name, codes in operation.refusals().items()}
    return {
        "openapi": VERSION,
        "info": {
            "title": "Deniable aggregator",
            "version": __version__,
            "summary": "Takes noisy reports from devices, and answers what is common among them.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": components(kinds),
            "responses": dict(sorted(refusals.items())),
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A key of deniable keys create, for one application. Each "
                    "operation lists the scopes of which it needs one.",
                }
            },
        },
    }


_PAGES: Final = "pages"
"""The names of blueprints whose answers are for people begin so."""


def routes(app: Flask) -> set[tuple[str, str]]:
    """Every method and path that programs may ask, paths as OpenAPI writes them.

    Pages are for people, and are left out.
    """
    return {
        (method, _PARAMETER.sub(r"{\1}", rule.rule))
        for rule in app.url_map.iter_rules()
        if not rule.endpoint.startswith(_PAGES)
        for method in _METHODS & (rule.methods or set())
    }


def install(app: Flask) -> None:
    """Adds the route; to be called after all others."""
    made: list[bytes] = []

    def openapi() -> Response:
        if not made:
            made.append(msgspec.json.encode(document(app)))
        return Response(made[0], content_type=MEDIA_TYPE)

    app.add_url_rule(PATH, view_func=openapi)
