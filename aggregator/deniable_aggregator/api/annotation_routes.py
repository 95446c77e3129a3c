"""Operations on annotations: saying what happened on a day, and taking it back."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

from flask import Response

from deniable_aggregator.annotations import NotAnnotatedError
from deniable_aggregator.answers.annotations import Annotate, Annotation
from deniable_aggregator.api.parameters import read_body
from deniable_aggregator.http.json import json_response
from deniable_aggregator.http.operation import ADMIN, Body, Operation, Operations
from deniable_aggregator.http.problems import ProblemError
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_aggregator.parts import Parts
    from deniable_aggregator.security.keys import Key

MOST_BYTES: Final = 4_096
_WANTED: Final = 'Send JSON: {"text": "Version 3.2"}.'
_WRITE: Final = Operation(
    "PUT",
    "/v1/annotations/<day>",
    "annotate",
    "Says what happened on a day, in place of what was said of it.",
    Annotation,
    scopes=ADMIN,
    body=Body(Annotate),
)
_DELETE: Final = Operation(
    "DELETE",
    "/v1/annotations/<day>",
    "removeAnnotation",
    "Says nothing of a day any more.",
    scopes=ADMIN,
    status=204,
)


def blueprint(parts: Parts) -> Operations:
    """The routes."""
    routes = Operations("annotations", parts.verifier)
    keeper = parts.annotations

    def write(key: Key, day: str) -> Response:
        body = read_body(Annotate, _WANTED, MOST_BYTES, code="malformed_request")
        try:
            written = keeper.write(
                key.application, _day(day), body.text, today=parts.today, actor=key.id
            )
        except ParameterError as error:
            raise ProblemError("malformed_request", visible(f"{error}.")) from None
        return json_response(written)

    def delete(key: Key, day: str) -> Response:
        try:
            keeper.delete(key.application, _day(day), today=parts.today, actor=key.id)
        except NotAnnotatedError:
            detail = f"Nothing is said of {day}. GET /v1/annotations lists what is."
            raise ProblemError("not_found", detail) from None
        return Response(status=204)

    routes.add(_WRITE, write)
    routes.add(_DELETE, delete)
    return routes


def _day(text: str) -> date:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.isoformat() != text:
        raise ProblemError(
            "malformed_request",
            visible(f"day must be a day such as 2026-01-31, got {text[:100]!r}."),
        )
    return found
