"""Serves and publishes remote configurations, which their owners sign elsewhere.

The server has neither the private nor the public key: devices verify the signature. So whoever
controls the server can withhold a configuration, but cannot make one.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from flask import Response, request

from deniable_aggregator.answers.administration import Published, SignedDocument
from deniable_aggregator.answers.words import SCOPES
from deniable_aggregator.audit import AuditAction, AuditRecord
from deniable_aggregator.http.json import MEDIA_TYPE, json_response
from deniable_aggregator.http.operation import ADMIN, Body, Operation, Operations
from deniable_aggregator.http.problems import ProblemError
from deniable_shared.errors import ParameterError
from deniable_shared.remote import MAX_DOCUMENT_BYTES, PATH, RemoteConfiguration, parse, unseal

if TYPE_CHECKING:
    from deniable_aggregator.parts import Parts
    from deniable_aggregator.security.keys import Key


_HAND_OUT: Final = Operation(
    "GET",
    PATH,
    "remoteConfiguration",
    "The signed remote configuration of the application.",
    SignedDocument,
    scopes=SCOPES,
    problems=("not_found",),
)
_PUBLISH: Final = Operation(
    "PUT",
    PATH,
    "publishRemoteConfiguration",
    "Publishes a signed remote configuration.",
    Published,
    scopes=ADMIN,
    body=Body(SignedDocument),
    problems=("remote_refused",),
)


def blueprint(parts: Parts) -> Operations:
    """The routes."""
    routes, store = Operations("remote", parts.verifier), parts.store

    def hand_out(key: Key) -> Response:
        document = store.remote.find(key.application)
        if document is None:
            raise ProblemError(
                "not_found",
                "No remote configuration is published; deniable remote publish does that.",
            )
        return Response(document, content_type=MEDIA_TYPE)

    def publish(key: Key) -> Response:
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
        record = AuditRecord(parts.today, key.id, AuditAction.REMOTE_PUBLISH, details)
        store.remote.replace(key.application, document.decode(), check, record)
        return json_response(Published(configuration.application, configuration.serial))

    routes.add(_HAND_OUT, hand_out)
    routes.add(_PUBLISH, publish)
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
