"""Reading the SQL table of estimates, as rows of the long table."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from deniable_aggregator.answers.row import Row
from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.dates import FIRST_DAY, LAST_DAY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers.estimate_table import EstimateTableQuery
    from deniable_aggregator.parts import Parts


def read_rows(parts: Parts, application: str, query: EstimateTableQuery) -> Iterator[Row]:
    """The rows that a question is about, with whole identifiers of versions.

    Args:
        parts: the store that holds the table, and its metrics.
        application: whose rows are read.
        query: which of them.
    """
    specs = [entry.spec for entry in parts.catalogue.for_application(application)]
    names = {spec.name for spec in specs}
    ids = {spec.digest.hex()[:VERSION_LETTERS]: spec.digest.hex() for spec in specs}
    whole = lru_cache(lambda short: " ".join(ids.get(each, each) for each in short.split()))
    for row in parts.store.estimates.read(
        application,
        query.period,
        since=query.since or FIRST_DAY,
        until=query.until or LAST_DAY,
        metrics=names & set(query.metric) if query.metric else names,
        measures=query.measure,
        values=query.value,
        top=query.top,
        brief=query.brief,
    ):
        row["version"] = row["version"] and whole(row["version"])
        yield Row(application=application, question="estimate", **row)
