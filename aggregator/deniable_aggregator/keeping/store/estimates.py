"""The tables of estimates: rows for other programs, and what they were worked out from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Subquery,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    select,
)

from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.answers.words import PERIOD_LENGTHS
from deniable_aggregator.keeping.store.base import Database, in_chunks
from deniable_aggregator.keeping.store.schema import estimated_periods, estimates, metrics

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import date


READ_ROWS: Final = 500
ALONE: Final = "estimates"
"""One process at a time writes these tables."""


_ASKED: Final = ("application", "period", "position")
"""What whoever reads has asked for, and the place in an answer."""


class PeriodName(NamedTuple):
    """What names a period of a metric.

    Attributes:
        application: whose metric it is.
        period: its length: "day", "week" or "month".
        since: its first day.
    """

    application: str
    period: str
    metric: str
    since: date


_name: Final = [estimated_periods.c[name] for name in PeriodName._fields]


class PeriodRows(NamedTuple):
    """The estimates of a period.

    Attributes:
        tag: 24 bytes, the same as long as nothing has changed that the estimates depend on.
        rows: values by the names of the columns that a row of `estimates` has beside its name.
    """

    name: PeriodName
    tag: bytes
    rows: Sequence[Mapping[str, Any]]


class Estimates:
    """Estimates of closed days, weeks and months, as rows that other programs read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def alone(self) -> AbstractContextManager[None]:
        """Lets one process at a time write estimates, also if one is killed.

        Raises:
            InUseError: if another one does.
        """
        return self._database.alone(ALONE)

    def written(self) -> dict[PeriodName, tuple[bytes, int]]:
        """The periods that were written, by name: their tags, and on which days that was."""
        query = select(*_name, estimated_periods.c.tag, estimated_periods.c.written)
        with self._database.read() as connection:
            rows = connection.execute(query)
            return {PeriodName(*name): (bytes(tag), day) for *name, tag, day in rows}

    def is_empty(self) -> bool:
        """Whether no period was written."""
        query = select(exists().where(estimated_periods.c.period.is_not(None)))
        with self._database.look_up() as connection:
            return not connection.execute(query).scalar_one()

    def write(self, periods: Sequence[PeriodRows], today: int) -> None:
        """Writes the estimates of some periods instead of those that were there before.

        Nothing is written of metrics that were removed.

        Args:
            periods: a few, as this is one transaction.
            today: the current day, in days since 1970-01-01.
        """
        with self._database.write() as connection:
            metrics_present = _lock_metrics(connection)
            written_periods = [
                period
                for period in periods
                if (period.name.application, period.name.metric) in metrics_present
            ]
            _delete(connection, [period.name for period in written_periods])
            rows = [
                {**period.name._asdict(), "position": position, **row}
                for period in written_periods
                for position, row in enumerate(period.rows)
            ]
            if rows:
                connection.execute(insert(estimates), rows)
            if written_periods:
                connection.execute(
                    insert(estimated_periods),
                    [
                        {
                            **period.name._asdict(),
                            "tag": period.tag,
                            "written": today,
                            "numbers": len(period.rows),
                        }
                        for period in written_periods
                    ],
                )

    def delete(self, names: Sequence[PeriodName]) -> None:
        """Deletes the estimates of periods, in small transactions."""
        for chunk in in_chunks(names):
            with self._database.write() as connection:
                _delete(connection, chunk)

    def read(
        self,
        application: str,
        period: str,
        *,
        since: date,
        until: date,
        metrics: Collection[str],
        measures: Collection[str] = (),
        values: Collection[str] = (),
        top: int | None = None,
        brief: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """Yields rows by metric, then by day, each without application, period and position.

        Args:
            period: "day", "week" or "month".
            since: periods that begin before it are left out.
            until: periods that end after it are left out.
            metrics: names; the ones without rows do no harm.
            measures: only these; all of them if empty.
            values: only rows with one of these values, or without any value; all rows if empty.
            top: of the shares of all devices, only those of so many values of each metric, the
                largest in the newest of these periods; no bins and no shares within segments.
            brief: only the first row of each period.
        """
        # With the names, an index finds the first day of each.
        conditions = [
            estimates.c.application == application,
            estimates.c.period == period,
            estimates.c.metric.in_(sorted(metrics)),
            estimates.c.since >= since,
            estimates.c.until <= until,
        ]
        if measures:
            conditions.append(estimates.c.measure.in_(sorted(measures)))
        if values:
            is_wanted = estimates.c.value.in_(sorted(values))
            conditions.append(estimates.c.value.is_(None) | is_wanted)
        columns = [column for column in estimates.c if column.name not in _ASKED]
        query = select(*columns).where(*conditions)
        if brief:
            # The first rows lie far apart, so that the periods' names find them sooner than a scan.
            query = query.where(estimates.c.position == 0).join_from(
                estimated_periods, estimates, and_(*(estimates.c[e.name] == e for e in _name))
            )
        if top is not None:
            largest = _largest_values(conditions, top)
            of_value = (estimates.c.metric == largest.c.metric) & (
                estimates.c.value == largest.c.value
            )
            query = query.join_from(estimates, largest, of_value, isouter=True).where(
                _is_overall_share & largest.c.value.is_not(None) | ~_is_detail
            )
        query = query.order_by(estimates.c.metric, estimates.c.since, estimates.c.position)
        with (
            self._database.read() as connection,
            connection.execute(query.execution_options(yield_per=READ_ROWS)) as rows,
        ):
            for row in rows:
                yield row._asdict()


_is_overall_share: Final = (estimates.c.measure == "share") & estimates.c.segment.is_(None)
_is_detail: Final = estimates.c.measure.in_(["share", "bin", "lift"])


def _largest_values(conditions: Sequence[ColumnElement[bool]], top: int) -> Subquery:
    """The values with the largest shares in the newest period of each metric."""
    newest = (
        select(estimates.c.metric, func.max(estimates.c.since).label("since"))
        .where(*conditions)
        .group_by(estimates.c.metric)
        .subquery()
    )
    place = func.row_number().over(
        partition_by=estimates.c.metric,
        order_by=(estimates.c.estimate.desc(), estimates.c.position),
    )
    in_newest = (estimates.c.metric == newest.c.metric) & (estimates.c.since == newest.c.since)
    ranked = (
        select(estimates.c.metric, estimates.c.value, place.label("place"))
        .join_from(estimates, newest, in_newest)
        .where(*conditions, _is_overall_share)
        .subquery()
    )
    chosen = select(ranked.c.metric, ranked.c.value).where(ranked.c.place <= top)
    return chosen.subquery()


def delete_unkept_estimates(connection: Connection, first: Any, most: int) -> int:
    """Deletes estimates of periods of which a day is not kept any longer.

    Args:
        first: an expression over `metrics`: the first day of which reports are kept, in days since
            1970-01-01.
        most: how many periods to delete at most.

    Returns:
        How many periods were deleted.
    """
    of_metric = metrics.c.application, metrics.c.name
    first_days = connection.execute(select(*of_metric, func.min(first)).group_by(*of_metric))
    gone: list[PeriodName] = []
    for application, metric, day in first_days.all():
        expired = (
            select(*_name)
            .where(
                estimated_periods.c.application == application,
                estimated_periods.c.metric == metric,
                estimated_periods.c.period.in_(PERIOD_LENGTHS),  # the index begins with these
                estimated_periods.c.since < day_of(max(0, int(day))),
            )
            .limit(most - len(gone))
        )
        gone += [PeriodName(*row) for row in connection.execute(expired)]
        if len(gone) == most:
            break
    _delete(connection, gone)
    return len(gone)


def delete_estimates_of(connection: Connection, application: str, metric: str) -> None:
    """Deletes the estimates of a metric that is being removed.

    Args:
        connection: in a transaction that has deleted the metric's versions.
    """
    for table in (estimates, estimated_periods):
        conditions = table.c.application == application, table.c.metric == metric
        connection.execute(delete(table).where(*conditions))


def _lock_metrics(connection: Connection) -> set[tuple[str, str]]:
    """Whose metrics there are, by name; whoever removes one waits for this transaction."""
    query = select(metrics.c.application, metrics.c.name).order_by(metrics.c.number)
    rows = connection.execute(query.with_for_update(read=True, key_share=True))
    return {(application, name) for application, name in rows}


def _delete(connection: Connection, names: Sequence[PeriodName]) -> None:
    rows = [{f"of_{column}": value for column, value in name._asdict().items()} for name in names]
    for table in (estimates, estimated_periods) if rows else ():
        conditions = [table.c[column] == bindparam(f"of_{column}") for column in PeriodName._fields]
        connection.execute(delete(table).where(*conditions), rows)
