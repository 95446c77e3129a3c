"""What the store needs of a database, whichever it is."""

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
"""Under which epoch and hash an upload is remembered."""


class InboxRow(NamedTuple):
    """One row of the inbox: reports of one spec, day and key from the uploads of one commit."""

    id: int
    digest: bytes
    epoch: int
    key: str
    payload: bytes


class IngestTransaction(ABC):
    """What ingest does within one transaction, in the database's fastest way."""

    @abstractmethod
    def epoch_keys(self, wanted: Collection[int]) -> Mapping[int, bytes | None]:
        """The keys of epochs: made for the new ones, None for the closed ones.

        None of them is closed by anybody before the transaction ends.
        """

    @abstractmethod
    def remember_uploads(self, names: Sequence[UploadName]) -> set[UploadName]:
        """Remembers uploads, and says which of them were not remembered before.

        Args:
            names: distinct, at least one, in ascending order, so that two servers with the same
                uploads wait for each other instead of both waiting.
        """

    @abstractmethod
    def append_rows(self, rows: Sequence[InboxRow]) -> None:
        """Adds rows to the inbox."""


class Database(ABC):
    """An open database. Thread-safe; not to be carried through a fork.

    Attributes:
        name: how people know it: a path, or a URL without its password.
        locks_rows: whether rows can be locked within a transaction while others go on. If not, a
            transaction stops all other writing and must be short.
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
        """As `read`, for the little that requests wait for: never behind those who read much.

        Raises:
            StoreUnavailableError: if the database cannot be read.
        """
        return self.read()

    @abstractmethod
    def ingest(self, work: Callable[[IngestTransaction], Result]) -> Result:
        """Does the work of ingest in one transaction, which is durable when this returns.

        Args:
            work: has no effect beyond its transaction, as it may be done more than once.

        Raises:
            StoreUnavailableError: if the transaction could not be begun, carried out or committed.
        """

    @abstractmethod
    def purge(self) -> None:
        """Removes what was deleted from where the database still keeps it, as far as it can.

        Raises:
            StoreUnavailableError: if somebody is in the way; try again later.
        """

    @abstractmethod
    def close(self) -> None:
        """Closes all connections; everything acknowledged is in the database already."""


def new_epoch_key() -> bytes:
    """A key under which the upload ids of one epoch are hashed, for as long as it is open."""
    return secrets.token_bytes(EPOCH_KEY_BYTES)
