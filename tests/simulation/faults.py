"""A database that reports where it is, so that something can go wrong exactly there."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import event

from deniable_aggregator.keeping.store.base import Database, IngestTransaction, RelayGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

    from deniable_aggregator.keeping.store.base import InboxRow, Result, UploadName

Reached: TypeAlias = "Callable[[str, bool], None]"
"""Called at every point with its name, and whether it lies outside of all transactions."""


class Crash(BaseException):
    """The process ends here. No code of the program may catch this."""


class PointedDatabase(Database):
    """A database whose transactions have named points.

    Args:
        inner: the real one.
        reached: called at each point; may raise, and does whatever is to happen there.
    """

    def __init__(self, inner: Database, reached: Reached) -> None:
        self._inner = inner
        self._reached = reached
        self.name = inner.name
        self.locks_rows = inner.locks_rows
        self._connections: list[Any] = [inner._driver] if hasattr(inner, "_driver") else []
        for name in ("_writer", "_writing", "_ingesting", "_reading"):
            engine = getattr(inner, name, None)
            if engine is not None:
                event.listen(engine, "connect", lambda each, _: self._connections.append(each))
                if name.startswith("_writ"):
                    event.listen(engine, "after_cursor_execute", self._executed)

    def abandon(self) -> None:
        """What the system does when a process dies: its transactions are undone."""
        for connection in self._connections:
            if isinstance(connection, sqlite3.Connection):
                with suppress(sqlite3.ProgrammingError):  # it is closed
                    connection.rollback()
            else:
                connection.close()

    def _executed(self, _: Any, __: Any, statement: str, *___: Any) -> None:
        first, *others = statement.split()
        table = next((word for word in others if word.isidentifier() and word.islower()), "")
        self._reached(f"after {first} {table}".strip(), False)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """As the real one; statements are points too."""
        self._reached("before a transaction", True)
        with self._inner.write() as connection:
            yield connection
            self._reached("before commit", False)
        self._reached("after commit", True)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """As the real one."""
        self._reached("before reading", True)
        with self._inner.read() as connection:
            yield connection
        self._reached("after reading", True)

    def ingest(self, work: Callable[[IngestTransaction], Result]) -> Result:
        """As the real one."""

        def pointed(step: IngestTransaction) -> Result:
            self._reached("within ingest", False)
            answer = work(_PointedAppending(step, self._reached))
            self._reached("before commit of ingest", False)
            return answer

        self._reached("before ingest", True)
        answer = self._inner.ingest(pointed)
        self._reached("after commit of ingest", True)
        return answer

    def purge(self) -> None:
        """As the real one."""
        self._reached("before purge", True)
        self._inner.purge()
        self._reached("after purge", True)

    def empty_log(self) -> None:
        """As the real one."""
        self._inner.empty_log()

    def shrink(self, most_bytes: int) -> bool:
        """As the real one."""
        return self._inner.shrink(most_bytes)

    def alone(self, purpose: str) -> AbstractContextManager[None]:
        """As the real one."""
        return self._inner.alone(purpose)

    def close(self) -> None:
        """As the real one."""
        self._inner.close()


class _PointedAppending(IngestTransaction):
    def __init__(self, inner: IngestTransaction, reached: Reached) -> None:
        self._inner = inner
        self._reached = reached

    def epoch_keys(self, wanted: Collection[int]) -> Mapping[int, bytes | None]:
        found = self._inner.epoch_keys(wanted)
        self._reached("after the days' keys", False)
        return found

    def remember_uploads(self, names: Sequence[UploadName]) -> set[UploadName]:
        fresh = self._inner.remember_uploads(names)
        self._reached("after remembering", False)
        return fresh

    def append_rows(self, rows: Sequence[InboxRow]) -> None:
        self._inner.append_rows(rows)
        self._reached("after appending", False)

    def count_relayed(self, groups: Mapping[RelayGroup, int]) -> None:
        self._inner.count_relayed(groups)
        self._reached("after counting groups", False)
