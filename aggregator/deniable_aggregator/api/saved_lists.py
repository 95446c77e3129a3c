"""Operations on saved lists: saving and deleting one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from flask import Response

from deniable_aggregator.answers.saved_lists import SavedListHead, SaveList
from deniable_aggregator.api.answers import no_such_list
from deniable_aggregator.api.parameters import read_body
from deniable_aggregator.http.json import json_response
from deniable_aggregator.http.operation import READ, Body, Operation, Operations
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.saved_lists import NoSuchListError
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_aggregator.parts import Parts
    from deniable_aggregator.security.keys import Key

_WANTED: Final = 'Send JSON: {"values": ["...", ...]}.'
_SAVE: Final = Operation(
    "PUT",
    "/v1/lists/<name>",
    "saveList",
    "Saves a list of values, in place of one of the same name.",
    SavedListHead,
    scopes=READ,
    body=Body(SaveList),
)
_DELETE: Final = Operation(
    "DELETE",
    "/v1/lists/<name>",
    "deleteList",
    "Deletes a list of values.",
    scopes=READ,
    status=204,
)


def blueprint(parts: Parts) -> Operations:
    """The routes."""
    routes = Operations("saved lists", parts.verifier)
    keeper, limit = parts.lists, parts.settings.max_body_bytes

    def save(key: Key, name: str) -> Response:
        body = read_body(SaveList, _WANTED, limit, code="malformed_request")
        try:
            saved = keeper.save(key.application, name, body.values, today=parts.today, actor=key.id)
        except ParameterError as error:
            raise ProblemError("malformed_request", visible(f"{error}.")) from None
        return json_response(saved)

    def delete(key: Key, name: str) -> Response:
        try:
            keeper.delete(key.application, name, today=parts.today, actor=key.id)
        except NoSuchListError:
            raise no_such_list(name) from None
        return Response(status=204)

    routes.add(_SAVE, save)
    routes.add(_DELETE, delete)
    return routes
