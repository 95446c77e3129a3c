"""What SQLite and PostgreSQL both offer the store: one interface, names of stores, and errors.

Errors of a store.

StoreError (DeniableError)
├── StoreRefusedError       this version cannot work with what the path or database holds
└── StoreUnavailableError   the store cannot be read or written now: full disk, lock, outage
    ├── InUseError          another process does what one at a time may do
    ├── OpenElsewhereError  another program has the store open
    └── StoreMovedError     the store's file was deleted, moved or replaced while it was open
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from sqlalchemy import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError

from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager


class StoreError(DeniableError):
    """The root of all errors of a store. No message quotes anything that was stored."""


class StoreRefusedError(StoreError):
    """This version cannot work with what the path or database holds."""


class StoreUnavailableError(StoreError):
    """The store cannot be read or written now; nothing of the failed step was stored."""


class InUseError(StoreUnavailableError):
    """Another process does what only one at a time may do."""

    def __init__(self, purpose: str) -> None:
        super().__init__(f"another process is at it: {purpose}")


class BeingReadError(StoreUnavailableError):
    """Deleted bytes stay in the log while somebody reads; it is enough to try again later."""

    def __init__(self) -> None:
        super().__init__("deleted ids stay in the log while somebody reads")


class StoreMovedError(StoreUnavailableError):
    """Writes would be lost with the process. The message names no path, as /readyz shows it."""

    def __init__(self) -> None:
        super().__init__("the store's file was moved or replaced")


class OpenElsewhereError(StoreUnavailableError):
    """Another program has the store open, and would read and write it as its own version does."""

    def __init__(self) -> None:
        super().__init__("another program has the store open: stop all of its servers and commands")


CHUNK_ROWS: Final = 1_000
"""So many ids go into one statement."""


Item = TypeVar("Item")


def in_chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Ids of rows, in chunks of at most `CHUNK_ROWS`."""
    for start in range(0, len(items), CHUNK_ROWS):
        yield items[start : start + CHUNK_ROWS]


SCHEMES: Final = ("postgresql://", "postgres://", "postgresql+psycopg://")
DRIVER: Final = "postgresql+psycopg"
SECRETS: Final = ("password", "sslpassword")


def is_url(target: object) -> bool:
    """Whether a store's name is the URL of a PostgreSQL database."""
    return isinstance(target, str) and target.startswith(SCHEMES)


def parse_url(url: str) -> URL:
    """Splits a URL into its parts.

    Raises:
        StoreRefusedError: if it is malformed; the message does not quote it.
    """
    try:
        parsed = make_url(url).set(drivername=DRIVER)
    except (ArgumentError, ValueError):
        raise StoreRefusedError(_FORM) from None
    if "@" in (parsed.host or ""):
        raise StoreRefusedError(_FORM)
    return parsed


_FORM: Final = (
    "the URL of a store must be postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with %40 for @ and "
    "%2F for / in a password"
)


def without_password(url: URL) -> str:
    """A URL without its passwords, for messages."""
    hidden = {name: "***" for name in SECRETS if name in url.query}
    printable = url.set(drivername="postgresql").update_query_dict(hidden)
    return printable.render_as_string(hide_password=True)


EPOCH_KEY_BYTES: Final = 32

Result = TypeVar("Result")

UploadName = tuple[int, bytes]
"""The epoch and the keyed hash by which an upload that is sent again is recognised."""


class InboxRow(NamedTuple):
    """One row of the inbox: reports of one spec, day and key from the uploads of one commit.

    Attributes:
        largest: the most bytes of the payload that came in one upload; 0 if that is not known.
    """

    id: int
    digest: bytes
    epoch: int
    key: str
    payload: bytes
    largest: int = 0


class WaitingRow(NamedTuple):
    """A row of the inbox as a fold reads it: of one commit, or the gathered reports of several.

    Attributes:
        largest: the most bytes of the payload that came in one upload; 0 if that is not known.
        gathered: the last day on which all reports were due when it was made; None for a row as a
            commit wrote it.
        is_full: 1 for a batch to which nothing is added any more, else 0.
    """

    id: int
    digest: bytes
    epoch: int
    key: str
    payload: bytes
    largest: int = 0
    gathered: int | None = None
    is_full: int = 0


