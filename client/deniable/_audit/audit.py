"""Audits all metrics of a registry."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from deniable._audit.certificate import AuditedMetric, Certificate
from deniable._audit.failure import AuditFailure
from deniable._audit.laws.memory import check_memory
from deniable._audit.primitives import audit_primitives
from deniable._audit.sections import section_of
from deniable._audit.verdict import verdict_on
from deniable_shared.installed import installed_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_shared.registry import Metric, Registry


def audit(registry: Registry) -> Certificate:
    """Audits the installed randomizers of all metrics of a registry.

    Raises:
        AuditFailure: at the first metric that fails, with its name and the reason.
    """
    return certificate_of(registry, map(audit_metric, registry.metrics.values()))


def audit_metric(metric: Metric) -> AuditedMetric:
    """Audits the installed randomizer of a metric.

    Raises:
        AuditFailure: if it reveals more than the metric states, remembers something from one report
            to the next, or cannot be followed.
    """
    try:
        verdict = verdict_on(section_of(metric.spec))
        check_memory(metric.spec)
    except AuditFailure as failure:
        raise AuditFailure(failure.reason, metric.spec.name) from failure
    return AuditedMetric(metric.spec, verdict)


def certificate_of(registry: Registry, audited: Iterable[AuditedMetric]) -> Certificate:
    """The certificate of metrics that passed.

    Raises:
        AuditFailure: if a draw does not have the probabilities that the metrics rest on.
    """
    metrics = tuple(audited)
    return Certificate(
        registry.application,
        metrics,
        installed_files(),
        sys.version.partition(" ")[0],
        audit_primitives({draw for metric in metrics for draw in metric.verdict.draws}),
    )
