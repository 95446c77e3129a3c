"""What a store holds, read with the database's own driver and not with the tested program."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

QUERIES = {
    "inbox": "SELECT digest, epoch, key, payload FROM inbox",
    "set_aside": "SELECT digest, epoch, key, payload FROM set_aside",
    "tallies": "SELECT digest, epoch, key, cells, reports FROM tallies",
    "epochs": "SELECT epoch, key FROM epochs",
    "seen": "SELECT DISTINCT epoch FROM seen",
    "keys": "SELECT id FROM keys WHERE excluded IS NOT NULL",
}
CELL_BYTES = 8


class Place(NamedTuple):
    """One cell of a tally: reports of one spec, day, key and item."""

    digest: bytes
    epoch: int
    key: str
    cell: int


@dataclass
class Contents:
    """What a store holds.

    Attributes:
        waiting: reports in the inbox.
        aside: reports in rows that were set aside.
        counted: reports in tallies.
        miscounted: how many parts of tallies have another number of reports than their cells.
        open_days: days with a key.
        closed_days: days without a key.
        remembered_days: days with remembered upload ids.
        excluded: keys whose reports are left out of estimates.
    """

    waiting: Counter[Place] = field(default_factory=Counter)
    aside: Counter[Place] = field(default_factory=Counter)
    counted: Counter[Place] = field(default_factory=Counter)
    miscounted: int = 0
    open_days: set[int] = field(default_factory=set)
    closed_days: set[int] = field(default_factory=set)
    remembered_days: set[int] = field(default_factory=set)
    excluded: set[str] = field(default_factory=set)

    def everything(self) -> Counter[Place]:
        """All reports, wherever they are."""
        return self.waiting + self.aside + self.counted


def of_file(path: Path) -> Contents:
    """The contents of an SQLite store."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        connection.execute("BEGIN")
        return _read(lambda query: connection.execute(query).fetchall())


def of_server(connection: Any) -> Contents:
    """The contents of a PostgreSQL store.

    Args:
        connection: of psycopg, whose search path has the store's schema.
    """
    return _read(lambda query: connection.execute(query).fetchall())


def _read(rows: Callable[[str], list[tuple[Any, ...]]]) -> Contents:
    found = Contents()
    for table, places in (("inbox", found.waiting), ("set_aside", found.aside)):
        for digest, epoch, key, payload in rows(QUERIES[table]):
            # A report of these metrics is one byte: the item.
            for cell, times in Counter(bytes(payload)).items():
                places[Place(bytes(digest), epoch, key, cell)] += times
    for digest, epoch, key, cells, reports in rows(QUERIES["tallies"]):
        packed = bytes(cells)
        numbers = [
            int.from_bytes(packed[start : start + CELL_BYTES], "little", signed=True)
            for start in range(0, len(packed), CELL_BYTES)
        ]
        found.miscounted += sum(numbers) != reports
        for cell, times in enumerate(numbers):
            if times:
                found.counted[Place(bytes(digest), epoch, key, cell)] += times
    for epoch, key in rows(QUERIES["epochs"]):
        (found.closed_days if key is None else found.open_days).add(epoch)
    found.remembered_days = {epoch for (epoch,) in rows(QUERIES["seen"])}
    found.excluded = {key for (key,) in rows(QUERIES["keys"])}
    return found
