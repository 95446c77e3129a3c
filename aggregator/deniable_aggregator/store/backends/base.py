"""The interface that SQLite and PostgreSQL implement for the store."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

EPOCH_KEY_BYTES: Final = 32

Result = TypeVar("Result")

UploadName = tuple[int, bytes]
"""The epoch and the keyed hash by which an upload that is sent again is recognised."""


class InboxRow(NamedTuple):
    """One row of the inbox: reports of one spec, day and key from the uploads of one commit."""

    id: int
    digest: bytes
    epoch: int
    key: str
    payload: bytes


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
    def shrink(self, most_bytes: int) -> bool:
        """Gives some of the space that was freed back to the file system, where that is worth it.

        Args:
            most_bytes: at most how much, so that nobody waits long.

        Returns:
            Whether there may be more to give back.
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
