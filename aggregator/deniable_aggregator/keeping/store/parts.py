"""The rows of tallies: their parts are found, read, added and deleted inside a transaction."""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite

from deniable_aggregator.keeping.store.base import in_chunks
from deniable_aggregator.keeping.store.schema import epochs, keys, tallies, tally_rests, totals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any


PART_BITS: Final = 44
"""Two parts of a store are unlikely to have the same id, and the ids of a day's parts add up."""

WHOLE_BYTES: Final = 256
"""A part of up to so many bytes stands in its row; of a longer one only the first byte does."""

_slice: Final = (tallies.c.metric, tallies.c.epoch, tallies.c.key)

PART_COLUMNS: Final = (
    *_slice,
    tallies.c.part,
    tallies.c.reports,
    tallies.c.size,
    tallies.c.largest,
    func.substr(tallies.c.body, 1, 1),
)
"""What `stored_part` is made of."""

# A short part of another slice may have the id of a long one.
_continues: Final = and_(
    tallies.c.part == tally_rests.c.part, tallies.c.size > func.length(tallies.c.body)
)


class SliceNumbers(NamedTuple):
    """What identifies a slice in the table: the numbers of a metric, a day and a write key."""

    metric: int
    epoch: int
    key: int


class StoredPart(NamedTuple):
    """A part that is stored, without its body.

    Attributes:
        where: the slice that it belongs to.
        part: its id.
        reports: how many reports it counts.
        size: the length of its body.
        largest: the most reports that one upload brought; 0 if that is not known.
        form: the first byte of its body.
    """

    where: SliceNumbers
    part: int
    reports: int
    size: int
    largest: int
    form: bytes


class NewPart(NamedTuple):
    """A part to store.

    Attributes:
        reports: how many reports it counts.
        body: its bytes.
        largest: the most reports that one upload brought; 0 if that is not known.
    """

    reports: int
    body: bytes
    largest: int = 0


def key_ids(connection: Connection) -> dict[int, str]:
    """The ids of all keys, by number."""
    rows = connection.execute(select(keys.c.number, keys.c.id))
    return {number: key_id for number, key_id in rows}  # noqa: C416  rows are not pairs to mypy


def stored_part(row: Sequence[Any]) -> StoredPart:
    """A part from a row of `PART_COLUMNS`."""
    *where, part, reports, size, largest, form = row
    return StoredPart(SliceNumbers(*where), part, reports, size, largest, bytes(form))


def lock_parts(
    connection: Connection, slices: Sequence[SliceNumbers]
) -> dict[SliceNumbers, list[StoredPart]]:
    """The parts of slices, locked where rows can be locked, without those that others locked."""
    parts: defaultdict[SliceNumbers, list[StoredPart]] = defaultdict(list)
    for chunk in in_chunks(slices):
        query = select(*PART_COLUMNS).where(tuple_(*_slice).in_(chunk))
        for part in map(stored_part, connection.execute(query.with_for_update(skip_locked=True))):
            parts[part.where].append(part)
    return parts


def read_bodies(connection: Connection, parts: Iterable[StoredPart]) -> dict[int, bytes]:
    """The bodies of parts, by id; those that are gone are left out."""
    bodies: dict[int, bytes] = {}
    for chunk in in_chunks([(*part.where, part.part) for part in parts]):
        query = (
            select(tallies.c.part, tallies.c.body, tally_rests.c.rest)
            .join_from(tallies, tally_rests, _continues, isouter=True)
            .where(tuple_(*_slice, tallies.c.part).in_(chunk))
        )
        for part, body, remainder in connection.execute(query):
            bodies[part] = bytes(body) if remainder is None else bytes(body) + bytes(remainder)
    return bodies


def read_rests(connection: Connection, parts: Sequence[int]) -> dict[int, bytes]:
    """What follows the first byte of long parts, by id."""
    if not parts:
        return {}
    query = select(tally_rests).where(tally_rests.c.part.in_(parts))
    return {part: remainder for part, remainder in connection.execute(query)}  # noqa: C416  as above


def insert_parts(
    connection: Connection, parts: Sequence[tuple[SliceNumbers, NewPart]]
) -> list[int]:
    """Adds parts, without waiting for others who add parts; returns their ids."""
    rows: list[dict[str, Any]] = []
    rests: list[dict[str, Any]] = []
    for where, (reports, body, largest) in parts:
        row = {
            "part": secrets.randbits(PART_BITS),
            "reports": reports,
            "size": len(body),
            "largest": largest,
        }
        whole = len(body) <= WHOLE_BYTES
        rows.append({**where._asdict(), **row, "body": body if whole else body[:1]})
        if not whole:
            rests.append({"part": row["part"], "rest": body[1:]})
    if rows:
        connection.execute(insert(tallies), rows)
    if rests:
        connection.execute(insert(tally_rests), rests)
    return [row["part"] for row in rows]


def delete_parts(connection: Connection, parts: Iterable[StoredPart]) -> int:
    """Deletes parts; returns how many were still there."""
    deleted = 0
    for chunk in in_chunks(list(parts)):
        condition = tuple_(*_slice, tallies.c.part).in_(
            [(*part.where, part.part) for part in chunk]
        )
        deleted += connection.execute(delete(tallies).where(condition)).rowcount
        long = [part.part for part in chunk if part.size > WHOLE_BYTES]
        connection.execute(delete(tally_rests).where(tally_rests.c.part.in_(long)))
    return deleted


def add_to_totals(connection: Connection, reports: Mapping[tuple[int, int], int]) -> None:
    """Changes totals, by the numbers of metric and key; the last step of a transaction.

    All transactions change them in the same order, and only when nothing else is left to do, so
    none waits long for another, and no two for each other.
    """
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    rows = [
        {"metric": metric, "key": key, "reports": number}
        for (metric, key), number in sorted(reports.items())
        if number
    ]
    if rows:
        adding = dialect.insert(totals)
        adding = adding.on_conflict_do_update(
            index_elements=[totals.c.metric, totals.c.key],
            set_={"reports": totals.c.reports + adding.excluded.reports},
        )
        connection.execute(adding, rows)


def sum_by_total(parts: Iterable[tuple[SliceNumbers, int]]) -> Counter[tuple[int, int]]:
    """Numbers of reports by the numbers of metric and key."""
    sums: Counter[tuple[int, int]] = Counter()
    for where, reports in parts:
        sums[where.metric, where.key] += reports
    return sums


def unsettle(connection: Connection, days: Iterable[int]) -> None:
    """Says of closed days that their tallies may have to be merged again.

    A transaction that settles one of these days, and this one, wait for each other.
    """
    closed = epochs.c.epoch.in_(sorted(set(days))), epochs.c.key.is_(None)
    lock_days(connection, closed)
    connection.execute(update(epochs).where(*closed).values(settled=None))


def lock_days(connection: Connection, conditions: Sequence[ColumnElement[bool]]) -> None:
    """Locks days where rows can be locked, in their order, so that nobody deadlocks."""
    query = select(epochs.c.epoch).where(*conditions).order_by(epochs.c.epoch).with_for_update()
    connection.execute(query).all()