class RelayGroup(NamedTuple):
    """Uploads that came through a relay and look alike to whoever opens them.

    Attributes:
        digest: of their version.
        epoch: their day, since 1970-01-01.
        key: the id of the write key inside.
        relay_key: the id of the key that they were sealed to.
        batch: with which they came, as the relay drew it.
    """

    digest: bytes
    epoch: int
    key: str
    relay_key: bytes
    batch: bytes


class IngestTransaction(ABC):
    """The steps of ingest within one transaction, each in the database's fastest way."""

    @abstractmethod
    def epoch_keys(self, days: Collection[int]) -> Mapping[int, bytes | None]:
        """The keys of epochs: made for new epochs, None for closed ones.

        Nobody else closes one of these epochs before the transaction ends.
        """

    @abstractmethod
    def remember_uploads(self, names: Sequence[UploadName]) -> set[UploadName]:
        """Remembers uploads, and returns those that were not remembered before.

        Args:
            names: distinct, at least one, in ascending order: two servers that remember the same
                uploads in different orders would deadlock.
        """

    @abstractmethod
    def append_rows(self, rows: Sequence[InboxRow]) -> None:
        """Adds rows to the inbox."""

    @abstractmethod
    def count_relayed(self, groups: Mapping[RelayGroup, int]) -> None:
        """Adds uploads to the groups that they stand in.

        Args:
            groups: at least one, each with how many uploads were stored.
        """


class Database(ABC):
    """An open database. Thread-safe; not to be carried through a fork.

    Attributes:
        name: for messages: a path, or a URL without its password.
        locks_rows: whether a transaction can lock rows while others write. If not, a transaction
            stops all other writing and must be short.
    """

    name: str
    locks_rows: bool

    @abstractmethod
    def write(self) -> AbstractContextManager[Connection]:
        """One transaction that is durable when the block ends, and undone when it raises.

        Raises:
            StoreUnavailableError: if the transaction could not be begun, carried out or committed.
        """

    @abstractmethod
    def read(self) -> AbstractContextManager[Connection]:
        """A consistent view of what is committed; it neither blocks writers nor waits for them.

        Raises:
            StoreUnavailableError: if the database cannot be read.
        """

    def look_up(self) -> AbstractContextManager[Connection]:
        """As `read`, for short reads that a request waits for: long reads never delay them.

        Raises:
            StoreUnavailableError: if the database cannot be read.
        """
        return self.read()

    @abstractmethod
    def ingest(self, work: Callable[[IngestTransaction], Result]) -> Result:
        """Does the work of ingest in one transaction, which is durable when this returns.

        Args:
            work: done again if the transaction fails for a reason that passes, so it must have no
                effect beyond the transaction.

        Raises:
            StoreUnavailableError: if the transaction could not be begun, carried out or committed.
        """

    @abstractmethod
    def purge(self) -> None:
        """Erases deleted rows from where the database still holds their bytes, as far as it can.

        Raises:
            StoreUnavailableError: if somebody is in the way; try again later.
        """

    @abstractmethod
    def empty_log(self) -> None:
        """Empties the log of what was written, in whose order it came, if it is old enough.

        Raises:
            StoreUnavailableError: if somebody is in the way; try again later.
        """

    @abstractmethod
    def shrink(self, most_bytes: int) -> bool:
        """Gives some of the space that was freed back to the file system, where that is worth it.

        Args:
            most_bytes: at most how much, so that nobody waits long.

        Returns:
            Whether there may be more to give back.
        """

    def vacuum_ids(self) -> None:  # noqa: B027  a file has nothing to do here
        """Frees the places of upload ids that were deleted, where a database does not at once.

        Raises:
            StoreUnavailableError: if the store failed.
        """

    @abstractmethod
    def alone(self, purpose: str) -> AbstractContextManager[None]:
        """Lets one process at a time do something that takes long, also if one is killed.

        Args:
            purpose: what is done; others may do other things.

        Raises:
            InUseError: if another process is doing this.
        """

    @abstractmethod
    def close(self) -> None:
        """Closes all connections; everything acknowledged is in the database already."""


def new_epoch_key() -> bytes:
    """Draws the key with which the upload ids of an epoch are hashed while it is open."""
    return secrets.token_bytes(EPOCH_KEY_BYTES)
