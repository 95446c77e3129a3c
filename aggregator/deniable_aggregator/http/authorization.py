"""The bearer key of a request, and whether its scope allows the request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import request

from deniable_aggregator.dates import format_day
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.security.keys import ExpiredKeyError

if TYPE_CHECKING:
    from deniable_aggregator.security.key_verifier import KeyVerifier
    from deniable_aggregator.security.keys import Key


def authenticate(verifier: KeyVerifier, authorization: str, *scopes: str) -> Key:
    """Verifies the key of a request and its scope.

    Args:
        verifier: verifies tokens.
        authorization: the header of that name.
        scopes: what the key must allow: one of these.

    Raises:
        ProblemError: ``unknown_key``, ``expired_key`` or ``wrong_scope``.
    """
    kind, _, token = authorization.partition(" ")
    try:
        key = verifier.verify(token.strip()) if kind.lower() == "bearer" else None
    except ExpiredKeyError as error:
        raise ProblemError(
            "expired_key",
            f"It was valid until {format_day(error.expired)}. Use the key that took its place; "
            "deniable keys create makes one.",
            headers={"WWW-Authenticate": "Bearer"},
        ) from None
    if key is None:
        raise unknown_key()
    if key.scope not in scopes:
        raise ProblemError(
            "wrong_scope",
            f"This needs a key of scope {' or '.join(scopes)}; this one has scope {key.scope}. "
            f"This makes one: deniable keys create --scope {scopes[0]} --application "
            f"{key.application}",
        )
    return key


def unknown_key() -> ProblemError:
    """The problem of a request whose key is missing, unknown or revoked."""
    return ProblemError(
        "unknown_key",
        "Send Authorization: Bearer TOKEN with a key of this server that was not revoked; deniable "
        "keys create makes one.",
        headers={"WWW-Authenticate": "Bearer"},
    )


def require_reader(verifier: KeyVerifier) -> Key:
    """Verifies that the key of Flask's current request may read."""
    return authenticate(verifier, request.headers.get("Authorization", ""), "read", "admin")


def require_admin(verifier: KeyVerifier) -> Key:
    """Verifies that the key of Flask's current request may administer."""
    return authenticate(verifier, request.headers.get("Authorization", ""), "admin")
