"""What a relay does with envelopes: keeps them, hands them out by batches, and lets them go."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.doors.relay.file import RelayFile, Row, read_calendar
from deniable_aggregator.keeping.store import StoreRefusedError
from deniable_shared.sealing import MAX_ENVELOPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from deniable_shared.sealing import Answer

READ_ROWS: Final = 500
"""So many envelopes are read at a time, for which new ones wait."""

_ADD: Final = (
    "INSERT OR IGNORE INTO envelope (tag, period, offered, body) "
    "SELECT ?1, period, 0, ?2 FROM calendar WHERE NOT EXISTS (SELECT 1 FROM gone WHERE tag = ?1)"
)
_COUNT: Final = (
    "INSERT INTO total (name, number) VALUES (?, ?) "
    "ON CONFLICT DO UPDATE SET number = number + excluded.number"
)
_OLDEST: Final = (
    "SELECT day, batch, size, since, until FROM closing WHERE remaining > 0 ORDER BY day LIMIT 1"
)
_PUT_OFF: Final = (
    "UPDATE envelope SET period = (SELECT period FROM calendar), offered = ? WHERE tag = ?"
)
_PART: Final = "tag BETWEEN :first AND :last AND period BETWEEN :since AND :until"
_NEXT: Final = "SELECT tag, period, offered, body FROM envelope WHERE tag > ? ORDER BY tag LIMIT ?"

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
        periods: the first and the last of those whose envelopes it has.
        size: how many envelopes the batch had at its close.
        tags: of the envelopes.
        envelopes: themselves.
        offered: which of them the aggregator has put off before, by index.
        missed: how many closes each has waited through, with those at which it was put off.
    """

    day: int
    batch: bytes
    periods: tuple[int, int]
    size: int
    tags: tuple[bytes, ...]
    envelopes: tuple[bytes, ...]
    offered: tuple[int, ...]
    missed: tuple[int, ...]


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


class EnvelopeStore(RelayFile):
    """The envelopes of a relay; see `RelayFile` for arguments and errors."""

    def __init__(self, path: Path, day: int) -> None:
        super().__init__(path, day)
        self._place = b"", b""  # a batch, and the last tag of it that is with the aggregator

    def add(self, envelopes: Mapping[bytes, bytes]) -> int:
        """Keeps envelopes; they are durable when this returns.

        Args:
            envelopes: by their tags. One whose tag is known already is left out.

        Returns:
            How many were new.

        Raises:
            StoreUnavailableError: if none was kept.
        """
        with self.transaction() as connection:
            before = connection.total_changes
            connection.executemany(_ADD, sorted(envelopes.items()))
            new = connection.total_changes - before
            count(connection, (ACCEPTED, new))
        return new

    def next_part(self, most_bytes: int) -> HeldPart | None:
        """What is to be forwarded next, of the oldest batch that is not through.

        Args:
            most_bytes: how many the envelopes may have together.
        """
        with self.alone() as connection:
            oldest = connection.execute(_OLDEST).fetchone()
        if oldest is None:
            return None
        day, batch, size, since, until = oldest
        # The place in the batch spares a search through those that have come since.
        if self._place[0] != batch:
            self._place = batch, b""
        rows = list(islice(self._rows_of(since, until), MAX_ENVELOPES))
        if not rows:
            with self.transaction() as connection:
                _count_lost(connection, day)
            return None
        total, kept = 0, []
        for row in rows:
            total += len(row.body)
            if total > most_bytes:
                break
            kept.append(row)
        return HeldPart(
            day,
            batch,
            (since, until),
            size,
            tags=tuple(row.tag for row in kept),
            envelopes=tuple(row.body for row in kept),
            offered=tuple(index for index, row in enumerate(kept) if row.offered),
            missed=tuple(row.offered + until - row.period for row in kept),
        )

    def _rows_of(self, since: int, until: int) -> Iterator[Row]:
        """The envelopes of these periods that were not forwarded yet, in the order of tags."""
        _, after = self._place
        while True:
            with self.alone() as connection:
                found = list(map(Row._make, connection.execute(_NEXT, (after, READ_ROWS))))
            if not found:
                return
            yield from (row for row in found if since <= row.period <= until)
            after = found[-1].tag

    def settle(self, part: HeldPart, answer: Answer, day: int, *, most_missed: int) -> None:
        """Deletes what the aggregator has done with; what it has put off waits for another close.

        Args:
            part: what was forwarded.
            answer: what became of it.
            day: the current one.
            most_missed: whatever has waited through so many closes is dropped; to be put off
                counts as one.
        """
        missed = {part.tags[index]: part.missed[index] + 1 for index in answer.again}
        waiting = [(number, tag) for tag, number in missed.items() if number < most_missed]
        dropped = len(missed) - len(waiting)
        with self.transaction() as connection:
            connection.executemany(_PUT_OFF, waiting)  # these are not of the part's periods now
            first, last = part.tags[0], part.tags[-1]
            since, until = part.periods
            let_go(
                connection,
                _PART,
                {"first": first, "last": last, "since": since, "until": until, "day": day},
            )
            connection.execute("UPDATE calendar SET offered = offered + ?", (len(waiting),))
            refused = ((_reason(code), number) for code, number in answer.dropped.items())
            counts = [(STORED, answer.stored), (DUPLICATE, answer.duplicates), *refused]
            count(connection, *counts, (PUT_OFF, dropped))
            connection.execute(
                "UPDATE closing SET remaining = remaining - ?, dropped = dropped + ? WHERE day = ?",
                (len(part.tags), dropped, part.day),
            )
        self._place = part.batch, part.tags[-1]

    def closed_day(self) -> int:
        """The first day of the period in which the latest close was."""
        with self.alone() as connection:
            return read_calendar(connection).day

    def closings(self) -> list[Closing]:
        """All closes that are known, the latest first."""
        with self.alone() as connection:
            return _closings(connection)

    def totals(self) -> Totals:
        """What became of all envelopes."""
        with self.alone() as connection:
            return read_totals(connection)


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
            return read_totals(reader), _closings(reader)
    except sqlite3.Error as error:
        raise StoreRefusedError(f"{path}: cannot be read as the file of a relay: {error}") from None


