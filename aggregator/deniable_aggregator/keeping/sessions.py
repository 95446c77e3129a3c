"""Sessions: who is signed in to pages, for eight hours at most.

A browser holds a cookie: 32 random bytes and the second at which it ends. The store holds its
SHA-256, the ids of the keys that the session was opened with, and a day. So nobody can alter a
cookie, and whoever has the store or a backup cannot make one.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.keeping.audit import AuditAction, AuditRecord
from deniable_aggregator.keeping.keys import Key, KnownNames
from deniable_aggregator.keeping.store import Store, StoredSession
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.keeping.key_verifier import KeyVerifier

SESSION_SECONDS: Final = 8 * 3_600
SECRET_BYTES: Final = 32
MOST_APPLICATIONS: Final = 32
"""Whoever signs in to more is signed out of the one that was signed in to first."""

CACHE_SECONDS: Final = 2.0
CACHED_SESSIONS: Final = 1_000
_COOKIE: Final = re.compile(r"[A-Za-z0-9_-]{43}\.([0-9]{1,12})", re.ASCII)
_FORMS: Final = b"forms of this session"


class Session(NamedTuple):
    """What a valid cookie allows.

    Attributes:
        keys: valid keys, the newest first, one for each application.
        form_token: in hexadecimal; every form that changes something carries it masked, so that no
            other site can send it.
    """

    keys: tuple[Key, ...]
    form_token: str


class SessionKeeper:
    """Begins, verifies and ends sessions, with a cache of two seconds.

    Args:
        store: holds the hashes of cookies.
        verifier: knows which keys are valid.
        clock: seconds since 1970.
        monotonic: a clock in seconds.
    """

    def __init__(
        self,
        store: Store,
        verifier: KeyVerifier,
        clock: Callable[[], float],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._verifier = verifier
        self._clock = clock
        self._monotonic = monotonic
        self._hashes = KnownNames(lambda: store.sessions.hashes(), monotonic)
        self._key_ids: dict[bytes, tuple[tuple[str, ...], float]] = {}

    def verify(self, cookie: str) -> Session | None:
        """The session of a cookie; None if it has ended, or none of its keys is valid any more.

        Raises:
            StoreUnavailableError: if it is not cached and the store cannot be read.
        """
        form = _COOKIE.fullmatch(cookie)
        if form is None or not self._clock() < int(form[1]):
            return None
        keys_found = (self._verifier.find(key_id) for key_id in self._keys_of(_hash(cookie)))
        keys = tuple(key for key in keys_found if key is not None)
        return Session(keys, _form_token(cookie)) if keys else None

    def begin(self, key: Key, cookie: str = "") -> str:
        """Begins a session, and records that in the audit log.

        Args:
            key: a valid key that may read.
            cookie: of a session that ends with this one, which then has its keys as well, but for
                those of the same application.

        Returns:
            The new cookie, which nothing keeps.

        Raises:
            StoreUnavailableError: if the store cannot be written.
        """
        now = self._clock()
        before = self.verify(cookie)
        other_ids = [
            earlier.id
            for earlier in (() if before is None else before.keys)
            if earlier.application != key.application
        ]
        ends = int(now) + SESSION_SECONDS
        begun = f"{secrets.token_urlsafe(SECRET_BYTES)}.{ends}"
        key_ids = (key.id, *other_ids)[:MOST_APPLICATIONS]
        session = StoredSession(_hash(begun), key_ids, epoch_at(float(ends)))
        replaced = None if before is None else _hash(cookie)
        record = _record(AuditAction.PAGE_SIGN_IN, key, epoch_at(now))
        self._store.sessions.add(session, record, replaced=replaced)
        self._hashes.learn(session.hash)
        if replaced is not None:
            self._key_ids.pop(replaced, None)
        return begun

    def end(self, cookie: str) -> None:
        """Ends a session for good, and records that in the audit log.

        Raises:
            StoreUnavailableError: if the store cannot be written.
        """
        session = self.verify(cookie)
        if session is not None:
            ended = _hash(cookie)
            record = _record(AuditAction.PAGE_SIGN_OUT, session.keys[0], epoch_at(self._clock()))
            self._store.sessions.end(ended, record)
            self._key_ids.pop(ended, None)

    def _keys_of(self, session_hash: bytes) -> tuple[str, ...]:
        """The ids of a session's keys as they were at most two seconds ago."""
        now = self._monotonic()
        cached = self._key_ids.get(session_hash)
        if cached is not None and now < cached[1]:
            return cached[0]
        session = (
            self._store.sessions.find(session_hash) if self._hashes.has(session_hash) else None
        )
        if session is None:
            self._key_ids.pop(session_hash, None)
            return ()
        if len(self._key_ids) >= CACHED_SESSIONS:
            self._key_ids.clear()
        self._key_ids[session_hash] = session.key_ids, now + CACHE_SECONDS
        return session.key_ids


def _hash(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("ascii")).digest()


def _form_token(cookie: str) -> str:
    return hmac.digest(cookie.encode("ascii"), _FORMS, "sha256").hex()


def _record(act: AuditAction, key: Key, today: int) -> AuditRecord:
    return AuditRecord(today, key.id, act, {"key": key.id, "application": key.application})
