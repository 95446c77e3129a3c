"""What is deleted: what was kept for long enough, and removed metrics; and how full a store is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    case,
    cast,
    delete,
    func,
    insert,
    literal,
    select,
)
from sqlalchemy.dialects.postgresql import REGCLASS

from deniable_aggregator.keeping.store.base import Database, in_chunks
from deniable_aggregator.keeping.store.discoveries import delete_unkept_discoveries
from deniable_aggregator.keeping.store.estimates import delete_estimates_of, delete_unkept_estimates
from deniable_aggregator.keeping.store.parts import (
    PART_COLUMNS,
    add_to_totals,
    delete_parts,
    stored_part,
    sum_by_total,
)
from deniable_aggregator.keeping.store.relayed import delete_relayed_of, delete_unkept_relayed
from deniable_aggregator.keeping.store.schema import (
    discoveries,
    inbox,
    key_pasts,
    metadata,
    metrics,
    removed_metrics,
    rolled_periods,
    set_aside,
    tallies,
    totals,
)

_PERIOD = (
    rolled_periods.c.metric,
    rolled_periods.c.since,
    rolled_periods.c.key,
    rolled_periods.c.id,
    rolled_periods.c.reports,
    literal(0),
    literal(0),
    literal(b""),
)


def delete_expired(
    database: Database, today: int, *, keep: int | None, open_days: int, most: int
) -> int:
    """Deletes some of what was kept for long enough, in one transaction.

    Days that became one are deleted when the last of them is, and so is what was found in them.
    Estimates of a week or month are deleted with the first of its days.

    Args:
        today: the current day.
        keep: for how many days tallies are kept at most; None for ever.
        open_days: for how many days a day may take reports; younger tallies are never deleted.
        most: how many of each to delete at most.

    Returns:
        How many parts and estimated periods were deleted.
    """
    longest = _longest_retention(today, keep, open_days)
    first = _first_kept(today, keep, open_days)
    parts = (
        select(*PART_COLUMNS)
        .join_from(metrics, tallies, tallies.c.metric == metrics.c.number)
        .where(tallies.c.epoch < first)
        .limit(most)
        .with_for_update(of=tallies, skip_locked=True)
    )
    periods = (
        select(*_PERIOD)
        .join_from(metrics, rolled_periods, rolled_periods.c.metric == metrics.c.number)
        .where(rolled_periods.c.until < first)
        .limit(most)
        .with_for_update(of=rolled_periods, skip_locked=True)
    )
    with database.write() as connection:
        connection.execute(delete(set_aside).where(_is_expired_row(first, today - longest)))
        of_metric = select(first).where(metrics.c.number == key_pasts.c.metric).scalar_subquery()
        connection.execute(delete(key_pasts).where(key_pasts.c.since < of_metric))
        delete_unkept_discoveries(connection, first)
        delete_unkept_relayed(connection, first)
        estimated = delete_unkept_estimates(connection, first, most)
        return _delete(connection, parts, periods) + estimated


def first_kept_days(
    database: Database, today: int, *, keep: int | None, open_days: int
) -> dict[tuple[str, str], int]:
    """The first day of which reports are kept of each metric, by its application and name.

    Args:
        today: the current day.
        keep: for how many days tallies are kept at most; None for ever.
        open_days: for how many days a day may take reports.
    """
    first = _first_kept(today, keep, open_days)
    query = select(metrics.c.application, metrics.c.name, func.min(first))
    with database.look_up() as connection:
        rows = connection.execute(query.group_by(metrics.c.application, metrics.c.name))
        return {(application, name): int(day) for application, name, day in rows}


def delete_removed(database: Database, most: int) -> int:
    """Deletes some of what was counted of metrics that were removed, in one transaction.

    Args:
        most: how many parts to delete at most.

    Returns:
        How many parts were deleted.
    """
    # Whoever counts reports of a metric at the moment when it is removed leaves a total, too.
    numbers_left = select(totals.c.metric).where(totals.c.metric.not_in(select(metrics.c.number)))
    with database.look_up() as connection:
        numbers = (
            connection.execute(numbers_left.distinct().order_by(totals.c.metric)).scalars().all()
        )
    for number in numbers:
        parts = (
            select(*PART_COLUMNS).where(tallies.c.metric == number).limit(most).with_for_update()
        )
        periods = select(*_PERIOD).where(rolled_periods.c.metric == number).limit(most)
        with database.write() as connection:
            deleted = _delete(connection, parts.with_for_update(), periods.with_for_update())
            nothing = totals.c.metric == number, totals.c.reports == 0
            connection.execute(delete(totals).where(*nothing))
        if deleted:
            return deleted
    return 0


def _longest_retention(today: int, keep: int | None, open_days: int) -> int:
    """For how many days a metric is kept that does not say for how long."""
    return today if keep is None else max(keep, open_days)


def _first_kept(today: int, keep: int | None, open_days: int) -> ColumnElement[int]:
    """The first day of which reports are kept, over `metrics`."""
    longest = _longest_retention(today, keep, open_days)
    own = metrics.c.retention_days
    first_day = case(
        (own.is_(None), longest), (own < open_days, open_days), (own > longest, longest), else_=own
    )
    return literal(today) - first_day


def _is_expired_row(first: ColumnElement[int], first_of_others: int) -> ColumnElement[bool]:
    """Whether a row that was set aside is of an expired day, also if its metric is not known."""
    of_metric = select(first).where(metrics.c.digest == set_aside.c.digest).scalar_subquery()
    return set_aside.c.epoch < func.coalesce(of_metric, first_of_others)


def _delete(
    connection: Connection,
    parts: Select[Any],
    periods: Select[Any],
) -> int:
    """Deletes parts of tallies and periods, and subtracts their reports from the totals."""
    of_days, of_periods = (
        [stored_part(row) for row in connection.execute(query)] for query in (parts, periods)
    )
    deleted = delete_parts(connection, of_days)
    for chunk in in_chunks([part.part for part in of_periods]):
        condition = rolled_periods.c.id.in_(chunk)
        deleted += connection.execute(delete(rolled_periods).where(condition)).rowcount
    gone = sum_by_total((part.where, -part.reports) for part in [*of_days, *of_periods])
    add_to_totals(connection, gone)
    return deleted


class Removal(NamedTuple):
    """What was removed.

    Attributes:
        digests: the versions, by digest.
        reports: how many of their reports were counted; those that waited are not among them.
    """

    digests: list[bytes]
    reports: int


def remove_metric(connection: Connection, application: str, name: str) -> Removal | None:
    """Removes the versions of a metric, what is known of it, and reports that are not counted.

    What was counted has lost its name then, and `Tallies.delete_removed` deletes it step by step.

    Args:
        connection: in a transaction that holds the lock of the audit log.

    Returns:
        None if there is no such metric.
    """
    conditions = metrics.c.application == application, metrics.c.name == name
    columns = metrics.c.number, metrics.c.digest, metrics.c.application
    rows = connection.execute(select(*columns).where(*conditions).order_by(metrics.c.number)).all()
    if not rows:
        return None
    numbers = [row.number for row in rows]
    digests = [bytes(row.digest) for row in rows]
    counted = select(func.coalesce(func.sum(totals.c.reports), 0))
    reports = connection.execute(counted.where(totals.c.metric.in_(numbers))).scalar_one()
    connection.execute(insert(removed_metrics), [row._asdict() for row in rows])
    connection.execute(delete(metrics).where(metrics.c.number.in_(numbers)))
    connection.execute(delete(key_pasts).where(key_pasts.c.metric.in_(numbers)))
    for table in (inbox, set_aside):
        connection.execute(delete(table).where(table.c.digest.in_(digests)))
    delete_relayed_of(connection, digests)
    of_metric = discoveries.c.application == application, discoveries.c.metric == name
    connection.execute(delete(discoveries).where(*of_metric))
    delete_estimates_of(connection, application, name)
    return Removal(digests, int(reports))


class StoreUsage(NamedTuple):
    """How full a store is.

    Attributes:
        inbox_rows: rows that wait to be counted.
        inbox_bytes: bytes of reports in them.
        set_aside_rows: rows that could not be counted.
        size_bytes: the size of the store on disk.
    """

    inbox_rows: int
    inbox_bytes: int
    set_aside_rows: int
    size_bytes: int


def store_usage(database: Database) -> StoreUsage:
    """Reads how full a store is.

    Raises:
        StoreUnavailableError: if the store cannot be read.
    """
    waiting = select(func.count(), func.coalesce(func.sum(func.length(inbox.c.payload)), 0))
    with database.read() as connection:
        rows, payloads = connection.execute(waiting.select_from(inbox)).one()
        aside = connection.execute(select(func.count()).select_from(set_aside)).scalar_one()
        return StoreUsage(rows, int(payloads), aside, size_bytes(database, connection))


def size_bytes(database: Database, connection: Connection) -> int:
    """The size of the store on disk, in bytes."""
    if connection.dialect.name == "postgresql":
        tables = (func.pg_total_relation_size(cast(name, REGCLASS)) for name in metadata.tables)
        return sum(connection.execute(select(*tables)).one())
    files = (Path(f"{database.name}{ending}") for ending in ("", "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
