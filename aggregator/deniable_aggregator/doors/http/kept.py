"""The operations on what people keep beside reports: lists of values, views, and annotations."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

from flask import Response

from deniable_aggregator.answering.answers import no_such_list
from deniable_aggregator.answering.requests import ProblemError, read_body
from deniable_aggregator.answering.responses import json_response
from deniable_aggregator.answers.administration import Annotate, Annotation, SavedListHead, SaveList
from deniable_aggregator.answers.views import SavedView, SaveView
from deniable_aggregator.doors.http.operation import ADMIN, READ, Body, operation
from deniable_aggregator.keeping.lists_and_annotations import NoSuchListError, NotAnnotatedError
from deniable_aggregator.keeping.views import NoSuchViewError
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_aggregator.keeping.keys import Key
    from deniable_aggregator.keeping.parts import Parts

MAX_REQUEST_BYTES: Final = 16 << 10

_LIST: Final = 'Send JSON: {"values": ["...", ...]}.'
_PLACE: Final = 'Send JSON: {"place": "/metric/theme?period=4-weeks"}.'
_TEXT: Final = 'Send JSON: {"text": "Version 3.2"}.'


@operation("PUT", "/v1/lists/<name>", SavedListHead, scopes=READ, body=Body(SaveList))
def save_list(parts: Parts, key: Key, name: str) -> Response:
    """Saves a list of values, in place of one of the same name."""
    limit = parts.settings.max_body_bytes
    sent = read_body(SaveList, _LIST, limit, code="malformed_request")
    try:
        saved = parts.lists.save(
            key.application, name, sent.values, today=parts.today, actor=key.id
        )
    except ParameterError as error:
        raise malformed(error) from None
    return json_response(saved)


@operation("DELETE", "/v1/lists/<name>", scopes=READ, status=204)
def delete_list(parts: Parts, key: Key, name: str) -> Response:
    """Deletes a list of values."""
    try:
        parts.lists.delete(key.application, name, today=parts.today, actor=key.id)
    except NoSuchListError:
        raise no_such_list(name) from None
    return Response(status=204)


@operation("PUT", "/v1/views/<name>", SavedView, scopes=READ, body=Body(SaveView))
def save_view(parts: Parts, key: Key, name: str) -> Response:
    """Saves the page of a metric as a view, in place of one of the same name."""
    sent = read_body(SaveView, _PLACE, MAX_REQUEST_BYTES, code="malformed_request")
    try:
        saved = parts.views.save(key.application, name, sent.place, today=parts.today, actor=key.id)
    except ParameterError as error:
        raise malformed(error) from None
    return json_response(saved)


@operation("DELETE", "/v1/views/<name>", scopes=READ, status=204)
def delete_view(parts: Parts, key: Key, name: str) -> Response:
    """Deletes a saved view."""
    try:
        parts.views.delete(key.application, name, today=parts.today, actor=key.id)
    except NoSuchViewError:
        detail = visible(f"There is no saved view {name[:100]!r}. GET /v1/views lists them.")
        raise ProblemError("not_found", detail) from None
    return Response(status=204)


@operation("PUT", "/v1/annotations/<day>", Annotation, scopes=ADMIN, body=Body(Annotate))
def annotate(parts: Parts, key: Key, day: str) -> Response:
    """Says what happened on a day, in place of what was said of it."""
    sent = read_body(Annotate, _TEXT, MAX_REQUEST_BYTES, code="malformed_request")
    try:
        written = parts.annotations.write(
            key.application, _day(day), sent.text, today=parts.today, actor=key.id
        )
    except ParameterError as error:
        raise malformed(error) from None
    return json_response(written)


@operation("DELETE", "/v1/annotations/<day>", scopes=ADMIN, status=204)
def remove_annotation(parts: Parts, key: Key, day: str) -> Response:
    """Says nothing of a day any more."""
    try:
        parts.annotations.delete(key.application, _day(day), today=parts.today, actor=key.id)
    except NotAnnotatedError:
        detail = f"Nothing is said of {day}. GET /v1/annotations lists what is."
        raise ProblemError("not_found", detail) from None
    return Response(status=204)


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


def malformed(error: ParameterError) -> ProblemError:
    """The problem of a request that breaks a constraint."""
    return ProblemError("malformed_request", visible(f"{error}."))


KEPT: Final = (save_list, delete_list, save_view, delete_view, annotate, remove_annotation)
"""All of them."""
