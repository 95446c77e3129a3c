"""The rows of a damaged SQLite table that can be read: of every page of its tree that is whole.

See https://www.sqlite.org/fileformat2.html, sections 1.6 and 2.
"""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from deniable_aggregator.keeping.store.page_file import PageFile, UnreadablePageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from sqlalchemy import Table

INDEX_INNER, TABLE_INNER, INDEX_LEAF, TABLE_LEAF = 2, 5, 10, 13
SCHEMA_PAGE, SCHEMA_HEADER_BYTES = 1, 100
SCHEMA_COLUMNS: Final = ("type", "name", "tbl_name", "rootpage", "sql")
VARINT_BYTES: Final = 9
INTEGER_BYTES: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""The bytes of a number, by its type in a record."""
FLOAT, ZERO, ONE, FIRST_OF_BYTES = 7, 8, 9, 12


class ReadableRows:
    """The rows of a damaged store, table by table, each once.

    A page that is not as SQLite writes it is passed over with what hangs on it; so is a row. Free
    pages, and what was deleted from others, are never read.

    Args:
        path: the store's file.

    Raises:
        UnreadablePageError: if not even the size of pages can be read.

    Attributes:
        gaps: how many pages and rows of the table that was read last could not be read.
    """

    def __init__(self, path: Path) -> None:
        self._pages = PageFile(path)
        self._visited = self._pages.free_pages()
        self._roots: dict[str, tuple[int, str]] = {}
        self.gaps = 0
        for _, values in self._tree(SCHEMA_PAGE, TABLE_LEAF):
            entry = dict(zip(SCHEMA_COLUMNS, values, strict=False))
            root, sql = entry.get("rootpage"), entry.get("sql")
            if entry["type"] == "table" and isinstance(root, int) and isinstance(sql, str):
                self._roots[str(entry["name"])] = root, sql

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pages.close()

    def of(self, table: Table) -> Iterator[dict[str, Any]]:
        """The rows of one of the store's tables, mostly in the order of its key.

        What is not a text where one is stored comes as bytes.
        """
        self.gaps = 0
        try:
            root, sql = self._roots[table.name]
            layout = _layout(table.name, sql)
        except (KeyError, sqlite3.Error):
            self.gaps += 1
            return
        names = [column.name for column in table.columns]
        for row_id, values in self._tree(root, INDEX_LEAF if layout.row_id is None else TABLE_LEAF):
            row = dict(zip(layout.columns, values, strict=False))
            if layout.row_id in names:
                row[layout.row_id] = row_id
            yield {name: row.get(name) for name in names}

    def _tree(self, number: int, leaf: int) -> Iterator[tuple[int | None, list[Any]]]:
        """The rows below a page: each with its row id, if it has one."""
        if number in self._visited:
            self.gaps += 1
            return
        self._visited.add(number)
        try:
            page = _Page(self._pages.read(number), number)
            if page.kind not in {leaf, TABLE_INNER if leaf == TABLE_LEAF else INDEX_INNER}:
                raise UnreadablePageError
            cells = page.cells()
        except (UnreadablePageError, struct.error):
            self.gaps += 1
            return
        for cell in cells:
            if page.is_inner:
                yield from self._tree(page.child(cell), leaf)
            if page.kind == TABLE_INNER:
                continue
            try:
                row = self._row(page, cell)
            except (UnreadablePageError, struct.error, IndexError):
                self.gaps += 1
            else:
                yield row
        if page.is_inner:
            yield from self._tree(page.last_child, leaf)

    def _row(self, page: _Page, at: int) -> tuple[int | None, list[Any]]:
        content = page.content
        at += 4 * page.is_inner
        size, at = _varint(content, at)
        row_id = None
        if page.kind == TABLE_LEAF:
            row_id, at = _varint(content, at)
            row_id -= (row_id >> 63) << 64  # it is signed
        return row_id, _values(self._payload(page, at, size))

    def _payload(self, page: _Page, at: int, size: int) -> bytes:
        """A record, of which a long one goes on in pages of its own."""
        usable = self._pages.usable_bytes
        most = usable - 35 if page.kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        least = (usable - 12) * 32 // 255 - 23
        if size > self._pages.pages * usable:
            raise UnreadablePageError
        local = size
        if size > most:
            local = least + (size - least) % (usable - 4)
            local = local if local <= most else least
        payload = bytearray(page.content[at : at + local])
        at += local
        if at > usable:
            raise UnreadablePageError
        if size > local:
            (following,) = struct.unpack_from(">I", page.content, at)
            while len(payload) < size:
                if following in self._visited:
                    raise UnreadablePageError
                self._visited.add(following)
                content = self._pages.read(following)
                (following,) = struct.unpack_from(">I", content)
                payload += content[4 : min(usable, 4 + size - len(payload))]
        return bytes(payload)


class _Page:
    """A page of a tree."""

    def __init__(self, content: bytes, number: int) -> None:
        self.content = content
        self._start = SCHEMA_HEADER_BYTES if number == SCHEMA_PAGE else 0
        self.kind = content[self._start]
        self.is_inner = self.kind in (INDEX_INNER, TABLE_INNER)

    def cells(self) -> list[int]:
        """Where the cells begin, in the order of the tree."""
        (number,) = struct.unpack_from(">H", self.content, self._start + 3)
        first = self._start + (12 if self.is_inner else 8)
        places = struct.unpack_from(f">{number}H", self.content, first)
        if any(place < first + 2 * number for place in places):
            raise UnreadablePageError
        return list(places)

    def child(self, cell: int) -> int:
        return int.from_bytes(self.content[cell : cell + 4], "big")

    @property
    def last_child(self) -> int:
        return self.child(self._start + 8)


class _Layout(NamedTuple):
    """How a table stands in its pages.

    Attributes:
        columns: in the order in which records have them.
        row_id: the column that is the row id, or nothing of it; None if rows have no id.
    """

    columns: list[str]
    row_id: str | None


def _layout(table: str, sql: str) -> _Layout:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(sql)
        described = connection.execute(f'PRAGMA table_info("{table}")').fetchall()
    key = sorted((place, name) for _, name, *_, place in described if place)
    names = [name for _, name, *_ in described]
    if sql.upper().rstrip().endswith("WITHOUT ROWID"):
        first = [name for _, name in key]
        return _Layout(first + [name for name in names if name not in first], None)
    types = {name: kind for _, name, kind, *_ in described}
    is_row_id = len(key) == 1 and types[key[0][1]].upper() == "INTEGER"
    return _Layout(names, key[0][1] if is_row_id else "")


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A number of 1 to 9 bytes, and where it ends."""
    value = 0
    for place in range(at, at + VARINT_BYTES - 1):
        byte = content[place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + 1
    return value << 8 | content[at + VARINT_BYTES - 1], at + VARINT_BYTES


def _values(record: bytes) -> list[Any]:
    """The values of a record; a text that is none comes as bytes."""
    end, at = _varint(record, 0)
    kinds = []
    while at < end:
        kind, at = _varint(record, at)
        kinds.append(kind)
    if at != end:
        raise UnreadablePageError
    values: list[Any] = []
    for kind in kinds:
        if kind in (0, ZERO, ONE):
            values.append(None if kind == 0 else kind - ZERO)
            continue
        if kind >= FIRST_OF_BYTES:
            size = (kind - FIRST_OF_BYTES) // 2
        elif kind == FLOAT:
            size = 8
        elif kind in INTEGER_BYTES:
            size = INTEGER_BYTES[kind]
        else:
            raise UnreadablePageError
        part = record[at : at + size]
        at += size
        if len(part) < size:
            raise UnreadablePageError
        values.append(_value(kind, part))
    if at != len(record):
        raise UnreadablePageError
    return values


def _value(kind: int, part: bytes) -> int | float | bytes | str:
    if kind == FLOAT:
        (number,) = struct.unpack(">d", part)
        return float(number)
    if kind < FLOAT:
        return int.from_bytes(part, "big", signed=True)
    if kind % 2:
        try:
            return part.decode()
        except UnicodeDecodeError:
            return part
    return part
