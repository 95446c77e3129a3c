"""What a relay holds: one SQLite file, from which nothing tells in which order envelopes came.

A row is an envelope, by its tag, which is a hash of a random id; it has no address, no time and no
number. `missed` counts the closes that it has waited through. Both an envelope and the tag of one
that is gone stand in a table without row ids, as a row id is the order of arrival. Two more things
have this order: SQLite's log, and a page, whose cells lie as they came. `forget_order` writes all
rows anew in the order of their tags, and empties the log.
"""

from __future__ import annotations

import re
import secrets
import sqlite3
import threading
from contextlib import ExitStack, closing, contextmanager, suppress
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
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from deniable_shared.sealing import Answer

APPLICATION_ID: Final = 0x64_52_6C_79
"""Marks an SQLite file as a relay's."""

GONE_DAYS: Final = 30
"""So long the tag of an envelope that is gone is known, so that a late retry is not forwarded in
another, perhaps smaller, batch."""

CLOSING_DAYS: Final = 400
"""So long it is known how large batches were."""

MOST_DAYS_BACK: Final = 7
"""A clock that goes back by more was wrong before: the calendar follows it back. One that goes back
around midnight by less must not close twice."""

MOST_ROWS: Final = 1_000
"""So many envelopes are written anew in one transaction, for which new ones wait."""

_TABLES: Final = f"""
CREATE TABLE envelope (
    tag BLOB PRIMARY KEY, batch BLOB, missed INTEGER NOT NULL, offered INTEGER NOT NULL,
    body BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE gone (tag BLOB PRIMARY KEY, day INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE closing (
    day INTEGER PRIMARY KEY, batch BLOB, size INTEGER NOT NULL, dropped INTEGER NOT NULL,
    remaining INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE total (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE calendar (day INTEGER PRIMARY KEY) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
"""
_ADD: Final = (
    "INSERT OR IGNORE INTO envelope (tag, batch, missed, offered, body) SELECT ?1, NULL, 0, 0, ?2 "
    "WHERE NOT EXISTS (SELECT 1 FROM gone WHERE tag = ?1)"
)
_COUNT: Final = (
    "INSERT INTO total (name, number) VALUES (?, ?) "
    "ON CONFLICT DO UPDATE SET number = number + excluded.number"
)
_LET_GO: Final = "INSERT OR IGNORE INTO gone (tag, day) VALUES (?, ?)"
_NEXT: Final = (
    "SELECT tag, offered, body FROM envelope WHERE batch = ? AND tag > ? ORDER BY tag LIMIT ?"
)
_COLUMNS: Final = "tag, batch, missed, offered, body"

ACCEPTED: Final = "accepted"
STORED: Final = "stored"
DUPLICATE: Final = "duplicate"
TOO_FEW: Final = "too_few"
PUT_OFF: Final = "put_off"
LOST: Final = "lost"
_OTHER: Final = "other"
_CODE: Final = re.compile(r"[a-z_]{1,40}")


class Closing(NamedTuple):
    """What a close has done.

    Attributes:
        day: at whose beginning it was due, in days since 1970-01-01.
        size: how many envelopes the batch had; 0 where they were too few.
        dropped: how many were given up, at the close or after it.
    """

    day: int
    size: int
    dropped: int


class HeldPart(NamedTuple):
    """Envelopes of one batch that are to be forwarded now, in the order of their tags.

    Attributes:
        day: of the close.
        batch: its id.
        size: how many envelopes the batch had at its close.
        tags: of the envelopes.
        envelopes: themselves.
        offered: which of them the aggregator has put off before, by index.
    """

    day: int
    batch: bytes
    size: int
    tags: tuple[bytes, ...]
    envelopes: tuple[bytes, ...]
    offered: tuple[int, ...]


class Totals(NamedTuple):
    """What became of all envelopes since the file was made; those of one tag count once.

    Attributes:
        accepted: acknowledged.
        waiting: wait for a close.
        forwarding: of a batch, but not with the aggregator yet.
        forwarded: with the aggregator: stored, or a duplicate there.
        dropped: given up, by the reason: `TOO_FEW`, `PUT_OFF`, `LOST` with a damaged file, or a
            code of the aggregator's.
    """

    accepted: int
    waiting: int
    forwarding: int
    forwarded: Mapping[str, int]
    dropped: Mapping[str, int]


