"""One registered metric: its versions, their values, and what one report of each gives away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from deniable_aggregator.answers.metrics import (
    Domain,
    KeyReports,
    Letters,
    MetricDetails,
    VersionDetails,
)
from deniable_aggregator.api.metric_list import list_metrics, newest_first
from deniable_aggregator.estimation.shares.domains import FLAG
from deniable_aggregator.telling.method import what_reports_reveal
from deniable_shared.mechanisms import GroupedBins, SquareWave

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.administration import Metric
    from deniable_aggregator.catalog import CatalogEntry
    from deniable_aggregator.store import Store
    from deniable_shared.attributes import Attribute
    from deniable_shared.spec import Spec


def metric_details(store: Store, entries: Sequence[CatalogEntry]) -> MetricDetails:
    """A metric with all of its versions.

    Args:
        store: has the tallies and the inbox.
        entries: the versions; at least one.
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
        candidates=all(each.type == "string" for each in listed),
        discovers=any(each.discovers for each in listed),
        pending_reports=sum(each.pending_reports for each in listed),
        excluded_reports=sum(each.excluded_reports for each in listed),
        keys=_keys(store, entries),
        versions=[_version(*each) for each in zip(versions, listed, strict=True)],
    )


def _keys(store: Store, entries: Sequence[CatalogEntry]) -> list[KeyReports]:
    stored = {key.id: key for key in store.keys.all()}
    brought = store.tallies.reports_by_key([entry.tally for entry in entries])
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
        absent=spec.absent,
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
        else Letters(code.alphabet, code.longest, code.levels, entry.registration.minimum_devices),
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
