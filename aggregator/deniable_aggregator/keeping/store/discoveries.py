"""The table of discoveries: what was asked about unlisted strings, and what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Connection, Row, Select, delete, exists, func, insert, select, update

from deniable_aggregator.keeping.store.schema import discoveries, metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.keeping.store.base import Database


WAITING: Final = "waiting"
RUNNING: Final = "running"
DONE: Final = "done"
FAILED: Final = "failed"

# Of one question after the other: a limit that two see at once would be passed.
_LOCK: Final = f"SELECT pg_advisory_xact_lock({0x66696E64}, 'discoveries'::regclass::oid::int)"


class NewDiscovery(NamedTuple):
    """A question to be worked on.

    Attributes:
        tag: 32 bytes, the same as long as nothing has changed that the result depends on.
        application: whose metric it is.
        since: the first day that it is about, in days since 1970-01-01.
        until: the last day, inclusive.
        asked: the day on which it is asked.
        question: JSON, without lists.
        lists: JSON, the lists that belong to it.
    """

    tag: bytes
    application: str
    metric: str
    since: int
    until: int
    asked: int
    question: str
    lists: bytes


class StoredDiscovery(NamedTuple):
    """A question, and how far the answer is.

    Attributes:
        number: names it; later ones have larger numbers.
        tag: as of `NewDiscovery`.
        application: whose metric it is.
        since: the first day that it is about, in days since 1970-01-01.
        until: the last day, inclusive.
        asked: the day on which it was asked first.
        question: JSON, without lists.
        state: one of `WAITING`, `RUNNING`, `DONE` and `FAILED`.
        stage: what the run is doing.
        progress: how much of the run is done, in [0, 1].
        failure: why there is no result, or None.
    """

    number: int
    tag: bytes
    application: str
    metric: str
    since: int
    until: int
    asked: int
    question: str
    state: str
    stage: str
    progress: float
    failure: str | None


_columns: Final = [discoveries.c[name] for name in StoredDiscovery._fields]


class Discoveries:
    """Questions about unlisted strings, each with its result once that is there.

    Any number of servers may work on one table: one of them claims a question.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def ask(self, new: NewDiscovery, most_waiting: int) -> StoredDiscovery | None:
        """Adds a question, unless it is there already. One that failed waits again.

        Args:
            new: the question.
            most_waiting: so many questions of an application may wait.

        Returns:
            The question; None if it is not there and too many wait.
        """
        same = discoveries.c.tag == new.tag
        there = select(*_columns).where(same)
        own_waiting = discoveries.c.state == WAITING, discoveries.c.application == new.application
        count = select(func.count()).where(*own_waiting)
        waiting = {"state": WAITING, "beats": 0, "stage": "", "progress": 0.0, "failure": None}
        with self._database.write() as connection:
            # SQLite has one writing transaction at a time anyway.
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql(_LOCK)
            stored = connection.execute(there).one_or_none()
            if stored is None or stored.state == FAILED:
                if connection.execute(count).scalar_one() >= most_waiting:
                    return None
                if stored is None:
                    last = connection.execute(select(func.max(discoveries.c.number))).scalar_one()
                    row = {"number": (last or 0) + 1, **new._asdict(), **waiting}
                    connection.execute(insert(discoveries).values(**row))
                else:
                    again = update(discoveries).where(same)
                    connection.execute(again.values(**waiting, lists=new.lists))
                stored = connection.execute(there).one()
        return _stored_discovery(stored)

    def find(self, application: str, metric: str, number: int) -> StoredDiscovery | None:
        """A question about a metric; None if there is none with this number."""
        condition = discoveries.c.number == number
        with self._database.look_up() as connection:
            row = connection.execute(
                _select_of_metric(application, metric).where(condition)
            ).one_or_none()
        return None if row is None else _stored_discovery(row)

    def newest(self, application: str, metric: str, most: int) -> list[StoredDiscovery]:
        """The last questions about a metric, newest first.

        Args:
            most: how many, at most.
        """
        query = (
            _select_of_metric(application, metric).order_by(discoveries.c.number.desc()).limit(most)
        )
        with self._database.look_up() as connection:
            return [_stored_discovery(row) for row in connection.execute(query)]

    def before(self, application: str, metric: str, day: int) -> StoredDiscovery | None:
        """The result about the last days that all lie before a day; the newest of several.

        Args:
            day: in days since 1970-01-01.
        """
        earlier = discoveries.c.state == DONE, discoveries.c.until < day
        last = discoveries.c.until.desc(), discoveries.c.number.desc()
        query = _select_of_metric(application, metric).where(*earlier).order_by(*last).limit(1)
        with self._database.look_up() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else _stored_discovery(row)

    def result(self, number: int) -> bytes | None:
        """What was found, as JSON; None if there is no result."""
        query = select(discoveries.c.result).where(discoveries.c.number == number)
        with self._database.look_up() as connection:
            result = connection.execute(query).scalar_one_or_none()
        return None if result is None else bytes(result)

    def claim(self) -> tuple[StoredDiscovery, bytes] | None:
        """Takes the question that has waited longest, and its lists; None if none waits."""
        query = (
            select(*_columns, discoveries.c.lists)
            .where(discoveries.c.state == WAITING)
            .order_by(discoveries.c.number)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        with self._database.write() as connection:
            row = connection.execute(query).one_or_none()
            if row is None:
                return None
            condition = discoveries.c.number == row.number
            connection.execute(update(discoveries).where(condition).values(state=RUNNING))
        return _stored_discovery(row[:-1])._replace(state=RUNNING), bytes(row.lists or b"")

    def beat(self, number: int, stage: str, progress: float) -> bool:
        """Says that somebody works on a question, and how far the run is.

        Args:
            stage: what the run is doing.
            progress: how much of it is done, in [0, 1].

        Returns:
            Whether anybody still waits for it: False if the metric was removed, or the run is taken
            for dead.
        """
        values = {"beats": discoveries.c.beats + 1, "stage": stage, "progress": progress}
        return self._change(number, **values)

    def finish(self, number: int, result: bytes) -> bool:
        """Stores a result. Earlier results of the same question about the same metric are deleted.

        Args:
            result: JSON.

        Returns:
            Whether it was stored: False as of `beat`.
        """
        values = {"state": DONE, "progress": 1.0, "stage": "", "lists": None, "result": result}
        columns = discoveries.c.application, discoveries.c.metric, discoveries.c.question
        with self._database.write() as connection:
            row = connection.execute(
                select(*columns).where(discoveries.c.number == number)
            ).one_or_none()
            if row is None or not _change(connection, number, values):
                return False
            same = [column == value for column, value in zip(columns, row, strict=True)]
            ended = discoveries.c.state.in_([DONE, FAILED])
            connection.execute(
                delete(discoveries).where(*same, ended, discoveries.c.number < number)
            )
        return True

    def fail(self, number: int, why: str) -> bool:
        """Notes that a run has failed; whoever asks again starts another one.

        Args:
            why: for whoever asked.

        Returns:
            Whether it was noted: False as of `beat`.
        """
        return self._change(number, state=FAILED, lists=None, failure=why)

    def beats(self) -> dict[int, int]:
        """What the questions that are worked on were last told by `beat`, by their numbers."""
        query = select(discoveries.c.number, discoveries.c.beats)
        with self._database.look_up() as connection:
            rows = connection.execute(query.where(discoveries.c.state == RUNNING))
            return {number: beats for number, beats in rows}  # noqa: C416  rows are no pairs to mypy

    def waiting(self) -> int:
        """How many questions wait to be worked on."""
        query = select(func.count()).where(discoveries.c.state == WAITING)
        with self._database.look_up() as connection:
            return connection.execute(query).scalar_one()

    def _change(self, number: int, **values: Any) -> bool:
        with self._database.write() as connection:
            return _change(connection, number, values)


def delete_unkept_discoveries(connection: Connection, first: Any) -> None:
    """Deletes discoveries about days of which no reports are kept, and of removed metrics.

    Args:
        first: an expression over `metrics`: the first day of which reports are kept.
    """
    used = exists().where(
        metrics.c.application == discoveries.c.application,
        metrics.c.name == discoveries.c.metric,
        discoveries.c.until >= first,
    )
    connection.execute(delete(discoveries).where(~used))


def _select_of_metric(application: str, metric: str) -> Select[Any]:
    conditions = discoveries.c.application == application, discoveries.c.metric == metric
    return select(*_columns).where(*conditions)


def _change(connection: Connection, number: int, values: dict[str, Any]) -> bool:
    """Changes a question that is worked on."""
    conditions = discoveries.c.number == number, discoveries.c.state == RUNNING
    return connection.execute(update(discoveries).where(*conditions).values(**values)).rowcount > 0


def _stored_discovery(row: Sequence[Any] | Row[Any]) -> StoredDiscovery:
    stored = StoredDiscovery(*row)
    return stored._replace(tag=bytes(stored.tag))
