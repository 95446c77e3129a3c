"""Upload ids of past days, without the order in which they came.

Where a row stands, and in PostgreSQL the number of the transaction that wrote it, tell when it
came. So rows of past days are written again, sorted by their hashes, which are random.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Connection, delete, insert, select, text, update

from deniable_aggregator.keeping.store.base import InUseError
from deniable_aggregator.keeping.store.schema import epochs, seen, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    Work = Generator[None, None, None]

    from deniable_aggregator.keeping.store.base import Database

PURPOSE: Final = "putting upload ids in order"
REWRITTEN_ROWS: Final = 5_000
"""Ids are written anew so many at a time, so that ingest never waits long."""

WORK_SECONDS: Final = 2.0
"""So long is worked at a time, and no longer than the last transaction."""

MOST_AGE: Final = (1 << 31) - 1
"""PostgreSQL numbers transactions with 32 bits."""

_LATE: Final = text(
    "SELECT hash FROM seen WHERE epoch = :day AND hash > :last AND age(xmin) <= :age "
    "ORDER BY hash LIMIT :most"
)
_MOVE: Final = text(
    "WITH moved AS (DELETE FROM seen WHERE epoch = :day AND hash = ANY(:hashes) "
    "RETURNING epoch, hash) INSERT INTO seen (epoch, hash) SELECT * FROM moved ORDER BY hash"
)
_TRANSACTION: Final = text("SELECT txid_current()")


class _Ordered(NamedTuple):
    """How far ids are in order.

    Attributes:
        day: on which day they were put in order last; none of this day or later ones is.
        transaction: PostgreSQL's number of the last transaction that did so.
    """

    day: int
    transaction: int


class IdOrder:
    """Puts upload ids of past days in the order of their hashes, once a day.

    In SQLite, where it costs little, all ids of a day are written anew when it is 1, 2, 4, 8 and so
    on days old. In PostgreSQL those of the days since the last time are, and of earlier days what
    has come since; the rows that they leave are vacuumed. What is cut off is done again.

    Args:
        monotonic: a clock in seconds.
    """

    def __init__(self, database: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._monotonic = monotonic
        self._begun_on = 0
        self._work: Work = self._nothing()

    def go_on(self, today: int) -> None:
        """Goes on with the ids that came before a day, or begins with them.

        Args:
            today: the current day, in days since 1970-01-01.

        Raises:
            StoreUnavailableError: if the store failed; no id was lost.
        """
        if self._begun_on != today:
            self._begun_on, self._work = today, self._steps(today)
        end = self._monotonic() + WORK_SECONDS
        try:
            for _ in self._work:
                if self._monotonic() > end:
                    return
        except InUseError:  # another server does it, and may be killed
            self._begun_on = 0
        except BaseException:
            self._begun_on = 0
            raise

    def close(self) -> None:
        """Leaves what is not done, and lets others do it."""
        self._work.close()

    @staticmethod
    def _nothing() -> Work:
        yield from ()

    def _steps(self, today: int) -> Work:
        with self._database.alone(PURPOSE):
            with self._database.look_up() as connection:
                columns = shown.c.ids_ordered, shown.c.ids_transaction
                row = connection.execute(select(*columns)).one_or_none()
                days = connection.execute(select(epochs.c.epoch).where(*_open_before(today)))
                past_days = sorted(days.scalars())
            before = _Ordered(*row) if row is not None else _Ordered(0, 0)
            if before.day >= today:
                return
            if self._database.locks_rows:
                yield from self._move_late(before, past_days)
            else:
                for day in past_days:
                    age, age_before = today - day, max(0, before.day - day)
                    if age.bit_length() > age_before.bit_length():
                        yield from self._rewrite(day)
            with self._database.write() as connection:
                number = _transaction(connection) if self._database.locks_rows else 0
                ordered = {"ids_ordered": today, "ids_transaction": number}
                connection.execute(update(shown).values(ordered))

    def _rewrite(self, day: int) -> Work:
        last = b""
        while True:
            mine = seen.c.epoch == day, seen.c.hash > last
            with self._database.write() as connection:
                query = select(seen.c.hash).where(*mine).order_by(seen.c.hash)
                hashes = connection.execute(query.limit(REWRITTEN_ROWS)).scalars().all()
                if not hashes:
                    return
                last = hashes[-1]
                connection.execute(delete(seen).where(*mine, seen.c.hash <= last))
                connection.execute(insert(seen), [{"epoch": day, "hash": each} for each in hashes])
            yield

    def _move_late(self, before: _Ordered, days: list[int]) -> Work:
        with self._database.write() as connection:
            age = _transaction(connection) - before.transaction
        is_known = before.transaction > 0 and 0 <= age < MOST_AGE  # not of another database
        is_moved = False
        for day in days:
            last = b""
            while True:
                late = {
                    "day": day,
                    "last": last,
                    "age": age if is_known and day < before.day else MOST_AGE,
                    "most": REWRITTEN_ROWS,
                }
                with self._database.write() as connection:
                    hashes = [bytes(each) for each in connection.execute(_LATE, late).scalars()]
                    if hashes:
                        connection.execute(_MOVE, {"day": day, "hashes": hashes})
                if not hashes:
                    break
                last, is_moved = hashes[-1], True
                yield
        if is_moved:
            self._database.vacuum_ids()


def _open_before(today: int) -> tuple[Any, ...]:
    return epochs.c.key.is_not(None), epochs.c.epoch < today


def _transaction(connection: Connection) -> int:
    return int(connection.execute(_TRANSACTION).scalar_one())