def let_go(connection: sqlite3.Connection, which: str, values: Mapping[str, bytes | int]) -> None:
    """Deletes envelopes, whose tags are known for some time yet.

    Args:
        connection: in a transaction.
        which: a condition of SQL.
        values: its parameters, and the current day as `day`.
    """
    connection.execute(
        f"INSERT OR IGNORE INTO gone (tag, day) SELECT tag, :day FROM envelope WHERE {which}",  # noqa: S608
        values,
    )
    connection.execute(f"DELETE FROM envelope WHERE {which}", values)  # noqa: S608


def count(connection: sqlite3.Connection, *numbers: tuple[str, int]) -> None:
    """Adds to what is known of all envelopes, by name."""
    connection.executemany(_COUNT, (each for each in numbers if each[1]))


def _count_lost(connection: sqlite3.Connection, day: int) -> None:
    """Ends a batch of which the file has no more rows, as only damage can do."""
    lost = connection.execute("SELECT remaining FROM closing WHERE day = ?", (day,)).fetchone()
    count(connection, (LOST, *lost))
    connection.execute(
        "UPDATE closing SET dropped = dropped + remaining, remaining = 0 WHERE day = ?", (day,)
    )


def _reason(code: str) -> str:
    """A code of the aggregator's, which may be of a later version, as a word of ours."""
    ours = {ACCEPTED, STORED, DUPLICATE, TOO_FEW, PUT_OFF, LOST}
    return code if _CODE.fullmatch(code) and code not in ours else _OTHER


def _closings(connection: sqlite3.Connection) -> list[Closing]:
    rows = connection.execute("SELECT day, size, dropped FROM closing ORDER BY day DESC")
    return [Closing(*row) for row in rows]


def read_totals(connection: sqlite3.Connection) -> Totals:
    """What became of all envelopes."""
    counts = dict(connection.execute("SELECT name, number FROM total ORDER BY name").fetchall())
    (forwarding,) = connection.execute("SELECT total(remaining) FROM closing").fetchone()
    accepted = counts.pop(ACCEPTED, 0)
    held = accepted - sum(counts.values())
    forwarded = {name: counts.pop(name, 0) for name in (STORED, DUPLICATE)}
    return Totals(accepted, held - int(forwarding), int(forwarding), forwarded, counts)
