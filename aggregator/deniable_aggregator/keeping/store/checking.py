"""Whether a store is whole: its pages, what it counted, its sums and its chains."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from sqlalchemy import Connection, Table, func, select

from deniable_aggregator.answers.registry_history import BrokenHistoryError, check_history
from deniable_aggregator.keeping.audit import AuditEntry, verify_chain
from deniable_aggregator.keeping.store.base import StoreUnavailableError, in_chunks
from deniable_aggregator.keeping.store.declared import applications_with_history, read_history
from deniable_aggregator.keeping.store.encoding import (
    add_counters,
    holds_reports,
    unpack_reports,
)
from deniable_aggregator.keeping.store.parts import PART_COLUMNS, read_bodies, stored_part
from deniable_aggregator.keeping.store.schema import (
    audit,
    inbox,
    metadata,
    metrics,
    rolled_periods,
    tallies,
    totals,
)
from deniable_shared.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_aggregator.counting.tallies import Tally
    from deniable_aggregator.keeping.store.base import Database
    from deniable_aggregator.keeping.store.parts import StoredPart

PAGES, TALLIES, SUMS, WAITING, HISTORY, AUDIT = (
    "pages",
    "tallies",
    "sums",
    "waiting reports",
    "registry history",
    "audit log",
)
MOST_PROBLEMS: Final = 20
"""SQLite lists so many problems of its pages."""

READ_ROWS: Final = 64
PROGRESS_STEPS: Final = 10_000
"""SQLite looks at the time after so many of its own steps."""


class Damage(NamedTuple):
    """One place where a store is not whole.

    Attributes:
        check: which found it: `PAGES`, `TALLIES`, `SUMS`, `WAITING`, `HISTORY` or `AUDIT`.
        what: what is wrong, in words.
        digest: of the version of a metric that it concerns; None if it concerns none alone.
        day: since 1970-01-01; None if it concerns none alone.
    """

    check: str
    what: str
    digest: bytes | None = None
    day: int | None = None


def check_pages(database: Database, *, seconds: float | None = None) -> list[Damage] | None:
    """What SQLite finds in the structure of a file's pages; nothing of a database server.

    A flipped bit of a number or of noise breaks no structure; `check_content` may find it.

    Args:
        database: the store's.
        seconds: give up after so long; None for as long as it takes.

    Returns:
        None if there was not enough time.
    """
    end = math.inf if seconds is None else time.monotonic() + seconds
    try:
        with database.read() as connection:
            if connection.dialect.name != "sqlite":
                return []
            driver: Any = connection.connection.driver_connection
            driver.set_progress_handler(lambda: time.monotonic() > end, PROGRESS_STEPS)
            try:
                check = connection.exec_driver_sql(f"PRAGMA integrity_check({MOST_PROBLEMS})")
                said = check.scalars().all()
            finally:
                driver.set_progress_handler(None, 0)
    except StoreUnavailableError as error:
        if time.monotonic() > end:
            return None
        return [Damage(PAGES, f"they cannot be read: {error}")]
    return [Damage(PAGES, each) for each in said if each != "ok"]


def check_content(
    database: Database, tally_of: Callable[[bytes], Tally | None]
) -> Iterator[Damage | None]:
    """What is wrong with the content of a store's rows.

    Args:
        database: the store's.
        tally_of: what counts the reports of a version; None where this program cannot.

    Yields:
        Damage, and None after each piece of the work, between which others may have their turn.
    """
    versions: dict[int, bytes] = {}
    yield from _piece(PAGES, database, partial(_read, versions=versions))
    for number, digest in versions.items():
        check = partial(_version, number=number, digest=digest, tally=tally_of(digest))
        yield from _piece(TALLIES, database, check)
    yield from _piece(WAITING, database, partial(_waiting, tally_of=tally_of))
    yield from _piece(HISTORY, database, _histories)
    yield from _piece(AUDIT, database, _audit_log)


def _piece(
    check: str, database: Database, work: Callable[[Connection], Iterator[Damage]]
) -> Iterator[Damage | None]:
    """Does a piece of the work in a transaction of its own; what cannot be read is damage."""
    damage: list[Damage] = []
    try:
        with database.read() as connection:
            damage.extend(work(connection))
    except (StoreUnavailableError, TypeError, ValueError) as error:  # or of another type
        damage.append(Damage(check, f"they cannot be read: {error}"))
    yield from damage
    yield None


def _read(connection: Connection, versions: dict[int, bytes]) -> Iterator[Damage]:
    """Reads the versions of metrics; of a database server all rows, as it refuses torn pages."""
    query = select(metrics.c.number, metrics.c.digest).order_by(metrics.c.number)
    versions.update((number, bytes(digest)) for number, digest in connection.execute(query))
    if connection.dialect.name != "sqlite":
        for table in metadata.sorted_tables:
            for _ in connection.execute(select(table).execution_options(yield_per=READ_ROWS)):
                pass
    return iter(())


def _version(
    connection: Connection, number: int, digest: bytes, tally: Tally | None
) -> Iterator[Damage]:
    """What is wrong with the parts of a version, and with their sums."""
    for part, wrong in broken_parts(connection, number, tally):
        yield Damage(TALLIES, wrong, digest, part.where.epoch)
    held = _sum(connection, tallies, number)
    there = held + _sum(connection, rolled_periods, number)
    known = _sum(connection, totals, number)
    if there != known:
        yield Damage(SUMS, f"{known:,} reports were counted, and {there:,} are there", digest)


def broken_parts(
    connection: Connection, number: int, tally: Tally | None
) -> Iterator[tuple[StoredPart, str]]:
    """The parts of a version that cannot be read or have other reports than they say, and why.

    Args:
        connection: to the store.
        number: of the version.
        tally: what counts its reports; None if this program cannot.
    """
    query = select(*PART_COLUMNS).where(tallies.c.metric == number).order_by(tallies.c.epoch)
    parts = [stored_part(row) for row in connection.execute(query)]
    for chunk in in_chunks(parts):
        bodies = read_bodies(connection, chunk)
        for part in chunk:
            wrong = _wrong_part(part, bodies.get(part.part), tally)
            if wrong is not None:
                yield part, wrong


def _sum(connection: Connection, table: Table, metric: int) -> int:
    query = select(func.coalesce(func.sum(table.c.reports), 0)).where(table.c.metric == metric)
    return int(connection.execute(query).scalar_one())


def _wrong_part(part: StoredPart, body: bytes | None, tally: Tally | None) -> str | None:
    if body is None or len(body) != part.size:
        return f"a part of {part.size:,} bytes is not whole"
    if tally is None:
        return None
    try:
        if holds_reports(body):
            reports = unpack_reports(body)
            tally.check(reports)
            held = len(reports) // tally.report_bytes
        else:
            counters = np.zeros(tally.stored_cells, np.int64)
            add_counters(counters, body)
            if counters.min(initial=0) < 0:
                return "a counter is below 0"
            held = tally.reports(counters[: tally.cells])
    except (ValueError, IndexError, WireError) as error:
        return f"a part cannot be read: {error}"
    return None if held == part.reports else f"a part of {part.reports:,} reports has {held:,}"


def _waiting(connection: Connection, tally_of: Callable[[bytes], Tally | None]) -> Iterator[Damage]:
    query = select(inbox.c.digest, inbox.c.epoch, inbox.c.payload)
    for digest, epoch, payload in connection.execute(query.execution_options(yield_per=READ_ROWS)):
        tally = tally_of(bytes(digest))
        try:
            if tally is not None:
                tally.check(bytes(payload))
        except WireError as error:
            yield Damage(WAITING, str(error), bytes(digest), epoch)


def _histories(connection: Connection) -> Iterator[Damage]:
    for application in applications_with_history(connection):
        try:
            check_history(read_history(connection, application))
        except BrokenHistoryError as error:
            yield Damage(HISTORY, f"of {application}: {error}")


def _audit_log(connection: Connection) -> Iterator[Damage]:
    rows = connection.execute(select(audit).order_by(audit.c.sequence))
    entries = (
        AuditEntry(row.sequence, row.day, row.actor, row.act, row.details, hash=bytes(row.hash))
        for row in rows
    )
    broken = verify_chain(entries).broken
    if broken is not None:
        yield Damage(AUDIT, broken.reason)
