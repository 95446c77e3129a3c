"""The registered metrics, each with how many of its reports were counted, left out or wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.administration import Metric, Segments
from deniable_aggregator.dates import day_of
from deniable_shared.planning.disclosure_figures import devices_to_detect

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_aggregator.catalog import CatalogEntry
    from deniable_aggregator.store import Backlog, Registration, ReportedDays, Store

ONE_PERCENT: Final = 0.01
_SHARES: Final = ("attributes", "boolean", "category")


def list_metrics(store: Store, entries: Sequence[CatalogEntry]) -> list[Metric]:
    """One entry per version of a metric.

    Args:
        store: has the tallies and the inbox.
        entries: the versions.
    """
    counters = [entry.tally for entry in entries]
    counted = store.tallies.reports(counters)
    excluded = store.tallies.reports(counters, excluded=True)
    pending = pending_by_version(store, entries)
    days = store.tallies.reported_days([entry.spec.digest for entry in entries])
    return [
        _metric(
            entry,
            days.get(entry.spec.digest),
            reports=counted.get(entry.spec.digest, 0),
            pending=pending.get(entry.spec.digest, 0),
            excluded=excluded.get(entry.spec.digest, 0),
        )
        for entry in entries
    ]


def newest_registration(entries: Sequence[CatalogEntry]) -> Registration:
    """The version of a metric that was registered last.

    Args:
        entries: the versions in the order of their registration; at least one.
    """
    return newest_first(entries)[0].registration


def newest_first(entries: Iterable[CatalogEntry]) -> list[CatalogEntry]:
    """The versions of a metric; of several on one day the one that was registered last is first.

    Args:
        entries: the versions in the order of their registration.
    """
    by_day = sorted(entries, key=lambda each: each.registration.registered)
    return by_day[::-1]


def waiting_by_version(store: Store, entries: Sequence[CatalogEntry]) -> dict[bytes, int]:
    """How many reports wait to be counted, by the digests of the versions that have any.

    Args:
        store: has the inbox.
        entries: the versions.
    """
    return _reports(entries, store.inbox.backlog([entry.spec.digest for entry in entries]))


def pending_by_version(store: Store, entries: Sequence[CatalogEntry]) -> dict[bytes, int]:
    """How many reports answers leave out, as too many wait, by the digests of their versions.

    Args:
        store: has the inbox.
        entries: the versions.
    """
    backlog = store.inbox.backlog([entry.spec.digest for entry in entries])
    return _reports(entries, [each for each in backlog if each.is_left_out])


def _reports(entries: Sequence[CatalogEntry], backlog: Sequence[Backlog]) -> dict[bytes, int]:
    widths = {entry.spec.digest: entry.tally.report_bytes for entry in entries}
    return {each.digest: each.payload_bytes // widths[each.digest] for each in backlog}


def _metric(
    entry: CatalogEntry, days: ReportedDays | None, *, reports: int, pending: int, excluded: int
) -> Metric:
    spec, registration = entry.spec, entry.registration
    metric = Metric(
        name=spec.name,
        type=spec.type,
        description=registration.description,
        owners=list(registration.owners),
        expires=registration.expires,
        retention_days=registration.retention_days,
        every=spec.every,
        mechanism=spec.mechanism.name,
        epsilon=spec.mechanism.epsilon,
        epsilon_permanent=spec.mechanism.epsilon_permanent,
        epsilon_total=spec.mechanism.epsilon_total,
        delta=spec.mechanism.delta,
        version=spec.digest.hex(),
        registered=day_of(registration.registered),
        discovers=spec.letters is not None,
        first_day=None if days is None else day_of(days.first),
        last_day=None if days is None else day_of(days.last),
        reports=reports,
        pending_reports=pending,
        excluded_reports=excluded,
        reports_for_one_percent=devices_to_detect(spec.mechanism, ONE_PERCENT)
        if spec.type in _SHARES and spec.segments is None
        else None,
    )
    if spec.segments is not None:
        metric.segments = Segments(spec.segments.by.name, list(spec.segments.by.values))
    if spec.range is not None:
        low, high = spec.range
        metric.range = float(low), float(high)
    return metric
