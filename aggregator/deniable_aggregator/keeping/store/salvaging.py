"""What can still be read of a damaged SQLite file, in a new store.

Rows are read page by page, along the trees of tables, so that free pages and what was deleted are
never looked at. Of closed days no key comes back, also where the log that deleted it is lost.
"""

from __future__ import annotations

import secrets
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    BigInteger,
    Integer,
    LargeBinary,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
    update,
)

from deniable_aggregator.keeping.audit import AuditAction, record_from_command_line
from deniable_aggregator.keeping.store.backup import atomic_file
from deniable_aggregator.keeping.store.base import StoreRefusedError, is_url
from deniable_aggregator.keeping.store.checking import broken_parts
from deniable_aggregator.keeping.store.keys import AuditLog, append
from deniable_aggregator.keeping.store.opening import open_database, require_existing
from deniable_aggregator.keeping.store.page_file import UnreadablePageError
from deniable_aggregator.keeping.store.readable_rows import ReadableRows
from deniable_aggregator.keeping.store.schema import (
    epochs,
    estimated_periods,
    estimates,
    keys,
    metadata,
    metrics,
    revision,
    rolled_periods,
    seen,
    sessions,
    tallies,
    tally_rests,
    totals,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection

    from deniable_aggregator.counting.tallies import Tally

MADE_AGAIN: Final = (revision, sessions, totals, estimates, estimated_periods)
"""Not copied: people sign in again, sums are added up, and the SQL table is written anew."""

BATCH_ROWS: Final = 500
HASH_BYTES: Final = 32
ID_BYTES: Final = 8


@dataclass
class Salvaged:
    """What was copied into a new store, and what was not.

    Attributes:
        rows: how many rows of each table were copied.
        gaps: how often rows of a table could not be read or kept, by its name.
        reports: counted reports in the new store, by application and metric.
        lost: counted reports that are not in it, by application and metric; of metrics whose sums
            could be read.
        days: the days of which parts could be read and not kept, by application and metric.
    """

    rows: Counter[str] = field(default_factory=Counter)
    gaps: Counter[str] = field(default_factory=Counter)
    reports: Counter[tuple[str, str]] = field(default_factory=Counter)
    lost: Counter[tuple[str, str]] = field(default_factory=Counter)
    days: dict[tuple[str, str], set[int]] = field(default_factory=dict)

    def days_of(self, name: tuple[str, str]) -> list[int]:
        """The days of an application's metric of which parts were dropped, in order."""
        return sorted(self.days.get(name, ()))


def salvage(
    damaged: Path,
    file: Path,
    tally_of: Callable[[str | Path], Callable[[bytes], Tally | None]],
    progress: Callable[[int, int], None],
) -> Salvaged:
    """Copies what can be read and kept of a damaged store into a new one.

    Sums are added up anew, and the SQL table is written by the next server. Keys that are lost are
    added again, revoked, where reports came with them. A day whose row is lost is closed.

    Args:
        damaged: the store's file; no server may use it.
        file: must not exist. It becomes a store.
        tally_of: makes, of a store with metrics, what counts the reports of a version.
        progress: called with the number of tables that are done and of all.

    Raises:
        StoreRefusedError: if there is no such file, the other one exists, or nothing can be read.
    """
    if is_url(damaged):
        raise StoreRefusedError(
            "salvage reads SQLite files. PostgreSQL can skip what it cannot read by itself: see "
            "zero_damaged_pages in its manual, then: deniable store export"
        )
    require_existing(damaged)
    salvaged = Salvaged()
    tables = [table for table in metadata.sorted_tables if table not in MADE_AGAIN]
    try:
        origin = ReadableRows(damaged)
    except (UnreadablePageError, OSError) as error:
        raise StoreRefusedError(f"{damaged}: nothing can be read of it") from error
    with origin, atomic_file(file) as part:
        with closing(open_database(part)) as database, database.write() as writing:
            for done, table in enumerate(tables):
                progress(done, len(tables))
                _copy(origin, writing, table, salvaged)
            sums = _sums(origin)
        counting = tally_of(part)
        with closing(open_database(part)) as database:
            kept = AuditLog(database).newest_details(AuditAction.RETENTION_SET)
        with closing(open_database(part)) as database, database.write() as writing:
            _drop_parts(writing, counting, salvaged)
            _close_days(writing, None if kept is None else kept["accept_days"])
            _add_lost_keys(writing)
            _add_up(writing, sums, salvaged)
            record = record_from_command_line(
                AuditAction.STORE_SALVAGE, rows=salvaged.rows.total(), lost=salvaged.lost.total()
            )
            append(writing, record)
    progress(len(tables), len(tables))
    return salvaged


def _copy(origin: ReadableRows, writing: Connection, table: Table, salvaged: Salvaged) -> None:
    batch: list[dict[str, Any]] = []
    for row in origin.of(table):
        if _fits(row, table):
            batch.append(row)
        else:
            salvaged.gaps[table.name] += 1
        if len(batch) >= BATCH_ROWS:
            salvaged.rows[table.name] += _insert(writing, table, batch)
            batch = []
    salvaged.rows[table.name] += _insert(writing, table, batch)
    salvaged.gaps[table.name] += origin.gaps


def _insert(writing: Connection, table: Table, batch: list[dict[str, Any]]) -> int:
    """Adds rows, but for those whose key or another unique value is there already."""
    if not batch:
        return 0
    return writing.execute(insert(table).prefix_with("OR IGNORE"), batch).rowcount


def _fits(row: dict[str, Any], table: Table) -> bool:
    """Whether each value of a row has its column's type."""
    for column in table.columns:
        value = row[column.name]
        if value is None:
            if not column.nullable:
                return False
        elif isinstance(column.type, Integer | BigInteger):
            if not isinstance(value, int):
                return False
        elif isinstance(column.type, LargeBinary):
            if not isinstance(value, bytes):
                return False
        elif isinstance(column.type, Text) and not isinstance(value, str):
            return False
    return True


def _sums(origin: ReadableRows) -> Counter[int]:
    """How many reports of each metric were counted, by its number."""
    sums: Counter[int] = Counter()
    for row in origin.of(totals):
        if _fits(row, totals):
            sums[row["metric"]] += row["reports"]
    return sums


def _names(connection: Connection) -> dict[int, tuple[str, str]]:
    query = select(metrics.c.number, metrics.c.application, metrics.c.name)
    return {number: (application, name) for number, application, name in connection.execute(query)}


def _drop_parts(
    writing: Connection, tally_of: Callable[[bytes], Tally | None], salvaged: Salvaged
) -> None:
    """Drops parts that are not whole, cannot be read, or are of no metric."""
    query = select(metrics.c.number, metrics.c.digest)
    versions = {number: bytes(digest) for number, digest in writing.execute(query)}
    known = select(metrics.c.number)
    for table in (tallies, rolled_periods):
        writing.execute(delete(table).where(table.c.metric.not_in(known)))
    names = _names(writing)
    for number, digest in versions.items():
        for part, _ in list(broken_parts(writing, number, tally_of(digest))):
            writing.execute(
                delete(tallies).where(
                    tallies.c.metric == number,
                    tallies.c.epoch == part.where.epoch,
                    tallies.c.key == part.where.key,
                    tallies.c.part == part.part,
                )
            )
            salvaged.days.setdefault(names[number], set()).add(part.where.epoch)
    writing.execute(delete(tally_rests).where(tally_rests.c.part.not_in(select(tallies.c.part))))


def _close_days(writing: Connection, accept_days: int | None) -> None:
    """Closes days that are too old or whose row is lost; upkeep gives all their final form anew."""
    writing.execute(update(epochs).values(settled=None))
    days = select(tallies.c.epoch).distinct().union(select(seen.c.epoch).distinct())
    known = set(writing.execute(select(epochs.c.epoch)).scalars())
    lost = set(writing.execute(days).scalars()) - known
    if lost:
        rows = [{"epoch": epoch, "key": None, "settled": None} for epoch in sorted(lost)]
        writing.execute(insert(epochs), rows)
    newest = writing.execute(select(func.max(epochs.c.epoch))).scalar_one_or_none()
    if accept_days is not None and newest is not None:
        old = epochs.c.epoch < newest - accept_days
        writing.execute(update(epochs).where(old).values(key=None))
    closed = select(epochs.c.epoch).where(epochs.c.key.is_(None))
    writing.execute(delete(seen).where(seen.c.epoch.in_(closed)))


def _add_lost_keys(writing: Connection) -> None:
    """Adds keys that reports came with and whose rows are lost, with a hash that no token has."""
    known = select(keys.c.number)
    query = (
        select(tallies.c.key, func.min(metrics.c.application))
        .join_from(tallies, metrics, tallies.c.metric == metrics.c.number)
        .where(tallies.c.key.not_in(known))
        .group_by(tallies.c.key)
    )
    today = record_from_command_line(AuditAction.STORE_SALVAGE).day
    for number, application in writing.execute(query).all():
        writing.execute(
            insert(keys).values(
                number=number,
                id=secrets.token_hex(ID_BYTES),
                hash=secrets.token_bytes(HASH_BYTES),
                scope="write",
                application=application,
                label="lost",
                created=today,
                revoked=today,
                intake_bytes=0,
                intake_larger=0,
            )
        )


def _add_up(writing: Connection, sums: Counter[int], salvaged: Salvaged) -> None:
    """Writes the sums of what is there, and says what the former sums had more."""
    counted: Counter[tuple[int, int]] = Counter()
    for table in (tallies, rolled_periods):
        query = select(table.c.metric, table.c.key, func.sum(table.c.reports))
        for metric, key, reports in writing.execute(query.group_by(table.c.metric, table.c.key)):
            counted[metric, key] += int(reports)
    if counted:
        rows = [{"metric": m, "key": k, "reports": n} for (m, k), n in counted.items()]
        writing.execute(insert(totals), rows)
    for number, name in _names(writing).items():
        there = sum(reports for (metric, _), reports in counted.items() if metric == number)
        salvaged.reports[name] += there
        salvaged.lost[name] += max(0, sums[number] - there)
