"""Removal of a metric: all of its versions, and all that was reported of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, func, insert, select

from deniable_aggregator.store.schema import (
    discoveries,
    inbox,
    metrics,
    removed_metrics,
    set_aside,
    totals,
)
from deniable_aggregator.store.tables.estimates import delete_estimates_of

if TYPE_CHECKING:
    from sqlalchemy import Connection


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
    for table in (inbox, set_aside):
        connection.execute(delete(table).where(table.c.digest.in_(digests)))
    of_metric = discoveries.c.application == application, discoveries.c.metric == name
    connection.execute(delete(discoveries).where(*of_metric))
    delete_estimates_of(connection, application, name)
    return Removal(digests, int(reports))
