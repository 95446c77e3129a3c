"""Closing a relay's period, and sweeping its file, while envelopes come.

A close is a few rows. Everything that concerns each envelope is done by a sweep, in pieces of one
transaction each, between which whoever brings envelopes has a turn. A sweep that was cut off is
done by the next one: what it is to do follows from the rows alone.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from deniable_aggregator.doors.relay.envelopes import (
    PUT_OFF,
    TOO_FEW,
    Closing,
    count,
    let_go,
    read_totals,
)
from deniable_aggregator.doors.relay.file import read_calendar

if TYPE_CHECKING:
    import sqlite3

    from deniable_aggregator.doors.relay.envelopes import EnvelopeStore

GONE_DAYS: Final = 30
"""So long the tag of an envelope that is gone is known, so that a late retry is not forwarded in
another, perhaps smaller, batch."""

CLOSING_DAYS: Final = 400
"""So long it is known how large batches were."""

MOST_DAYS_BACK: Final = 7
"""A clock that goes back by more was wrong before: the calendar follows it back. One that goes back
around midnight by less must not close twice."""

SWEPT_ROWS: Final = 250
"""So many envelopes are swept in one transaction, for which new ones wait: two milliseconds of a
processor. Fewer would save no more than the fixed cost of a commit."""

SWEPT_TAGS: Final = 2_000
"""So many tags of envelopes that are gone are looked at in one transaction."""

_LAST: Final = "SELECT max(tag) FROM (SELECT tag FROM %s WHERE tag > ? ORDER BY tag LIMIT ?)"
_OVERDUE: Final = (
    "tag > :after AND tag <= :last AND period >= :since "
    "AND offered + :period - period >= :most_missed"
)
_COUNT_OVERDUE: Final = "SELECT count(*), total(offered > 0) FROM envelope WHERE "
_REWRITE: Final = (
    "INSERT INTO swept SELECT * FROM envelope WHERE tag > :after AND tag <= :last",
    "DELETE FROM envelope WHERE tag > :after AND tag <= :last",
    "INSERT INTO envelope SELECT * FROM swept ORDER BY tag",
    "DELETE FROM swept",
)


def close_period(store: EnvelopeStore, day: int, *, least: int) -> Closing | None:
    """Makes a batch of all that wait, unless they are too few: then all wait on.

    Args:
        store: the relay's file.
        day: the first day of the current period.
        least: how many a batch needs, of those that the aggregator has not seen.

    Returns:
        None if the period before was closed already, or the clock was set back. A clock that was
        wrong by more than a week delays the next close by a period at most.

    Raises:
        StoreUnavailableError: if the file cannot be read or written.
    """
    with store.transaction() as connection:
        now = read_calendar(connection)
        if now.day > day + MOST_DAYS_BACK or _was_closed(connection, day):
            connection.execute("UPDATE calendar SET day = ?", (day,))
            return None
        if day <= now.day:
            return None
        batch, size = None, 0
        after = now._replace(day=day, period=now.period + 1)
        waiting = read_totals(connection).waiting
        if waiting - now.offered >= least:
            batch, size = secrets.token_bytes(16), waiting
            after = after._replace(since=after.period, offered=0)
        connection.execute("UPDATE calendar SET day = ?, period = ?, since = ?, offered = ?", after)
        connection.execute(
            "INSERT INTO closing (day, batch, since, until, size, dropped, remaining) "
            "VALUES (?, ?, ?, ?, ?, 0, ?)",
            (day, batch, now.since, now.period, size, size),
        )
        connection.execute(
            "DELETE FROM closing WHERE day < ? AND remaining = 0", (day - CLOSING_DAYS,)
        )
    return Closing(day, size, 0)


def sweep(store: EnvelopeStore, day: int, *, most_missed: int) -> int:
    """Drops what has waited too long, and makes the file forget in which order envelopes came.

    All rows are written anew in the order of their tags, and the log is emptied.

    Args:
        store: the relay's file.
        day: the current one; tags that have been gone for `GONE_DAYS` are forgotten.
        most_missed: whatever has waited through so many closes is dropped.

    Returns:
        How many envelopes were dropped.

    Raises:
        StoreUnavailableError: if the file cannot be read or written.
    """
    dropped = 0
    last: bytes | None = b""
    while last is not None:
        with store.transaction() as connection:
            last, overdue = _sweep_rows(connection, last, day, most_missed)
        dropped += overdue
    _forget_tags(store, day - GONE_DAYS)
    store.empty_log()
    return dropped


def _sweep_rows(
    connection: sqlite3.Connection, after: bytes, day: int, most_missed: int
) -> tuple[bytes | None, int]:
    """Sweeps the next `SWEPT_ROWS` envelopes.

    Returns:
        The last of their tags, None if there were none; and how many were dropped.
    """
    (last,) = connection.execute(_LAST % "envelope", (after, SWEPT_ROWS)).fetchone()
    if last is None:
        return None, 0
    now = read_calendar(connection)
    swept = {**now._asdict(), "after": after, "last": last, "most_missed": most_missed, "day": day}
    overdue, found = connection.execute(_COUNT_OVERDUE + _OVERDUE, swept).fetchone()
    if overdue:
        put_off = int(found)
        let_go(connection, _OVERDUE, swept)
        count(connection, (TOO_FEW, overdue - put_off), (PUT_OFF, put_off))
        connection.execute("UPDATE calendar SET offered = offered - ?", (put_off,))
        connection.execute(
            "UPDATE closing SET dropped = dropped + ? WHERE day = ?", (overdue, now.day)
        )
    # In statements of all rows: after each statement this thread may wait for one that runs Python.
    for statement in _REWRITE:
        connection.execute(statement, swept)
    return last, overdue


def _forget_tags(store: EnvelopeStore, before: int) -> None:
    """Forgets tags of envelopes that were gone before a day."""
    after: bytes | None = b""
    while after is not None:
        with store.transaction() as connection:
            (last,) = connection.execute(_LAST % "gone", (after, SWEPT_TAGS)).fetchone()
            connection.execute(
                "DELETE FROM gone WHERE tag > ? AND tag <= ? AND day < ?", (after, last, before)
            )
        after = last


def _was_closed(connection: sqlite3.Connection, day: int) -> bool:
    """Whether there was a close at this day; a clock that was wrong can have passed it before."""
    found = connection.execute("SELECT 1 FROM closing WHERE day = ?", (day,)).fetchone()
    return found is not None
