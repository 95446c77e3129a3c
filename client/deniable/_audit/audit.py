"""Audits the metrics of a registry."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any, Final

import deniable
from deniable._audit.certificate import AuditedMetric, Certificate
from deniable._audit.declared import Declared, check_declared
from deniable._audit.failure import AuditFailure
from deniable._audit.laws.memory import check_memory
from deniable._audit.laws.surroundings import check_surroundings
from deniable._audit.primitives import audit_primitives
from deniable._audit.sections import section_of
from deniable._audit.verdict import verdict_on
from deniable_shared.installed import installed_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deniable_shared.registry import Metric, Registry

_NOT_IN_APPLICATIONS: Final = ("deniable.testing", "deniable._testing", "deniable._pyinstaller")


@cache
def import_the_client() -> None:
    """Imports all that applications run: any of these modules could replace a randomizer."""
    for module in walk_packages(deniable.__path__, "deniable."):
        if not module.name.startswith(_NOT_IN_APPLICATIONS):
            import_module(module.name)


def audit_metric(metric: Metric, declared: Declared | None) -> AuditedMetric:
    """Audits the installed randomizer of a metric.

    Args:
        metric: as the registry's reader gives it.
        declared: what the file says of it; None if it says nothing.

    Raises:
        AuditFailure: if it reveals more than the metric states or its file allows, remembers
            something from one report to the next, or cannot be followed.
    """
    import_the_client()
    try:
        verdict = verdict_on(section_of(metric.spec))
        check_declared(metric.spec, verdict, declared)
        check_memory(metric.spec)
        check_surroundings(metric.spec)
    except AuditFailure as failure:
        raise AuditFailure(failure.reason, metric.spec.name) from failure
    assert declared is not None
    return AuditedMetric(metric.spec, verdict, declared)


def audit_draws(audited: Iterable[AuditedMetric]) -> tuple[Mapping[str, Any], ...]:
    """How each primitive draw of metrics that passed was audited.

    Raises:
        AuditFailure: if one does not have the probabilities that the metrics rest on.
    """
    return audit_primitives({draw for metric in audited for draw in metric.verdict.draws})


def certificate_of(registry: Registry, audited: Iterable[AuditedMetric]) -> Certificate:
    """The certificate of metrics that passed.

    Raises:
        AuditFailure: see `audit_draws`.
        ParameterError: if the client is part of a packed program, which has no files to name.
    """
    metrics = tuple(audited)
    return Certificate(
        registry.application,
        metrics,
        installed_files(),
        sys.version.partition(" ")[0],
        audit_draws(metrics),
    )
