"""Keys: bearer tokens with a scope, for one application.

A token reads ``deniable_<scope>_<id>_<secret>``: the prefix lets secret scanners find it, the id
names it in lists. The store holds its SHA-256, which is enough for a secret of 256 random bits.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

from deniable_aggregator.store import Store, StoredKey
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

Scope = Literal["write", "read", "admin"]

SCOPES: Final[tuple[str, ...]] = get_args(Scope)
ID_BYTES: Final = 6
SECRET_BYTES: Final = 32
MAX_LABEL: Final = 200
CACHE_SECONDS: Final = 2.0
"""A verified key is believed for this long: a revocation takes effect within two seconds."""

CACHED_KEYS: Final = 1_000

_TOKEN: Final = re.compile(
    rf"deniable_({'|'.join(SCOPES)})_([0-9a-f]{{{2 * ID_BYTES}}})_([A-Za-z0-9_-]{{43}})"
)
_APPLICATION: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Key(NamedTuple):
    """What a valid token allows."""

    id: str
    scope: str
    application: str


def create(store: Store, *, scope: str, application: str, label: str, today: int) -> str:
    """Makes a key.

    Args:
        store: where its hash is kept.
        scope: ``write`` for devices and relays, ``read`` for analysts, ``admin`` for registering
            metrics, and reading.
        application: the application's name in its registry.
        label: a note for the list; at most 200 characters.
        today: days since 1970-01-01.

    Returns:
        The token. It is not stored: this is the only time that anyone sees it.

    Raises:
        ParameterError: if an argument breaks its constraint.
        StoreUnavailableError: if the store cannot be written.
    """
    if scope not in SCOPES:
        raise ParameterError("scope", f"one of {', '.join(SCOPES)}", scope)
    if not _APPLICATION.fullmatch(application):
        raise ParameterError("application", f"matching {_APPLICATION.pattern}", application)
    if not len(label) <= MAX_LABEL:
        raise ParameterError("label", f"at most {MAX_LABEL} characters", label)
    key_id = secrets.token_hex(ID_BYTES)
    token = f"deniable_{scope}_{key_id}_{secrets.token_urlsafe(SECRET_BYTES)}"
    store.keys.add(StoredKey(key_id, _hash(token), scope, application, label, today, None))
    return token


class Keyring:
    """Verifies tokens; remembers the valid ones for two seconds, so that ingest reads no store.

    Args:
        store: where the hashes are kept.
        monotonic: a clock in seconds.
    """

    def __init__(self, store: Store, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._monotonic = monotonic
        # By hash, so that the process does not keep tokens. A lookup compares digests of what was
        # presented, whose timing says nothing about a token.
        self._valid: dict[bytes, tuple[Key, float]] = {}

    def verify(self, token: str) -> Key | None:
        """The key of a token, or None if there is no such key or it was revoked.

        Raises:
            StoreUnavailableError: if the key is not remembered and the store cannot be read.
        """
        presented = _hash(token)
        now = self._monotonic()
        remembered = self._valid.get(presented)
        if remembered is not None and now < remembered[1]:
            return remembered[0]
        form = _TOKEN.fullmatch(token)
        stored = None if form is None else self._store.keys.find(form[2])
        if stored is None or not hmac.compare_digest(stored.hash, presented):
            return None
        if stored.revoked is not None:
            self._valid.pop(presented, None)
            return None
        key = Key(stored.id, stored.scope, stored.application)
        if len(self._valid) >= CACHED_KEYS:
            self._valid.clear()
        self._valid[presented] = (key, now + CACHE_SECONDS)
        return key


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
