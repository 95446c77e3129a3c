"""Routes of saved lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from flask import Blueprint, Response

from deniable_aggregator.answers.saved_lists import SaveList
from deniable_aggregator.api.parameters import read_body
from deniable_aggregator.http.authorization import require_reader
from deniable_aggregator.http.json import json_response
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.saved_lists import NoSuchListError
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.saved_lists import SavedListKeeper
    from deniable_aggregator.security.key_verifier import KeyVerifier

PATH: Final = "/v1/lists"
_WANTED: Final = 'Send JSON: {"values": ["...", ...]}.'


def blueprint(
    keeper: SavedListKeeper,
    verifier: KeyVerifier,
    settings: Settings,
    clock: Callable[[], float],
) -> Blueprint:
    """The routes."""
    routes = Blueprint("saved lists", __name__)

    def list_() -> Response:
        return json_response(keeper.all(require_reader(verifier).application))

    def find(name: str) -> Response:
        application = require_reader(verifier).application
        try:
            return json_response(keeper.find(application, name))
        except NoSuchListError:
            raise no_such_list(name) from None

    def save(name: str) -> Response:
        key = require_reader(verifier)
        body = read_body(SaveList, _WANTED, settings.max_body_bytes, code="malformed_request")
        try:
            saved = keeper.save(
                key.application, name, body.values, today=epoch_at(clock()), actor=key.id
            )
        except ParameterError as error:
            raise ProblemError("malformed_request", visible(f"{error}.")) from None
        return json_response(saved)

    def delete(name: str) -> Response:
        key = require_reader(verifier)
        try:
            keeper.delete(key.application, name, today=epoch_at(clock()), actor=key.id)
        except NoSuchListError:
            raise no_such_list(name) from None
        return Response(status=204)

    routes.add_url_rule(PATH, "list", list_)
    routes.add_url_rule(f"{PATH}/<name>", "find", find)
    routes.add_url_rule(f"{PATH}/<name>", "save", save, methods=["PUT"])
    routes.add_url_rule(f"{PATH}/<name>", "delete", delete, methods=["DELETE"])
    return routes


def no_such_list(name: str) -> ProblemError:
    """The problem of a list that is not there.

    Args:
        name: as it was asked for.
    """
    return ProblemError(
        "not_found", visible(f"There is no saved list {name[:100]!r}. GET {PATH} lists them.")
    )
