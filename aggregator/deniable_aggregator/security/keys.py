"""Keys: bearer tokens with a scope, for one application.

A token reads ``deniable_<scope>_<id>_<secret>``: secret scanners find it by the prefix, and lists
show the id. The store holds its SHA-256, which is enough for a secret of 256 random bits.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Any, Final, NamedTuple

from deniable_aggregator.answers.administration import MAX_LABEL
from deniable_aggregator.answers.words import SCOPES
from deniable_aggregator.audit import COMMAND_LINE, AuditAction, AuditRecord
from deniable_aggregator.dates import format_day
from deniable_aggregator.store import Store, StoredKey
from deniable_shared.characters import NAME, visible_constraint
from deniable_shared.errors import DeniableError, ParameterError

ID_BYTES: Final = 6
SECRET_BYTES: Final = 32
MAX_DAYS: Final = 36_500
TOKEN_PATTERN: Final = re.compile(
    rf"deniable_({'|'.join(SCOPES)})_([0-9a-f]{{{2 * ID_BYTES}}})_([A-Za-z0-9_-]{{43}})"
)


class Key(NamedTuple):
    """What a valid token allows."""

    id: str
    scope: str
    application: str


class IssuedKey(NamedTuple):
    """A new key.

    Attributes:
        token: what its holder sends; nothing keeps it.
        key: what the store keeps.
    """

    token: str
    key: StoredKey


class ExpiredKeyError(DeniableError):
    """The key of a token has expired. Only somebody who has the token learns this.

    Attributes:
        expired: the last day on which it was valid, in days since 1970-01-01.
    """

    def __init__(self, expired: int) -> None:
        super().__init__(f"the key was valid until {format_day(expired)}")
        self.expired = expired


def issue_key(
    *, scope: str, application: str, label: str, today: int, expires: int | None = None
) -> IssuedKey:
    """Draws a key, without storing it.

    Args:
        scope: ``write`` for devices and relays, ``read`` for analysts, ``admin`` for registering
            metrics, administering the application's keys, and reading.
        label: a note for lists of keys; at most 200 characters, all of them visible.
        today: days since 1970-01-01.
        expires: the last day on which it is valid, from today to a century ahead; None for no end.

    Raises:
        ParameterError: if an argument breaks its constraint.
    """
    if scope not in SCOPES:
        raise ParameterError("scope", f"one of {', '.join(SCOPES)}", scope)
    if not re.fullmatch(NAME, application):
        raise ParameterError("application", f"matching {NAME}", application)
    if not len(label) <= MAX_LABEL:
        raise ParameterError("label", f"at most {MAX_LABEL} characters", label)
    if constraint := visible_constraint(label):
        raise ParameterError("label", constraint, label)
    if expires is not None and not today <= expires <= today + MAX_DAYS:
        constraint = f"between {format_day(today)} and {format_day(today + MAX_DAYS)}"
        raise ParameterError("expires", constraint, format_day(expires))
    key_id = secrets.token_hex(ID_BYTES)
    token = f"deniable_{scope}_{key_id}_{secrets.token_urlsafe(SECRET_BYTES)}"
    key = StoredKey(key_id, hash_token(token), scope, application, label, today, None, expires)
    return IssuedKey(token, key)


def create_key(store: Store, *, scope: str, application: str, label: str, today: int) -> str:
    """Makes and stores a key that never expires; see `issue_key` for the arguments.

    Returns:
        The token. It is not stored, so nobody can ever see it again.

    Raises:
        ParameterError: if an argument breaks its constraint.
        StoreUnavailableError: if the store cannot be written.
    """
    issued = issue_key(scope=scope, application=application, label=label, today=today)
    record = AuditRecord(today, COMMAND_LINE, AuditAction.KEY_CREATE, audit_details(issued.key))
    store.keys.add(issued.key, record)
    return issued.token


def audit_details(key: StoredKey) -> dict[str, Any]:
    """What the audit log says of a new key."""
    return {
        "key": key.id,
        "application": key.application,
        "scope": key.scope,
        "expires": None if key.expires is None else format_day(key.expires),
    }


def hash_token(token: str) -> bytes:
    """The SHA-256 of a token, which is what the store holds of it."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
