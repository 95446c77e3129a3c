"""The document as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from flask import Response

from deniable_aggregator.answers.service import Problem
from deniable_aggregator.api.openapi.operation import (
    kinds_of,
    object_of,
    path_of,
    refusal,
    refusals_of,
)
from deniable_aggregator.api.openapi.schemas import components
from deniable_aggregator.http.json import MEDIA_TYPE
from deniable_aggregator.http.operation import Operation, describe, operations_of
from deniable_shared import __version__

if TYPE_CHECKING:
    from flask import Flask

PATH: Final = "/openapi.json"
VERSION: Final = "3.1.0"


def document(app: Flask) -> dict[str, Any]:
    """The OpenAPI document of an application.

    Args:
        app: the application, with all its routes.
    """
    paths: dict[str, dict[str, Any]] = {}
    refusals: dict[str, dict[str, Any]] = {}
    kinds: list[Any] = [Problem]
    for operation in sorted(operations_of(app), key=lambda each: (path_of(each), each.method)):
        kinds += kinds_of(operation)
        described = paths.setdefault(path_of(operation), {})
        described[operation.method.lower()] = object_of(operation)
        refusals |= {name: refusal(codes) for name, codes in refusals_of(operation).items()}
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


def install(app: Flask) -> None:
    """Adds the route; to be called after all others."""
    made: list[bytes] = []

    def openapi() -> Response:
        if not made:
            made.append(msgspec.json.encode(document(app)))
        return Response(made[0], content_type=MEDIA_TYPE)

    app.add_url_rule(PATH, view_func=openapi)
    describe(app, Operation("GET", PATH, "openapi", "This document.", dict[str, Any]))
