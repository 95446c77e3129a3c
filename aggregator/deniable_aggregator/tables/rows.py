"""Rows of any answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers.discoveries import FoundStrings
from deniable_aggregator.answers.estimates import Estimate
from deniable_aggregator.answers.integrity import Health
from deniable_aggregator.answers.trends import Change, Series
from deniable_aggregator.tables.discoveries import discovery_rows
from deniable_aggregator.tables.estimates import estimate_rows
from deniable_aggregator.tables.health import health_rows
from deniable_aggregator.tables.trends import change_rows, series_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.tables.row import Row

Answer = Estimate | Series | Change | FoundStrings | Health
"""All answers that are numbers about a metric."""


def rows_of(answer: Answer) -> Iterator[Row]:
    """The numbers of an answer, one by one, as rows of the long table.

    A number that an answer does not have gives no row: a period without reports, or a value that is
    not compared.

    Args:
        answer: to any question.
    """
    match answer:
        case Series():
            return series_rows(answer)
        case Change():
            return change_rows(answer)
        case FoundStrings():
            return discovery_rows(answer)
        case Health():
            return health_rows(answer)
        case _:
            return estimate_rows(answer)
