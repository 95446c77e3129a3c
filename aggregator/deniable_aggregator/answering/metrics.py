"""The registered metrics: how many reports were counted, and what one of them gives away."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, UnsetType

from deniable_aggregator.answering.estimation.domains import FLAG
from deniable_aggregator.answers.administration import Metric, Segments
from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.answers.metrics import (
    Domain,
    KeyReports,
    Letters,
    MetricDetails,
    VersionDetails,
)
from deniable_aggregator.telling.method import what_reports_reveal
from deniable_shared.mechanisms import GroupedBins, SetMechanism, SquareWave
from deniable_shared.planning.detection import devices_to_detect

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deniable_aggregator.keeping.catalog import CatalogEntry
    from deniable_aggregator.keeping.store import Registration, ReportedDays, Store
    from deniable_shared.attributes import Attribute
    from deniable_shared.spec import Spec


ONE_PERCENT: Final = 0.01
_SHARES: Final = ("attributes", "boolean", "category", "set")


def list_metrics(store: Store, entries: Sequence[CatalogEntry]) -> list[Metric]:
    """One entry per version of a metric.

    Args:
        store: has the tallies.
        entries: the versions.
    """
    counters = [entry.tally for entry in entries]
    counted = store.tallies.reports(counters)
    excluded = store.tallies.reports(counters, excluded=True)
    days = store.tallies.reported_days([entry.spec.digest for entry in entries])
    return [
        _metric(
            entry,
            days.get(entry.spec.digest),
            reports=counted.get(entry.spec.digest, 0),
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


def _metric(
    entry: CatalogEntry, days: ReportedDays | None, *, reports: int, excluded: int
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
        candidates=spec.is_open,
        discovers=spec.letters is not None,
        first_day=None if days is None else day_of(days.first),
        last_day=None if days is None else day_of(days.last),
        reports=reports,
        excluded_reports=excluded,
        reports_for_one_percent=devices_to_detect(spec.mechanism, ONE_PERCENT)
        if spec.type in _SHARES and not spec.is_open and spec.segments is None
        else None,
    )
    if spec.segments is not None:
        metric.segments = Segments(spec.segments.by.name, list(spec.segments.by.values))
    if spec.range is not None:
        low, high = spec.range
        metric.range = float(low), float(high)
    return metric


def metric_details(
    store: Store, entries: Sequence[CatalogEntry], hidden: Mapping[str, int]
) -> MetricDetails:
    """A metric with all of its versions.

    Args:
        store: has the tallies.
        entries: the versions; at least one.
        hidden: how many reports of each key no question shows by themselves.
    """
    versions = newest_first(entries)
    listed = list_metrics(store, versions)
    newest, spec = listed[0], versions[0].spec
    return MetricDetails(
        application=spec.application,
        name=newest.name,
        description=newest.description,
        owners=newest.owners,
        expires=newest.expires,
        retention_days=newest.retention_days,
        renamed=dict(newest_registration(entries).renamed),
        candidates=all(each.spec.is_open for each in versions),
        discovers=any(each.discovers for each in listed),
        excluded_reports=sum(each.excluded_reports for each in listed),
        keys=_keys(store, entries, hidden),
        versions=[_version(*each) for each in zip(versions, listed, strict=True)],
    )


def _keys(
    store: Store, entries: Sequence[CatalogEntry], hidden: Mapping[str, int]
) -> list[KeyReports]:
    stored = {key.id: key for key in store.keys.all()}
    brought = Counter(store.tallies.reports_by_key([entry.tally for entry in entries]))
    brought -= Counter(hidden)
    return [
        KeyReports(
            key=key,
            label=stored[key].label if key in stored else "",
            reports=reports,
            excluded=key in stored and stored[key].excluded is not None,
        )
        for key, reports in sorted(brought.items(), key=lambda each: (-each[1], each[0]))
    ]


def _version(entry: CatalogEntry, listed: Metric) -> VersionDetails:
    spec, code = entry.spec, entry.spec.letters
    of = None if spec.segments is None else spec.segments.of
    values = spec.values if of is None else of.domain
    return VersionDetails(
        version=listed.version,
        canonical=spec.canonical_text(),
        type=spec.value_type,
        registered=listed.registered,
        first_day=listed.first_day,
        last_day=listed.last_day,
        reports=listed.reports,
        every=spec.every,
        report_bytes=spec.mechanism.report_bytes,
        values=list(FLAG if spec.type == "boolean" else values),
        other=spec.other if of is None else of.other,
        absent=spec.absent_text,
        pick=spec.pick,
        mechanism=listed.mechanism,
        epsilon=listed.epsilon,
        epsilon_permanent=listed.epsilon_permanent,
        epsilon_total=listed.epsilon_total,
        delta=listed.delta,
        privacy=what_reports_reveal(listed.epsilon, listed.epsilon_permanent, listed.delta),
        range=UNSET if spec.range is None else (float(spec.range[0]), float(spec.range[1])),
        bins=_bins(spec),
        attributes=[_domain(each) for each in spec.attributes] or UNSET,
        segments=UNSET if spec.segments is None else _domain(spec.segments.by),
        letters=UNSET
        if code is None
        else Letters(code.alphabet, code.extent, code.levels, entry.registration.minimum_devices),
        most=spec.mechanism.most if isinstance(spec.mechanism, SetMechanism) else UNSET,
    )


def _bins(spec: Spec) -> int | UnsetType:
    mechanism = spec.mechanism
    return mechanism.size if isinstance(mechanism, SquareWave | GroupedBins) else UNSET


def _domain(attribute: Attribute) -> Domain:
    return Domain(
        name=attribute.name,
        type=attribute.type,
        values=list(attribute.domain),
        other=attribute.other,
    )
