"""The rows of a damaged SQLite table that can be read, found around those that cannot."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Table

MOST_STEPS: Final = 1 << 63
MOST_ROWS: Final = 256
SINGLE_STEPS: Final = 512
"""Days and keys are tried one by one, so that no readable ones between two gaps are passed over."""


class ReadableRows:
    """The rows of a table that can be read, each once.

    They come by their key up to a row that cannot be read. Behind it the least key is looked for
    from which rows can be read again, by single and then doubling steps of the last number in the
    key and halving them; then by its last but one. What no number leads to is read from the end of
    the table.

    Args:
        connection: to the damaged file.
        table: one of the store's.

    Attributes:
        gaps: how often rows could not be read.
    """

    def __init__(self, connection: sqlite3.Connection, table: Table) -> None:
        self._connection = connection
        self._table = table.name
        self._key = [column.name for column in table.primary_key.columns]
        self._columns = [column.name for column in table.columns]
        self._is_gap = False
        self.gaps = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        reached: tuple[Any, ...] | None = None
        while True:
            for row in self._up_to_gap(reached):
                reached = self._place(row)
                yield row
            if not self._is_gap:
                return
            self.gaps += 1
            behind = None if reached is None else self._behind(reached)
            if behind is None:
                break
            reached = behind
        yield from self._backwards(reached)

    def _up_to_gap(
        self, after: tuple[Any, ...] | None, *, backwards: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Rows in order, up to the end of the table or to one that cannot be read.

        They are asked for some at a time, and fewer where that fails: of an answer that fails
        later, not even the rows before can be relied on.
        """
        most = MOST_ROWS
        while True:
            try:
                rows = self._rows(after=after, backwards=backwards, most=most)
            except sqlite3.DatabaseError:
                if most == 1:
                    self._is_gap = True
                    return
                most = max(1, most // 4)
                continue
            yield from rows
            if len(rows) < most:
                self._is_gap = False
                return
            after = self._place(rows[-1])

    def _rows(
        self, *, after: tuple[Any, ...] | None, backwards: bool = False, most: int
    ) -> list[dict[str, Any]]:
        key, columns = (", ".join(f'"{n}"' for n in names) for names in (self._key, self._columns))
        compares = "<" if backwards else ">"
        where = f"WHERE ({key}) {compares} ({', '.join('?' * len(self._key))})" if after else ""
        order = ", ".join(f'"{name}" {"DESC" if backwards else "ASC"}' for name in self._key)
        query = f'SELECT {columns} FROM "{self._table}" {where} ORDER BY {order} LIMIT {most}'  # noqa: S608  names of our schema
        rows = self._connection.execute(query, after or ()).fetchall()
        return [dict(zip(self._columns, row, strict=True)) for row in rows]

    def _place(self, row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in self._key)

    def _is_readable(self, after: tuple[Any, ...]) -> bool:
        try:
            self._rows(after=after, most=1)
        except sqlite3.DatabaseError:
            return False
        return True

    def _behind(self, reached: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The least key found from which rows can be read again; None if no number leads there."""
        for place in range(len(reached) - 1, -1, -1):
            steps = _Steps(reached, place)
            high = 1
            while high < steps.most and not self._is_readable(steps.key(high)):
                high = high + 1 if high < SINGLE_STEPS else 2 * high
            if high >= steps.most:
                continue
            low = high - 1 if high <= SINGLE_STEPS else high // 2
            while high - low > 1:
                middle = (low + high) // 2
                if self._is_readable(steps.key(middle)):
                    high = middle
                else:
                    low = middle
            return steps.key(high)
        return None

    def _backwards(self, reached: tuple[Any, ...] | None) -> Iterator[dict[str, Any]]:
        try:
            for row in self._up_to_gap(None, backwards=True):
                if reached is not None and self._place(row) <= reached:
                    return
                yield row
        except TypeError:  # a key of another type
            return


class _Steps:
    """Keys some steps behind another, in one of its places; of texts there are none."""

    def __init__(self, start: tuple[Any, ...], place: int) -> None:
        self._start, self._place = start, place
        value = start[place]
        self._length = len(value) if isinstance(value, bytes) else 0
        if isinstance(value, int):
            self._value, self.most = value, MOST_STEPS - abs(value)
        elif self._length:
            self._value = int.from_bytes(value)
            self.most = (1 << 8 * self._length) - self._value
        else:
            self._value, self.most = 0, 0

    def key(self, steps: int) -> tuple[Any, ...]:
        value: Any = self._value + steps
        if self._length:
            value = value.to_bytes(self._length)
        # NULL is before all values, so the places behind are read from their beginning.
        behind = (_least(each) for each in self._start[self._place + 1 :])
        return (*self._start[: self._place], value, *behind)


def _least(value: Any) -> Any:
    """What is before every value of this type in a key."""
    return -MOST_STEPS if isinstance(value, int) else type(value)()
