"""Deletes what was kept for long enough, and what is left of metrics that were removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import case, delete, func, literal, select

from deniable_aggregator.store.chunks import in_chunks
from deniable_aggregator.store.schema import metrics, rolled_periods, set_aside, tallies, totals
from deniable_aggregator.store.tables.discoveries import delete_unkept_discoveries
from deniable_aggregator.store.tables.estimates import delete_unkept_estimates
from deniable_aggregator.store.tables.parts import (
    PART_COLUMNS,
    add_to_totals,
    delete_parts,
    stored_part,
    sum_by_total,
)

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Select

    from deniable_aggregator.store.backends.base import Database

_PERIOD = (
    rolled_periods.c.metric,
    rolled_periods.c.since,
    rolled_periods.c.key,
    rolled_periods.c.id,
    rolled_periods.c.reports,
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
        delete_unkept_discoveries(connection, first)
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
