"""Stores with reports of closed days, and their tables of estimates."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, cast

from deniable_aggregator.answering.estimate_table.writing import (
    TableWriter,
    Written,
    short_versions,
)
from deniable_aggregator.answers.dates import FIRST_DAY
from deniable_aggregator.answers.row import KEPT_COLUMNS
from tests.aggregator.service import TODAY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_aggregator import Store
    from deniable_aggregator.answers.row import Row

ACCEPT_DAYS = 14
APPLICATION = "flightdeck"
LENGTHS = ("day", "week", "month")


def day(epoch: int) -> date:
    return FIRST_DAY + timedelta(epoch)


def write(
    store: Store,
    today: int = TODAY,
    *,
    lengths: Sequence[str] = LENGTHS,
    keep: int | None = None,
    seconds: float = float("inf"),
) -> Written:
    """Writes what is due, as the process does that a server starts."""
    writer = TableWriter(
        store,
        lengths=cast("Any", lengths),
        accept_days=ACCEPT_DAYS,
        retain_days=keep,
        today=today,
    )
    return writer.write(seconds=seconds)


def table(store: Store, period: str = "day", metrics: Iterable[str] = ("theme",)) -> list[Any]:
    """The rows of some metrics."""
    found = store.estimates.read(
        APPLICATION, period, since=FIRST_DAY, until=date.max, metrics=set(metrics)
    )
    return [dict(row) for row in found]


def in_table(rows: Iterable[Row], until: date, *, final: bool) -> list[dict[str, Any]]:
    """What the table holds of the rows of an answer."""
    names = ("metric", "since", *KEPT_COLUMNS)
    return [
        {
            **{name: getattr(row, name) for name in names},
            "until": until,
            "final": final,
            "version": row.version and short_versions(row.version),
        }
        for row in rows
    ]
