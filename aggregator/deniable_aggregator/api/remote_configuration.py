"""Serves and publishes remote configurations, which their owners sign elsewhere.

The server has neither the private nor the public key: devices verify the signature. So whoever
controls the server can withhold a configuration, but cannot make one.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from flask import Blueprint, Response, request

from deniable_aggregator.answers.administration import Published
from deniable_aggregator.answers.words import SCOPES
from deniable_aggregator.audit import AuditAction, AuditRecord
from deniable_aggregator.http.authorization import authenticate, require_admin
from deniable_aggregator.http.json import MEDIA_TYPE, json_response
from deniable_aggregator.http.problems import ProblemError
from deniable_shared.errors import ParameterError
from deniable_shared.periods import epoch_at
from deniable_shared.remote import MAX_DOCUMENT_BYTES, PATH, RemoteConfiguration, parse, unseal

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.security.key_verifier import KeyVerifier
    from deniable_aggregator.store import Store


def blueprint(store: Store, verifier: KeyVerifier, clock: Callable[[], float]) -> Blueprint:
    """The routes."""
    routes = Blueprint("remote", __name__)

    def hand_out() -> Response:
        key = authenticate(verifier, request.headers.get("Authorization", ""), *SCOPES)
        document = store.remote.find(key.application)
        if document is None:
            raise ProblemError(
                "not_found",
                "No remote configuration is published; deniable remote publish does that.",
            )
        return Response(document, content_type=MEDIA_TYPE)

    def publish() -> Response:
        key = require_admin(verifier)
        request.max_content_length = MAX_DOCUMENT_BYTES
        document = request.get_data(cache=False)
        configuration = _read(document)
        if configuration.application != key.application:
            raise ProblemError(
                "wrong_scope",
                f"This key is for {key.application}, the document for {configuration.application}.",
            )

        def check(published: str) -> None:
            serial = _read(published.encode()).serial
            if configuration.serial <= serial:
                raise ProblemError(
                    "remote_refused",
                    f"Sign it with a serial above {serial}: devices never go back.",
                )

        details = {
            "application": key.application,
            "serial": configuration.serial,
            "sha256": hashlib.sha256(document).hexdigest(),
        }
        record = AuditRecord(epoch_at(clock()), key.id, AuditAction.REMOTE_PUBLISH, details)
        store.remote.replace(key.application, document.decode(), check, record)
        return json_response(Published(configuration.application, configuration.serial))

    routes.add_url_rule(PATH, view_func=hand_out, methods=["GET"])
    routes.add_url_rule(PATH, view_func=publish, methods=["PUT"])
    return routes


def _read(document: bytes) -> RemoteConfiguration:
    """Parses a signed document, without verifying its signature: devices do that."""
    try:
        payload, _ = unseal(document)
        return parse(payload)
    except ParameterError as error:
        raise ProblemError(
            "remote_refused", f"{error}. deniable remote sign makes a document."
        ) from None
