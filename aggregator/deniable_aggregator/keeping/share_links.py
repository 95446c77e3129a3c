"""Share links: one view with fixed days, shown to whoever has the link, until a day.

A link has 32 random bytes, of which the store holds the SHA-256. So whoever has the store or a
backup cannot make its address. A link ends with the key that it was made with.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.answers.views import Place, read_place
from deniable_aggregator.keeping.audit import AuditAction, AuditRecord
from deniable_aggregator.keeping.keys import KnownNames
from deniable_aggregator.keeping.store import Store, StoredLink
from deniable_shared.errors import ParameterError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from deniable_aggregator.keeping.key_verifier import KeyVerifier
    from deniable_aggregator.keeping.keys import Key

SECRET_BYTES: Final = 32
ID_DIGITS: Final = 16
MOST_LINKS: Final = 100
"""Of an application."""

MOST_DAYS: Final = 90
"""So long a link works, at most."""

_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


class ShareLink(NamedTuple):
    """A link, without its secret.

    Attributes:
        id: names it in lists and in the audit log: digits of the hash of the secret.
        application: whose metric it shows.
        place: the page, with fixed days.
        key: the id of the key that it was made with.
        made: on which day.
        until: the last day on which it works.
    """

    id: str
    application: str
    place: Place
    key: str
    made: date
    until: date


class NoSuchLinkError(Exception):
    """There is no such link, or none that works: it has ended, was revoked, or its key was."""


class ShareLinkKeeper:
    """Makes, finds and revokes links.

    Args:
        store: holds the hashes of their secrets.
        verifier: knows which keys are valid.
        clock: seconds since 1970; only its day is used.
        allowed: whether any link works, and more may be made.
        monotonic: a clock in seconds.
    """

    def __init__(
        self,
        store: Store,
        verifier: KeyVerifier,
        clock: Callable[[], float],
        *,
        allowed: bool,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._verifier = verifier
        self._clock = clock
        self.allowed = allowed
        self._hashes = KnownNames(lambda: store.share_links.hashes(), monotonic)

    def find(self, secret: str) -> ShareLink:
        """The link with a secret.

        Raises:
            NoSuchLinkError: if none works.
            StoreUnavailableError: if the store cannot be read.
        """
        if not self.allowed or not _SECRET.fullmatch(secret):
            raise NoSuchLinkError
        link_hash = _hash(secret)
        link = self._store.share_links.find(link_hash) if self._hashes.has(link_hash) else None
        if link is None or link.until < epoch_at(self._clock()):
            raise NoSuchLinkError
        key = self._verifier.find(link.key)
        if key is None or key.application != link.application:
            raise NoSuchLinkError
        return _read(link)

    def all(self, application: str) -> list[ShareLink]:
        """The links of an application that have not ended, the newest first."""
        today = epoch_at(self._clock())
        found = self._store.share_links.all(application)
        return [_read(each) for each in found if each.until >= today]

    def make(self, key: Key, place: Place, days: int) -> str:
        """Makes a link, and records that in the audit log.

        Args:
            key: may read the application's metrics.
            place: the page, with fixed days.
            days: for how many days after today it works, 1 to 90.

        Returns:
            The secret, which nothing keeps.

        Raises:
            ParameterError: if links are not allowed, the number of days breaks its constraint, or
                there is no room for one more.
            StoreUnavailableError: if the store cannot be written.
        """
        if not self.allowed:
            raise ParameterError("share_links", "on, in the settings of the server", "off")
        if not 1 <= days <= MOST_DAYS:
            raise ParameterError("days", f"in [1, {MOST_DAYS}]", days)
        secret = secrets.token_urlsafe(SECRET_BYTES)
        today = epoch_at(self._clock())
        link = StoredLink(
            _hash(secret), key.application, place.address, key.id, today, today + days
        )

        def check(others: int) -> None:
            if others >= MOST_LINKS:
                raise ParameterError("links", f"at most {MOST_LINKS}; revoke one first", others + 1)

        details = {
            "application": key.application,
            "link": _id(link.hash),
            "metric": place.metric,
            "until": str(day_of(link.until)),
        }
        record = AuditRecord(today, key.id, AuditAction.LINK_CREATE, details)
        self._store.share_links.add(link, check, record)
        self._hashes.learn(link.hash)
        return secret

    def revoke(self, application: str, link_id: str, *, actor: str) -> None:
        """Ends a link at once; one that is not there has ended already.

        Args:
            application: whose link.
            link_id: names it.
            actor: the id of the key that revokes it.
        """
        today = epoch_at(self._clock())
        details = {"application": application, "link": link_id}
        record = AuditRecord(today, actor, AuditAction.LINK_REVOKE, details)
        for link in self._store.share_links.all(application):
            if _id(link.hash) == link_id:
                self._store.share_links.end(link.hash, record)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("ascii")).digest()


def _id(link_hash: bytes) -> str:
    return link_hash.hex()[:ID_DIGITS]


def _read(link: StoredLink) -> ShareLink:
    return ShareLink(
        _id(link.hash),
        link.application,
        read_place(link.place),
        link.key,
        day_of(link.made),
        day_of(link.until),
    )
