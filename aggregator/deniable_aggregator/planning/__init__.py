"""What a metric will show, worked out before anything ships."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_aggregator.planning.candidates import (
    EXTREME_PLACES,
    Candidate,
    mean_unit,
    rank_candidates,
    short_name,
)
from deniable_aggregator.planning.feasibility import Refusal, refuse_if_hopeless
from deniable_aggregator.planning.result import Collection, Plan
from deniable_shared.disclosure_figures import Z, visible_share
from deniable_shared.mechanisms import NumericMechanism
from deniable_shared.spec import TYPES_WITH_RANGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_shared.registry import Budget, Metric
    from deniable_shared.spec import Spec

SHARES: Final = (0.0, 0.01, 0.1)
"""Shares whose error bars are shown; 0 stands for a rare item."""

DEFAULT_CANDIDATES: Final = 1_000
DEFAULT_DAYS: Final = 365
PERIOD_DAYS: Final[Mapping[str, int]] = {"day": 1, "week": 7, "month": 30}


def plan(
    metric: Metric,
    *,
    devices: int | None = None,
    questions: int | None = None,
    days: int = DEFAULT_DAYS,
    width: float | None = None,
    budget: Budget | None = None,
) -> Plan:
    """Works out what a metric will show.

    Args:
        metric: a resolved metric.
        devices: how many report; None for as many as the registry expects.
        questions: how many items are asked for at once; None for all of a known domain, and
            1,000 candidates of an open one.
        days: how long a device reports.
        width: a half-width to find the number of devices for, as a share, or in a number's unit.
        budget: what a device may spend.
    """
    spec, mechanism = metric.spec, metric.spec.mechanism
    devices = metric.expected_devices if devices is None else devices
    if questions is None:
        questions = _questions(spec)
    mean = isinstance(mechanism, NumericMechanism)
    candidates = rank_candidates(spec, devices)
    chosen = next(candidate for candidate in candidates if candidate.chosen)
    unit = mean_unit(spec)
    return Plan(
        metric=metric,
        devices=devices,
        questions=questions,
        mean=mean,
        candidates=candidates,
        half_widths={
            at: Z * unit * math.sqrt(mechanism.variance(at, 1) / devices + chosen.family)
            for at in (EXTREME_PLACES if mean else SHARES)
        },
        visible=None if mean else visible_share(mechanism, devices),
        visible_of_all=None if mean else visible_share(mechanism, devices, questions),
        width=width,
        devices_for_width=None
        if width is None
        else max(1, math.ceil(chosen.variance * (Z / width) ** 2)),
        family=chosen.family * devices / chosen.variance if chosen.family else None,
        collection=_collection(metric, days, budget),
        refusal=refuse_if_hopeless(mechanism, devices),
    )


def _questions(spec: Spec) -> int:
    """How many items are asked for if nothing else is said."""
    return 1 if spec.type in TYPES_WITH_RANGE else len(spec.items) or DEFAULT_CANDIDATES


def _collection(metric: Metric, days: int, budget: Budget | None) -> Collection:
    spec, mechanism = metric.spec, metric.spec.mechanism
    period = PERIOD_DAYS.get(spec.every)
    reports = 1 if period is None else math.ceil(days / period)
    limit = mechanism.epsilon_total
    total = reports * mechanism.epsilon
    if limit is not None:
        total = min(total, limit)
    permanent = mechanism.epsilon_permanent
    spent = None
    endless = limit is not None and budget is not None and limit <= budget.epsilon_lifetime
    if budget is not None and period is not None and not endless:
        spent = int(budget.epsilon_lifetime / mechanism.epsilon) * period
    return Collection(
        days=days,
        reports=reports,
        epsilon=total,
        epsilon_unchanged=total if permanent is None else min(total, permanent),
        budget_days=spent,
    )


__all__ = [
    "DEFAULT_DAYS",
    "Candidate",
    "Collection",
    "Plan",
    "Refusal",
    "plan",
    "short_name",
]
