"""What a relay holds: one SQLite file, from which nothing tells in which order envelopes came.

A row is an envelope, by its tag, which is a hash of a random id; it has no address, no time and no
number of its own. `period` is that in which it came, or was put off by the aggregator: how many
closes there had been. A batch is all envelopes of some periods, so that a close writes no row of an
envelope, and nobody waits for it. `offered` is 0, or how many closes an envelope had missed when it
was put off.

Both an envelope and the tag of one that is gone stand in a table without row ids, as a row id is
the order of arrival. Two more things have this order: SQLite's log, and a page, whose cells lie as
they came. `closing.sweep` makes both forget it.
"""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.keeping.store import StoreRefusedError, StoreUnavailableError
from deniable_aggregator.keeping.store.base import InUseError
from deniable_aggregator.keeping.store.sqlite import (
    is_temporary,
    set_pragmas,
    translate_errors,
    writing_connection,
)
from deniable_aggregator.keeping.store.sqlite_files import StoreFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

APPLICATION_ID: Final = 0x64_52_6C_79
"""Marks an SQLite file as a relay's."""

RESERVE_BYTES: Final = 64 << 20
"""Of the disk so much is left free: closing, forwarding and sweeping write before they free."""

CHECKPOINT_PAGES: Final = 1_000
"""SQLite copies its log into the file at 4 MiB, in a commit for which all others wait."""

_TABLES: Final = f"""
CREATE TABLE envelope (
    tag BLOB PRIMARY KEY, period INTEGER NOT NULL, offered INTEGER NOT NULL, body BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE gone (tag BLOB PRIMARY KEY, day INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE closing (
    day INTEGER PRIMARY KEY, batch BLOB, since INTEGER NOT NULL, until INTEGER NOT NULL,
    size INTEGER NOT NULL, dropped INTEGER NOT NULL, remaining INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE total (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE calendar (
    day INTEGER PRIMARY KEY, period INTEGER NOT NULL, since INTEGER NOT NULL,
    offered INTEGER NOT NULL
) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
"""
_SWEPT: Final = """
PRAGMA temp_store = MEMORY;
CREATE TEMPORARY TABLE swept (
    tag BLOB PRIMARY KEY, period INTEGER NOT NULL, offered INTEGER NOT NULL, body BLOB NOT NULL
) WITHOUT ROWID;
"""
"""Envelopes that are just written anew."""


class Row(NamedTuple):
    """An envelope in the file; see the head of this module."""

    tag: bytes
    period: int
    offered: int
    body: bytes


class Calendar(NamedTuple):
    """Where the relay is in time.

    Attributes:
        day: the first day of the period in which the latest close was, since 1970-01-01.
        period: how many closes there have been.
        since: the first period whose envelopes wait for a close.
        offered: how many of those that wait the aggregator has put off.
    """

    day: int
    period: int
    since: int
    offered: int


class RelayFile:
    """The open file of a relay, which one process has at a time. Thread-safe.

    Args:
        path: the file; created, readable by its owner only, if absent.
        day: the first day of the current period, at which a new file counts as closed.

    Raises:
        StoreRefusedError: if it is not the file of a relay.
        InUseError: if another process has it.
        StoreUnavailableError: if the disk is full or fails.
    """

    def __init__(self, path: Path, day: int) -> None:
        self._folder = path.absolute().parent
        self._lock, self._turnstile = threading.Lock(), threading.Lock()
        with ExitStack() as opened:
            self._files = StoreFiles(path)
            opened.callback(self._files.close)
            try:
                opened.enter_context(self._files.alone("relay"))
            except InUseError:
                raise InUseError(f"deniable relay with {path}") from None
            self._driver = writing_connection(path)
            opened.callback(self._driver.close)
            try:
                with translate_errors():
                    self._prepare(day)
            except StoreUnavailableError as error:
                if is_temporary(error):
                    raise
                raise StoreRefusedError(f"{path}: is not the file of a relay ({error})") from error
            self._opened = opened.pop_all()

    def _prepare(self, day: int) -> None:
        (kind,) = self._driver.execute("PRAGMA application_id").fetchone()
        (tables,) = self._driver.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if kind != APPLICATION_ID and tables:
            raise StoreUnavailableError("it has other tables")
        set_pragmas(self._driver)
        # Not FAST: a page that becomes free has envelopes as they came.
        self._driver.execute("PRAGMA secure_delete = ON")
        self._driver.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        self._driver.execute("PRAGMA journal_mode = WAL")
        if not tables:
            self._driver.executescript(f"BEGIN IMMEDIATE; {_TABLES}")
            self._driver.execute("INSERT INTO calendar VALUES (?, 0, 0, 0)", (day,))
            self._driver.execute("COMMIT")
        self._driver.executescript(_SWEPT)
        self._driver.executescript("BEGIN IMMEDIATE; COMMIT")  # makes the log
        self._files.remember_identity()

    @contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """The connection, which no other thread has meanwhile.

        Threads have it one after another: what takes many turns lets others in between.

        Raises:
            StoreUnavailableError: if the file cannot be read or written.
        """
        with self._turnstile:  # a lock alone goes to whoever has just released it
            self._lock.acquire()
        try:
            with translate_errors():
                if self._files.closed:
                    raise StoreUnavailableError("the relay's file is closed")
                yield self._driver
        finally:
            self._lock.release()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """As `alone`; what is written is durable when the block ends, or none of it.

        Raises:
            StoreUnavailableError: if the file cannot be read or written.
        """
        with self.alone() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                self._files.check_identity()
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # it has failed by itself where the disk is full
                    connection.execute("ROLLBACK")
                raise

    def empty_log(self) -> None:
        """Copies SQLite's log into the file, and empties it: it has the order of arrival."""
        with self.alone() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def used_share(self, most_bytes: int) -> float:
        """What the file takes, without pages that are free, of what it may.

        Args:
            most_bytes: how large it may become, if the disk has room for that besides
                `RESERVE_BYTES`.
        """
        with self.alone() as connection:
            pages, free, size = (
                int(connection.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("page_count", "freelist_count", "page_size")
            )
        room = shutil.disk_usage(self._folder).free + pages * size - RESERVE_BYTES
        return (pages - free) * size / max(1, min(most_bytes, room))

    def close(self) -> None:
        """Closes the file."""
        with self._turnstile, self._lock:
            self._opened.close()


def read_calendar(connection: sqlite3.Connection) -> Calendar:
    """Where the relay is in time."""
    row = connection.execute("SELECT day, period, since, offered FROM calendar").fetchone()
    return Calendar(*row)
