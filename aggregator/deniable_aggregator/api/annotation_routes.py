"""Routes of annotations: what happened on which day."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

from flask import Blueprint, Response

from deniable_aggregator.annotations import NotAnnotatedError
from deniable_aggregator.answers.annotations import Annotate
from deniable_aggregator.api.parameters import read_body
from deniable_aggregator.http.authorization import require_admin, require_reader
from deniable_aggregator.http.json import json_response
from deniable_aggregator.http.problems import ProblemError
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.annotations import AnnotationKeeper
    from deniable_aggregator.security.key_verifier import KeyVerifier

PATH: Final = "/v1/annotations"
MOST_BYTES: Final = 4_096
_WANTED: Final = 'Send JSON: {"text": "Version 3.2"}.'


def blueprint(
    keeper: AnnotationKeeper, verifier: KeyVerifier, clock: Callable[[], float]
) -> Blueprint:
    """The routes."""
    routes = Blueprint("annotations", __name__)

    def list_() -> Response:
        return json_response(keeper.all(require_reader(verifier).application))

    def write(day: str) -> Response:
        key = require_admin(verifier)
        body = read_body(Annotate, _WANTED, MOST_BYTES, code="malformed_request")
        today = epoch_at(clock())
        try:
            written = keeper.write(key.application, _day(day), body.text, today=today, actor=key.id)
        except ParameterError as error:
            raise ProblemError("malformed_request", visible(f"{error}.")) from None
        return json_response(written)

    def delete(day: str) -> Response:
        key = require_admin(verifier)
        today = epoch_at(clock())
        try:
            keeper.delete(key.application, _day(day), today=today, actor=key.id)
        except NotAnnotatedError:
            detail = f"Nothing is said of {day}. GET {PATH} lists what is."
            raise ProblemError("not_found", detail) from None
        return Response(status=204)

    routes.add_url_rule(PATH, "list", list_)
    routes.add_url_rule(f"{PATH}/<day>", "write", write, methods=["PUT"])
    routes.add_url_rule(f"{PATH}/<day>", "delete", delete, methods=["DELETE"])
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