class EnvelopeStore:
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
        self._lock = threading.Lock()
        self._place = b"", b""  # a batch, and the last tag of it that is with the aggregator
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
        self._driver.execute("PRAGMA journal_mode = WAL")
        if not tables:
            self._driver.executescript(f"BEGIN IMMEDIATE; {_TABLES}")
            self._driver.execute("INSERT INTO calendar (day) VALUES (?)", (day,))
            self._driver.execute("COMMIT")
        self._driver.executescript("BEGIN IMMEDIATE; COMMIT")  # makes the log
        self._files.remember_identity()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, translate_errors():
            if self._files.closed:
                raise StoreUnavailableError("the relay's file is closed")
            self._driver.execute("BEGIN IMMEDIATE")
            try:
                yield self._driver
                self._files.check_identity()
                self._driver.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # it has failed by itself where the disk is full
                    self._driver.execute("ROLLBACK")
                raise

    def add(self, envelopes: Mapping[bytes, bytes]) -> int:
        """Keeps envelopes; they are durable when this returns.

        Args:
            envelopes: by their tags. One whose tag is known already is left out.

        Returns:
            How many were new.

        Raises:
            StoreUnavailableError: if none was kept.
        """
        with self._transaction() as connection:
            before = connection.total_changes
            connection.executemany(_ADD, sorted(envelopes.items()))
            new = connection.total_changes - before
            if new:
                connection.execute(_COUNT, (ACCEPTED, new))
        return new

    def close_period(self, day: int, *, least: int, most_missed: int) -> Closing | None:
        """Makes a batch of all that wait, unless they are too few: then all wait on.

        Args:
            day: the first day of the current period.
            least: how many a batch needs, of those that the aggregator has not seen.
            most_missed: whoever has waited through so many closes is dropped.

        Returns:
            None if the period before was closed already, or the clock was set back. A clock that
            was wrong by more than a week delays the next close by a period at most.
        """
        with self._transaction() as connection:
            closed = _closed_day(connection)
            if closed > day + MOST_DAYS_BACK or _was_closed(connection, day):
                connection.execute("UPDATE calendar SET day = ?", (day,))
                return None
            if day <= closed:
                return None
            (fresh,) = connection.execute(
                "SELECT count(*) FROM envelope WHERE batch IS NULL AND NOT offered"
            ).fetchone()
            batch, size, dropped = None, 0, 0
            if fresh >= least:
                batch = secrets.token_bytes(16)
                size = connection.execute(
                    "UPDATE envelope SET batch = ? WHERE batch IS NULL", (batch,)
                ).rowcount
            else:
                connection.execute("UPDATE envelope SET missed = missed + 1 WHERE batch IS NULL")
                dropped = _drop_overdue(connection, day, most_missed)
            connection.execute("UPDATE calendar SET day = ?", (day,))
            connection.execute(
                "INSERT INTO closing (day, batch, size, dropped, remaining) VALUES (?, ?, ?, ?, ?)",
                (day, batch, size, dropped, size),
            )
            connection.execute(
                "DELETE FROM closing WHERE day < ? AND remaining = 0", (day - CLOSING_DAYS,)
            )
        return Closing(day, size, dropped)

    def next_part(self, most_bytes: int) -> HeldPart | None:
        """What is to be forwarded next, of the oldest batch that is not through.

        Args:
            most_bytes: how many the envelopes may have together.
        """
        with self._transaction() as connection:
            first = connection.execute(
                "SELECT day, batch, size FROM closing WHERE remaining > 0 ORDER BY day LIMIT 1"
            ).fetchone()
            if first is None:
                return None
            day, batch, size = first
            # The place in the batch spares a search through those that have come since.
            if self._place[0] != batch:
                self._place = batch, b""
            rows = connection.execute(_NEXT, (*self._place, MOST_ROWS)).fetchall()
            if not rows:
                _count_lost(connection, day)
                return None
        kept, total = [], 0
        for row in rows:
            total += len(row[2])
            if total > most_bytes:
                break
            kept.append(row)
        offered = tuple(index for index, row in enumerate(kept) if row[1])
        tags, envelopes = (tuple(row[column] for row in kept) for column in (0, 2))
        return HeldPart(day, batch, size, tags, envelopes, offered)

    def settle(self, part: HeldPart, answer: Answer, day: int, *, most_missed: int) -> None:
        """Deletes what the aggregator has done with; what it has put off waits for another close.

        Args:
            part: what was forwarded.
            answer: what became of it.
            day: the current one.
            most_missed: as for `close_period`; to be put off counts as a close.
        """
        put_off = set(answer.again)
        done = [tag for index, tag in enumerate(part.tags) if index not in put_off]
        with self._transaction() as connection:
            connection.executemany("DELETE FROM envelope WHERE tag = ?", ((tag,) for tag in done))
            connection.executemany(_LET_GO, ((tag, day) for tag in done))
            connection.executemany(
                "UPDATE envelope SET batch = NULL, offered = 1, missed = missed + 1 WHERE tag = ?",
                ((part.tags[index],) for index in answer.again),
            )
            dropped = _drop_overdue(connection, day, most_missed) if put_off else 0
            refused = ((_reason(code), number) for code, number in answer.dropped.items())
            counts = [(STORED, answer.stored), (DUPLICATE, answer.duplicates), *refused]
            connection.executemany(_COUNT, counts)
            connection.execute(
                "UPDATE closing SET remaining = remaining - ?, dropped = dropped + ? WHERE day = ?",
                (len(part.tags), dropped, part.day),
            )
        self._place = part.batch, part.tags[-1]

    def forget_order(self, day: int) -> None:
        """Writes all rows anew in the order of their tags, and empties the log.

        Args:
            day: the current one; tags that have been gone for `GONE_DAYS` are forgotten.
        """
        with self._transaction() as connection:
            connection.execute("DELETE FROM gone WHERE day < ?", (day - GONE_DAYS,))
        after: bytes | None = b""
        while after is not None:
            after = self._rewrite(after)
        with self._lock, translate_errors():
            self._driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _rewrite(self, after: bytes) -> bytes | None:
        """Writes the next `MOST_ROWS` envelopes anew; returns the last of their tags."""
        with self._transaction() as connection:
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM envelope WHERE tag > ? ORDER BY tag LIMIT ?",  # noqa: S608
                (after, MOST_ROWS),
            ).fetchall()
            if not rows:
                return None
            bounds = rows[0][0], rows[-1][0]
            connection.execute("DELETE FROM envelope WHERE tag BETWEEN ? AND ?", bounds)
            connection.executemany(
                f"INSERT INTO envelope ({_COLUMNS}) VALUES (?, ?, ?, ?, ?)",  # noqa: S608
                rows,
            )
        last: bytes = bounds[1]
        return last

    def used_bytes(self) -> int:
        """What the file takes, without pages that are free."""
        with self._lock, translate_errors():
            pages, free, size = (
                self._driver.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
        return int((pages - free) * size)

    def closed_day(self) -> int:
        """The first day of the period in which the latest close was."""
        with self._lock, translate_errors():
            return _closed_day(self._driver)

    def closings(self) -> list[Closing]:
        """All closes of the last `CLOSING_DAYS`, the latest first."""
        with self._lock, translate_errors():
            return _closings(self._driver)

    def totals(self) -> Totals:
        """What became of all envelopes."""
        with self._lock, translate_errors():
            return _totals(self._driver)

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._opened.close()


def look_into(path: Path) -> tuple[Totals, list[Closing]]:
    """What became of all envelopes, and the closes that are known; a relay may have the file.

    Args:
        path: the file.

    Raises:
        StoreRefusedError: if it is not the file of a relay.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as reader:
            reader.execute("BEGIN")
            return _totals(reader), _closings(reader)
    except sqlite3.Error as error:
        raise StoreRefusedError(f"{path}: cannot be read as the file of a relay: {error}") from None


def _drop_overdue(connection: sqlite3.Connection, day: int, most_missed: int) -> int:
    """Gives up what has waited too long, and counts it."""
    overdue = connection.execute(
        "SELECT tag, offered FROM envelope WHERE batch IS NULL AND missed >= ? ORDER BY tag",
        (most_missed,),
    ).fetchall()
    connection.executemany("DELETE FROM envelope WHERE tag = ?", ((tag,) for tag, _ in overdue))
    connection.executemany(_LET_GO, ((tag, day) for tag, _ in overdue))
    put_off = sum(offered for _, offered in overdue)
    counts = {TOO_FEW: len(overdue) - put_off, PUT_OFF: put_off}
    connection.executemany(_COUNT, ((name, number) for name, number in counts.items() if number))
    return len(overdue)


def _count_lost(connection: sqlite3.Connection, day: int) -> None:
    """Ends a batch of which the file has no more rows, as only damage can do."""
    connection.execute(
        "INSERT INTO total (name, number) SELECT ?, remaining FROM closing WHERE day = ? "
        "ON CONFLICT DO UPDATE SET number = number + excluded.number",
        (LOST, day),
    )
    connection.execute(
        "UPDATE closing SET dropped = dropped + remaining, remaining = 0 WHERE day = ?", (day,)
    )


def _reason(code: str) -> str:
    """A code of the aggregator's, which may be of a later version, as a word of ours."""
    ours = {ACCEPTED, STORED, DUPLICATE, TOO_FEW, PUT_OFF, LOST}
    return code if _CODE.fullmatch(code) and code not in ours else _OTHER


def _closed_day(connection: sqlite3.Connection) -> int:
    (day,) = connection.execute("SELECT max(day) FROM calendar").fetchone()
    return int(day)


def _was_closed(connection: sqlite3.Connection, day: int) -> bool:
    """Whether there was a close at this day; a clock that was wrong can have passed it before."""
    found = connection.execute("SELECT 1 FROM closing WHERE day = ?", (day,)).fetchone()
    return found is not None


def _closings(connection: sqlite3.Connection) -> list[Closing]:
    rows = connection.execute("SELECT day, size, dropped FROM closing ORDER BY day DESC")
    return [Closing(*row) for row in rows]


def _totals(connection: sqlite3.Connection) -> Totals:
    counts = dict(connection.execute("SELECT name, number FROM total ORDER BY name").fetchall())
    (forwarding,) = connection.execute("SELECT total(remaining) FROM closing").fetchone()
    accepted = counts.pop(ACCEPTED, 0)
    held = accepted - sum(counts.values())
    forwarded = {name: counts.pop(name, 0) for name in (STORED, DUPLICATE)}
    return Totals(accepted, held - int(forwarding), int(forwarding), forwarded, counts)
