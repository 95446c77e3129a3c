"""What a store holds, read with the database's own driver and not with the tested program."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgpack
import zstandard

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REPORTS, COMPRESSED_REPORTS, SECTIONS = 128, 129, 16
"""First bytes of parts; those below `SECTIONS` are the bytes of each counter."""

QUERIES = {
    "inbox": "SELECT digest, epoch, key, payload, gathered, is_full FROM inbox",
    "shown": "SELECT day FROM shown",
    "set_aside": "SELECT digest, epoch, key, payload FROM set_aside",
    "tallies": """
        SELECT metrics.digest, epoch, keys.id, tallies.part, reports, size, body, rest
        FROM tallies
        LEFT JOIN metrics ON metrics.number = metric
        LEFT JOIN keys ON keys.number = key
        LEFT JOIN tally_rests ON tally_rests.part = tallies.part""",
    "rests": "SELECT part FROM tally_rests",
    "totals": """
        SELECT metrics.digest, keys.id, reports FROM totals
        LEFT JOIN metrics ON metrics.number = metric LEFT JOIN keys ON keys.number = key""",
    "settled": "SELECT epoch FROM epochs WHERE settled IS NOT NULL",
    "epochs": "SELECT epoch, key FROM epochs",
    "relayed": "SELECT digest, epoch, key, batch, reports FROM relayed",
    "relayed_sizes": "SELECT digest, epoch, key, least, reports FROM relayed_sizes",
    "seen": "SELECT DISTINCT epoch FROM seen",
    "keys": "SELECT id FROM keys WHERE excluded IS NOT NULL",
}


Slice: TypeAlias = "tuple[bytes, int, str]"
"""Digest, day and id of the key."""


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
        due: slices with gathered reports that are to be shown.
        full: slices with a batch that waits for the next one.
        shown_day: the last day at whose begin all that waited became due.
        aside: reports in rows that were set aside.
        counted: reports in tallies.
        miscounted: what contradicts itself: a part and its number of reports or its size, totals
            and the parts that they sum, the rest of a part that is not there.
        packed: days with parts that are stored as their reports.
        settled_days: days whose tallies have their final form.
        split_days: days with slices in more than one part.
        open_days: days with a key.
        closed_days: days without a key.
        remembered_days: days with remembered upload ids.
        excluded: keys whose reports are left out of estimates.
        groups: relayed uploads of open days, by slice and batch.
        relayed: those of closed days, by slice.
    """

    waiting: Counter[Place] = field(default_factory=Counter)
    due: set[Slice] = field(default_factory=set)
    full: set[Slice] = field(default_factory=set)
    shown_day: int = 0
    aside: Counter[Place] = field(default_factory=Counter)
    counted: Counter[Place] = field(default_factory=Counter)
    miscounted: list[str] = field(default_factory=list)
    packed: set[int] = field(default_factory=set)
    settled_days: set[int] = field(default_factory=set)
    split_days: set[int] = field(default_factory=set)
    open_days: set[int] = field(default_factory=set)
    closed_days: set[int] = field(default_factory=set)
    remembered_days: set[int] = field(default_factory=set)
    excluded: set[str] = field(default_factory=set)
    groups: Counter[tuple[Slice, bytes]] = field(default_factory=Counter)
    relayed: Counter[Slice] = field(default_factory=Counter)

    def everything(self) -> Counter[Place]:
        """All reports, wherever they are."""
        return self.waiting + self.aside + self.counted

    def shown(self) -> Counter[Slice]:
        """How many reports each slice has in tallies."""
        reports: Counter[Slice] = Counter()
        for place, times in self.counted.items():
            reports[place[:3]] += times
        return reports


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
    found.shown_day = max((day for (day,) in rows(QUERIES["shown"])), default=0)
    for table, places in (("inbox", found.waiting), ("set_aside", found.aside)):
        for digest, epoch, key, payload, *how in rows(QUERIES[table]):
            # A report of these metrics is one byte: the item.
            for cell, times in Counter(bytes(payload)).items():
                places[Place(bytes(digest), epoch, key, cell)] += times
            if how and how[0] is not None:
                if how[0] < found.shown_day:
                    found.due.add((bytes(digest), epoch, key))
                elif how[1]:
                    found.full.add((bytes(digest), epoch, key))
    totals: Counter[tuple[bytes, str]] = Counter()
    parts: Counter[tuple[bytes, int, str]] = Counter()
    ids = set()
    for digest, epoch, key, part, reports, size, head, rest in rows(QUERIES["tallies"]):
        body = bytes(head) + bytes(rest or b"")
        numbers = _decoded(body)
        if len(body) != size or sum(numbers.values()) != reports:
            found.miscounted.append(f"a part of {reports} reports and {size} bytes: {body!r}")
        if body[0] == REPORTS:
            found.packed.add(epoch)
        for cell, times in numbers.items():
            found.counted[Place(bytes(digest), epoch, key, cell)] += times
        totals[bytes(digest), key] += reports
        parts[bytes(digest), epoch, key] += 1
        ids.add(part)
    found.split_days = {epoch for (_, epoch, _), number in parts.items() if number > 1}
    stored = {(bytes(digest), key): number for digest, key, number in rows(QUERIES["totals"])}
    if {place: number for place, number in stored.items() if number} != dict(totals):
        found.miscounted.append(f"totals are {stored}, and parts have {totals}")
    if {part for (part,) in rows(QUERIES["rests"])} - ids:
        found.miscounted.append("the rest of a part that is not there")
    for digest, epoch, key, batch, reports in rows(QUERIES["relayed"]):
        found.groups[(bytes(digest), epoch, key), bytes(batch)] += reports
    for digest, epoch, key, least, reports in rows(QUERIES["relayed_sizes"]):
        found.relayed[bytes(digest), epoch, key] += reports
        if least & (least - 1) or not 1 <= least <= reports:
            found.miscounted.append(f"{reports} uploads in groups of at least {least}")
    found.settled_days = {epoch for (epoch,) in rows(QUERIES["settled"])}
    for epoch, key in rows(QUERIES["epochs"]):
        (found.closed_days if key is None else found.open_days).add(epoch)
    found.remembered_days = {epoch for (epoch,) in rows(QUERIES["seen"])}
    found.excluded = {key for (key,) in rows(QUERIES["keys"])}
    return found


