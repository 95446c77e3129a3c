"""The review of a registry, from a registry file to figures and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_shared.frozen import frozen
from deniable_shared.review.edits import edit_findings
from deniable_shared.review.finding import Finding
from deniable_shared.review.metric_bits import MetricBits, Shares, bits_of
from deniable_shared.review.metric_rules import metric_findings
from deniable_shared.review.pairs import (
    PairTable,
    RareCell,
    bits_with_pairs,
    rare_cells,
    shares_of_pairs,
)
from deniable_shared.review.registry_rules import registry_findings
from deniable_shared.review.relay_rules import behind_relay, relay_findings
from deniable_shared.review.together import (
    FEWEST_DEVICES,
    RecordBits,
    Together,
    records_of,
    together,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_shared.registry import Registry


@frozen
class Review:
    """What a reviewer should know of a registry.

    Attributes:
        metrics: what each metric tells, in the file's order.
        together: what all of them tell.
        records: of each metric with attributes, how many devices a record would single out.
        findings: those that are not ignored.
        ignored: those that the registry says are known and meant.
        shares_given: the metrics whose values have shares of their own.
        joint_bits: what all values tell together, with tables of pairs; None without, or if a value
            may be any text.
        rare_cells: pairs of values that few devices hold, by these tables.
    """

    metrics: tuple[MetricBits, ...]
    together: Together
    records: tuple[RecordBits, ...]
    findings: tuple[Finding, ...]
    ignored: tuple[Finding, ...]
    shares_given: tuple[str, ...]
    joint_bits: float | None = None
    rare_cells: tuple[RareCell, ...] = ()


def review(
    registry: Registry,
    *,
    devices: int | None = None,
    priors: Mapping[str, Shares] | None = None,
    pairs: Sequence[PairTable] = (),
    before: Registry | None = None,
) -> Review:
    """Reviews a registry.

    Args:
        devices: among how many a device is to be hidden, at least 2; the most that a metric
            expects, if left out.
        priors: shares of values, by metric, see `read_priors`; without them all values of a metric
            are equally common.
        pairs: how common pairs of values are, see `read_pairs`.
        before: the registry before an edit; None if that is not asked about.
    """
    shares = {**shares_of_pairs(pairs, registry), **(priors or {})}
    specs = [metric.spec for metric in registry.metrics.values()]
    expected = (metric.expected_devices for metric in registry.metrics.values())
    hidden_among = devices or max(FEWEST_DEVICES, *expected)
    lifetime = registry.budget.epsilon_lifetime
    bits = tuple(bits_of(spec, shares.get(spec.name), lifetime=lifetime) for spec in specs)
    bits_together = together(bits, specs, hidden_among, equally_common=not shares)
    cells = rare_cells(pairs, hidden_among)
    findings = [
        *_of_metrics(registry, devices),
        *registry_findings(registry, bits_together, cells),
        *relay_findings(registry, devices),
    ]
    if before is not None:
        findings += edit_findings(registry, before)
    judged = [_judged(finding, registry) for finding in findings]
    return Review(
        metrics=bits,
        together=bits_together,
        records=records_of(specs, hidden_among),
        findings=tuple(finding for finding in judged if not finding.ignored),
        ignored=tuple(finding for finding in judged if finding.ignored),
        shares_given=tuple(shares),
        joint_bits=bits_with_pairs(bits, pairs) if pairs else None,
        rare_cells=cells,
    )


def _of_metrics(registry: Registry, devices: int | None) -> Iterator[Finding]:
    for metric in registry.metrics.values():
        among = devices or metric.expected_devices
        for finding in metric_findings(metric, among):
            if finding.code == "large-epsilon" and registry.relay is not None:
                reason = f"{finding.reason}; {behind_relay(metric, among)}"
                yield Finding(finding.code, finding.metric, reason, finding.remedy)
            else:
                yield finding


def _judged(finding: Finding, registry: Registry) -> Finding:
    """The finding, with whether the registry says that it is known and meant."""
    of_metric = () if finding.metric is None else registry.metrics[finding.metric].ignore
    ignored = finding.code in registry.ignore or finding.code in of_metric
    return Finding(finding.code, finding.metric, finding.reason, finding.remedy, ignored)
