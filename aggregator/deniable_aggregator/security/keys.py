"""Keys: bearer tokens with a scope, for one application.

A token reads ``deniable_<scope>_<id>_<secret>``: the prefix lets secret scanners find it, the id
names it in lists. The store holds its SHA-256, which is enough for a secret of 256 random bits.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
import threading
import time
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from deniable_aggregator.audit import COMMAND_LINE, AuditAction, AuditRecord
from deniable_aggregator.dates import format_day
from deniable_aggregator.store import Store, StoredKey
from deniable_shared.errors import DeniableError, ParameterError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

Scope = Literal["write", "read", "admin"]

SCOPES: Final[tuple[str, ...]] = get_args(Scope)
ID_BYTES: Final = 6
SECRET_BYTES: Final = 32
MAX_LABEL: Final = 200
MAX_DAYS: Final = 36_500
CACHE_SECONDS: Final = 2.0
"""A verified key is believed for this long: a revocation takes effect within two seconds."""

CACHED_KEYS: Final = 1_000
LOOKUP_BURST: Final = 20
LOOKUPS_PER_SECOND: Final = 10.0
"""An id that is new to a server makes it read those of all keys, so often at most: a flood of
made-up tokens costs the store next to nothing, and a key that was just made is known at once."""

_TOKEN: Final = re.compile(
    rf"deniable_({'|'.join(SCOPES)})_([0-9a-f]{{{2 * ID_BYTES}}})_([A-Za-z0-9_-]{{43}})"
)
_APPLICATION: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Key(NamedTuple):
    """What a valid token allows."""

    id: str
    scope: str
    application: str


class IssuedKey(NamedTuple):
    """A new key.

    Attributes:
        token: what its holder sends; it is kept nowhere.
        key: what the store keeps.
    """

    token: str
    key: StoredKey


class ExpiredKeyError(DeniableError):
    """A token is that of a key whose time is up; only who has the token gets to know this.

    Attributes:
        expired: the last day on which it was valid, in days since 1970-01-01.
    """

    def __init__(self, expired: int) -> None:
        super().__init__(f"the key was valid until {format_day(expired)}")
        self.expired = expired


def issue_key(
    *, scope: str, application: str, label: str, today: int, expires: int | None = None
) -> IssuedKey:
    """Draws a key; nothing is stored.

    Args:
        scope: ``write`` for devices and relays, ``read`` for analysts, ``admin`` for registering
            metrics, administering the application's keys, and reading.
        application: the application's name in its registry.
        label: a note for the list; at most 200 printable characters.
        today: days since 1970-01-01.
        expires: the last day on which it is valid, today or within a century; None for no end.

    Raises:
        ParameterError: if an argument breaks its constraint.
    """
    if scope not in SCOPES:
        raise ParameterError("scope", f"one of {', '.join(SCOPES)}", scope)
    if not _APPLICATION.fullmatch(application):
        raise ParameterError("application", f"matching {_APPLICATION.pattern}", application)
    if not (len(label) <= MAX_LABEL and label.isprintable()):
        raise ParameterError("label", f"at most {MAX_LABEL} printable characters", label)
    if expires is not None and not today <= expires <= today + MAX_DAYS:
        constraint = f"between {format_day(today)} and {format_day(today + MAX_DAYS)}"
        raise ParameterError("expires", constraint, format_day(expires))
    key_id = secrets.token_hex(ID_BYTES)
    token = f"deniable_{scope}_{key_id}_{secrets.token_urlsafe(SECRET_BYTES)}"
    key = StoredKey(key_id, _hash(token), scope, application, label, today, None, expires)
    return IssuedKey(token, key)


def create_key(store: Store, *, scope: str, application: str, label: str, today: int) -> str:
    """Makes a key that never expires; see `issue_key` for the arguments.

    Returns:
        The token. It is not stored: this is the only time that anyone sees it.

    Raises:
        ParameterError: if an argument breaks its constraint.
        StoreUnavailableError: if the store cannot be written.
    """
    issued = issue_key(scope=scope, application=application, label=label, today=today)
    record = AuditRecord(today, COMMAND_LINE, AuditAction.KEY_CREATE, audit_details(issued.key))
    store.keys.add(issued.key, record)
    return issued.token


def audit_details(key: StoredKey) -> dict[str, Any]:
    """What the audit log says of a key that is made."""
    return {
        "key": key.id,
        "application": key.application,
        "scope": key.scope,
        "expires": None if key.expires is None else format_day(key.expires),
    }


class KeyVerifier:
    """Verifies tokens; remembers keys for two seconds, so that ingest reads no store.

    Args:
        store: where the hashes are kept.
        monotonic: a clock in seconds.
        clock: seconds since 1970; only its day is used.
    """

    def __init__(
        self,
        store: Store,
        monotonic: Callable[[], float] = time.monotonic,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._monotonic = monotonic
        self._clock = clock
        # By hash, so that the process does not keep tokens. A lookup compares digests of what was
        # presented, whose timing says nothing about a token.
        self._valid: dict[bytes, tuple[Key, float]] = {}
        self._stored: dict[str, tuple[StoredKey, float]] = {}
        self._ids: Collection[str] = frozenset()
        self._lookup_budget = float(LOOKUP_BURST)
        self._last_lookup = -math.inf
        self._lookup_lock = threading.Lock()
        self._lock = threading.Lock()
        self._used: dict[str, int] = {}

    def cached(self, token: str) -> Key | None:
        """The key of a token that was verified a moment ago; never asks the store."""
        found = self._valid.get(_hash(token))
        return found[0] if found is not None and self._monotonic() < found[1] else None

    def is_surely_unknown(self, token: str) -> bool:
        """Whether a token is known to be none; never asks the store."""
        form = _TOKEN.fullmatch(token)
        if form is None:
            return True
        return form[2] not in self._ids and self._lookups_left(self._monotonic()) < 1

    def verify(self, token: str) -> Key | None:
        """The key of a token, or None if there is no such key or it was revoked.

        Raises:
            ExpiredKeyError: if its time is up.
            StoreUnavailableError: if the key is not remembered and the store cannot be read.
        """
        presented = _hash(token)
        now = self._monotonic()
        remembered = self._valid.get(presented)
        if remembered is not None and now < remembered[1]:
            return remembered[0]
        form = _TOKEN.fullmatch(token)
        found = None if form is None else self._find_stored(form[2], now)
        if found is None or not hmac.compare_digest(found[0].hash, presented):
            return None
        stored, until = found
        self._valid.pop(presented, None)
        if stored.revoked is not None:
            return None
        today = epoch_at(self._clock())
        if stored.expires is not None and stored.expires < today:
            raise ExpiredKeyError(stored.expires)
        if stored.last_used is None or stored.last_used < today:
            with self._lock:
                self._used[stored.id] = today
        key = Key(stored.id, stored.scope, stored.application)
        if len(self._valid) >= CACHED_KEYS:
            self._valid.clear()
        self._valid[presented] = (key, until)
        return key

    def _find_stored(self, key_id: str, now: float) -> tuple[StoredKey, float] | None:
        """A key as it was at most two seconds ago, and until when that is believed."""
        found = self._stored.get(key_id)
        if found is not None and now < found[1]:
            return found
        with self._lookup_lock:
            if key_id not in self._ids and (looks := self._lookups_left(now)) >= 1:
                self._ids = self._store.keys.ids()
                # Only now: a store that cannot be read makes no token one that is known to be none.
                self._lookup_budget, self._last_lookup = looks - 1, now
        stored = self._store.keys.find(key_id) if key_id in self._ids else None
        if stored is None:
            return None
        if len(self._stored) >= CACHED_KEYS:
            self._stored.clear()
        self._stored[key_id] = stored, now + CACHE_SECONDS
        return stored, now + CACHE_SECONDS

    def _lookups_left(self, now: float) -> float:
        """How often the ids of all keys may be read now."""
        return min(
            LOOKUP_BURST, self._lookup_budget + (now - self._last_lookup) * LOOKUPS_PER_SECOND
        )

    def write_last_used(self) -> None:
        """Writes down which keys were used, by the day: once a day for each, away from requests.

        Raises:
            StoreUnavailableError: if the store cannot be written; nothing is forgotten.
        """
        with self._lock:
            used = dict(self._used)
        for today in set(used.values()):
            ids = [key_id for key_id, when in used.items() if when == today]
            self._store.keys.mark_used(ids, today)
        with self._lock:
            for key_id, when in used.items():
                if self._used.get(key_id) == when:
                    del self._used[key_id]


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