def _decoded(body: bytes) -> Counter[int]:
    """How often each item is in a part, by the description of the format and not by its code."""
    if body[0] == REPORTS:
        return Counter(body[1:])
    if body[0] == COMPRESSED_REPORTS:
        return Counter(_decompressed(body[2:]))  # one column, as a report is one byte
    if body[0] < SECTIONS:
        width = body[0]
        cells = [body[at : at + width] for at in range(1, len(body), width)]
        numbers = [int.from_bytes(cell, "little") for cell in cells]
    else:
        numbers = [number for section in msgpack.unpackb(body[1:]) for number in _section(*section)]
    return Counter({cell: times for cell, times in enumerate(numbers) if times})


def _section(cells: int, least: int, size: int, form: int, content: bytes) -> list[int]:
    if form == 0:
        return [
            least + int.from_bytes(content[at : at + size], "little")
            for at in range(0, len(content), size)
        ]
    content = _decompressed(content)
    length = len(content) // size
    planes = [content[at : at + length] for at in range(0, len(content), length)]
    if form == 3:
        gaps = [int.from_bytes(bytes(column), "little") for column in zip(*planes, strict=True)]
        places = Counter(accumulate(gaps))
        return [least + places[cell] for cell in range(cells)]
    if form == 1:
        return [
            least + int.from_bytes(bytes(column), "little") for column in zip(*planes, strict=True)
        ]
    bits = [f"{int.from_bytes(plane, 'big'):0{8 * length}b}" for plane in planes]
    columns = list(zip(*bits, strict=True))[:cells]
    return [least + sum((bit == "1") << at for at, bit in enumerate(each)) for each in columns]


def _decompressed(frame: bytes) -> bytes:
    return zstandard.ZstdDecompressor(format=zstandard.FORMAT_ZSTD1_MAGICLESS).decompress(frame)
