"""Keys: their tokens and scopes, known names of them, and how many attempts are let through.

Keys: bearer tokens with a scope, for one application.

A token reads ``deniable_<scope>_<id>_<secret>``: secret scanners find it by the prefix, and lists
show the id. The store holds its SHA-256, which is enough for a secret of 256 random bits.

The names of rows that a table has, read again at most so often.

So a server knows a new row at once, and a flood of made-up names costs the store next to nothing.
"""

from __future__ import annotations

import hashlib
import math
import re
import secrets
import threading
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from deniable_aggregator.answers.administration import MAX_LABEL
from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.answers.words import SCOPES
from deniable_aggregator.keeping.audit import COMMAND_LINE, AuditAction, AuditRecord
from deniable_aggregator.keeping.store import Store, StoredKey
from deniable_shared.characters import NAME, visible_constraint
from deniable_shared.errors import DeniableError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


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
        scope: ``write`` for devices, ``batch`` for whoever brings many reports at once, ``relay``
            for whoever brings sealed uploads, ``read`` for analysts, ``admin`` for registering
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


class Budget:
    """How often something may still be done.

    Args:
        burst: how often at once.
        per_second: how often in the long run.
        monotonic: a clock in seconds.
    """

    def __init__(self, burst: int, per_second: float, monotonic: Callable[[], float]) -> None:
        self._burst = float(burst)
        self._per_second = per_second
        self._monotonic = monotonic
        self._left = float(burst)
        self._last = -math.inf

    def allows(self) -> bool:
        """Whether it may be done now."""
        return self._now(self._monotonic()) >= 1

    def spend(self) -> bool:
        """Whether one more action is allowed now; if so, it is counted."""
        now = self._monotonic()
        allowance = self._now(now)
        if allowance < 1:
            return False
        self._left, self._last = allowance - 1, now
        return True

    def _now(self, now: float) -> float:
        return min(self._burst, self._left + (now - self._last) * self._per_second)


READ_BURST: Final = 20
READS_PER_SECOND: Final = 10.0
"""A server that meets an unknown name reads all names, at most so often."""

Name = TypeVar("Name")


class KnownNames(Generic[Name]):
    """The names of all rows of a table, as far as they are known. Thread-safe.

    Args:
        read: reads all names from the store.
        monotonic: a clock in seconds.
    """

    def __init__(
        self, read: Callable[[], Collection[Name]], monotonic: Callable[[], float]
    ) -> None:
        self._read = read
        self._names: Collection[Name] = frozenset()
        self._budget = Budget(READ_BURST, READS_PER_SECOND, monotonic)
        self._lock = threading.Lock()

    def has(self, name: Name) -> bool:
        """Whether the table has a name. Asks the store about an unknown one, unless it just has.

        Raises:
            StoreUnavailableError: if the store cannot be read.
        """
        with self._lock:
            if name not in self._names and self._budget.allows():
                self._names = self._read()
                # Only a successful read counts, so that a failing store never makes a name look
                # unknown.
                self._budget.spend()
            return name in self._names

    def learn(self, name: Name) -> None:
        """Adds a name that the table has by now."""
        with self._lock:
            self._names = frozenset((*self._names, name))

    def surely_lacks(self, name: Name) -> bool:
        """Whether the table lacks a name, as far as that is known; never asks the store."""
        return name not in self._names and not self._budget.allows()
