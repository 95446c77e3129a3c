"""Acknowledging that a key differs from the others: administrators know why, and want no warning.

What is kept is how the key differed then. It is quiet while it stays there, and flagged again once
it has moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answering.integrity.kept_pasts import encode_past
from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answers.administration import MOST_LETTERS, Acknowledged
from deniable_aggregator.answers.dates import FIRST_DAY, LAST_DAY, DayRange, day_of
from deniable_aggregator.keeping.audit import AuditAction, AuditRecord
from deniable_aggregator.keeping.store import StoredPast
from deniable_shared.characters import visible_constraint
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_aggregator.answering.reader import AskedMetric, MetricReader
    from deniable_aggregator.answering.slices import SliceTable
    from deniable_aggregator.answers.administration import Acknowledge
    from deniable_aggregator.keeping.store import Store


LEAST_SEEN: Final = 100
"""How a key differs is seen in so many reports of it, and as many of others."""


def acknowledge(
    store: Store,
    reader: MetricReader,
    metric: AskedMetric,
    key_name: str,
    sent: Acknowledge,
    *,
    today: int,
    actor: str,
) -> Acknowledged:
    """Acknowledges how a key differs from the others, in place of what was acknowledged before.

    Args:
        store: keeps it.
        reader: reads reports.
        metric: of which the key brings reports.
        key_name: an id of a key, its first letters, or its label.
        sent: the days, and a note.
        today: in days since 1970-01-01.
        actor: the id of the key that acknowledges.

    Raises:
        ParameterError: if the note breaks its constraint.
        ProblemError: if there is no such key, or too few reports to see how it differs.
    """
    note = sent.note.strip()
    if not 1 <= len(note) <= MOST_LETTERS:
        raise ParameterError("note", f"1 to {MOST_LETTERS} characters long", note[:100])
    constraint = visible_constraint(note)
    if constraint is not None:
        raise ParameterError("note", constraint, note)
    (key,) = reader.keys_named(metric.application, [key_name], "key")
    days = DayRange(sent.since or FIRST_DAY, sent.until or LAST_DAY)
    reported = reader.read(metric, days).of_days
    pasts = [
        StoredPast(
            table.entry.spec.digest,
            key,
            today,
            int(table.days[0]),
            int(table.days[-1]),
            note,
            body,
        )
        for table in reported.tables.values()
        if min(_reports(table, key)) >= LEAST_SEEN
        and (body := encode_past(table, [key])) is not None
    ]
    if not pasts:
        raise ProblemError(
            "no_reports",
            f"Key {key} has too few reports of {metric.name} beside others in these days to see "
            f"how it differs. Widen since and until.",
        )
    seen = DayRange(
        day_of(min(past.since for past in pasts)), day_of(max(past.until for past in pasts))
    )
    details = {
        "key": key,
        "application": metric.application,
        "metric": metric.name,
        "since": str(seen.since),
        "until": str(seen.until),
        "note": note,
    }
    record = AuditRecord(today, actor, AuditAction.KEY_ACKNOWLEDGE, details)
    store.key_pasts.acknowledge(pasts, record)
    return Acknowledged(metric.name, key, seen.since, seen.until, note)


def _reports(table: SliceTable, key: str) -> tuple[int, int]:
    """How many reports a key has, and how many all others."""
    own = table.reports_by_key.get(key, 0)
    return own, sum(table.reports_by_key.values()) - own


def withdraw(
    store: Store,
    reader: MetricReader,
    metric: AskedMetric,
    key_name: str,
    *,
    today: int,
    actor: str,
) -> None:
    """Takes back what was acknowledged of a key.

    Args:
        store: keeps it.
        reader: knows the keys.
        metric: of which the key brings reports.
        key_name: an id of a key, its first letters, or its label.
        today: in days since 1970-01-01.
        actor: the id of the key that withdraws.

    Raises:
        ProblemError: if there is no such key, or nothing was acknowledged of it.
    """
    (key,) = reader.keys_named(metric.application, [key_name], "key")
    details = {"key": key, "application": metric.application, "metric": metric.name}
    record = AuditRecord(today, actor, AuditAction.KEY_WITHDRAW, details)
    digests = [entry.spec.digest for entry in metric.entries]
    if not store.key_pasts.withdraw(digests, key, record):
        raise ProblemError("not_found", f"Nothing is acknowledged of key {key} in {metric.name}.")
