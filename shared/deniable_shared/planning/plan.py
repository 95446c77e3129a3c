"""What a metric will show, worked out before anything ships."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from deniable_shared.accounting import history_bounds
from deniable_shared.errors import DeniableError
from deniable_shared.mechanism_choice import oracle_for
from deniable_shared.mechanisms import EXTREME_PLACES, NumericMechanism, Trie
from deniable_shared.periods import most_periods
from deniable_shared.planning.budget import DAYS_OF_A_YEAR, days_until_spent
from deniable_shared.planning.candidates import (
    collision_variance,
    mean_unit,
    rank_candidates,
)
from deniable_shared.planning.detection import (
    MOST_DEVICES,
    detectable_share,
    devices_to_detect_among,
)
from deniable_shared.planning.disclosure_figures import Z
from deniable_shared.planning.discovery import (
    FORECAST_SHARES,
    Forecast,
    default_texts,
    example_of,
    remedy,
    suggestion,
)
from deniable_shared.planning.experiment import ARMS, Experiment, experiment
from deniable_shared.planning.feasibility import HOPELESS_SHARE, refuse_if_hopeless
from deniable_shared.planning.result import Collection, Plan
from deniable_shared.spec import TYPES_WITH_RANGE, Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.mechanisms import Mechanism
    from deniable_shared.registry import Budget, Metric

SHARES: Final = (0.0, 0.01, 0.1)
"""Shares whose intervals are shown; 0 stands for a value that nobody or hardly anybody has."""

DEFAULT_CANDIDATES: Final = 1_000
"""How many strings are looked for if nothing else is said."""


def plan(
    metric: Metric,
    *,
    devices: int | None = None,
    values_asked: int | None = None,
    days: int = DAYS_OF_A_YEAR,
    width: float | None = None,
    share: float | None = None,
    difference: float | None = None,
    budget: Budget | None = None,
    texts: Sequence[str] = (),
) -> Plan:
    """Works out what a metric will show.

    Args:
        devices: how many report, at least 1; None for as many as the registry expects.
        values_asked: about how many values analysts will ask at once; None for all of a known
            domain, and 1,000 of an open one.
        days: for how many days a device reports, at least 1.
        width: also work out how many devices bring the 95% interval down to ± this: a share,
            or in the unit of a number; greater than 0.
        share: also work out how many devices tell a value of this share from zero, in (0, 1]; of
            a mean, None.
        difference: also work out how many devices tell a difference of so much between two arms
            of an experiment, as a fraction; None for no answer.
        budget: what a device may spend; None for no limit.
        texts: strings that devices might hold, if the metric discovers; a few of any script if
            none are given.
    """
    spec, mechanism = metric.spec, metric.spec.mechanism
    devices = metric.expected_devices if devices is None else devices
    if values_asked is None:
        values_asked = _default_values_asked(spec)
    is_mean = isinstance(mechanism, NumericMechanism)
    candidates = rank_candidates(spec, devices)
    chosen = next(candidate for candidate in candidates if candidate.chosen)
    unit = mean_unit(spec)
    forecast_shares = FORECAST_SHARES if share is None else (share,)
    examples = (
        ()
        if spec.letters is None
        else tuple(
            example_of(metric, text, devices, forecast_shares)
            for text in texts or default_texts(metric)
        )
    )
    alone, of_all = devices_for_share(metric, share, values_asked)
    return Plan(
        metric=metric,
        devices=devices,
        values_asked=values_asked,
        is_mean=is_mean,
        candidates=candidates,
        half_widths={
            at: Z
            * unit
            * math.sqrt(mechanism.variance(at, 1) / devices + chosen.collision_variance)
            for at in (EXTREME_PLACES if is_mean else SHARES)
        },
        detectable_share=None if is_mean else detectable_share(mechanism, devices),
        detectable_share_of_all=None
        if is_mean
        else detectable_share(mechanism, devices, values_asked),
        width=width,
        devices_for_width=None
        if width is None
        else max(1, math.ceil(chosen.variance * (Z / width) ** 2)),
        share=share,
        devices_for_share=alone,
        devices_for_share_of_all=of_all,
        collision_error=chosen.collision_variance * devices / chosen.variance
        if chosen.collision_variance
        else None,
        collection=_collection(metric, days, budget),
        refusal=refuse_if_hopeless(mechanism, devices, max(HOPELESS_SHARE, share or 0.0)),
        examples=examples,
        experiment=None if difference is None else _experiment(spec, difference),
        remedy=remedy(metric, examples, devices) if examples else None,
        suggestion=suggestion(metric, forecast_shares[0]) if examples else None,
    )


def devices_for_share(
    metric: Metric, share: float | None, values_asked: int | None = None
) -> tuple[int | None, int | None]:
    """How many devices tell a value of a share from zero.

    Args:
        share: of the devices, in (0, 1]; None for no answer.
        values_asked: as of `plan`.

    Returns:
        Two numbers: for a value asked for alone, and for all values asked for at once. For strings
        to discover: for a short string, and for one of the greatest length. None where no number is
        enough.
    """
    spec, mechanism = metric.spec, metric.spec.mechanism
    if share is None or isinstance(mechanism, NumericMechanism):
        return None, None
    if isinstance(mechanism, Trie):
        assert spec.letters is not None
        lengths = ((mechanism.first_bits, 0), (spec.letters.bits, mechanism.levels - 1))
        short, long = (
            Forecast(mechanism, bits, level, metric.minimum_devices).devices(share)
            for bits, level in lengths
        )
        return (
            None if short >= MOST_DEVICES else short,
            None if long >= MOST_DEVICES else long,
        )
    values = _default_values_asked(spec) if values_asked is None else values_asked
    extra = collision_variance(mechanism, metric.expected_devices)
    return (
        devices_to_detect_among(mechanism, share, extra=extra),
        devices_to_detect_among(mechanism, share, values, extra=extra),
    )


def _experiment(spec: Spec, difference: float) -> Experiment:
    """What an experiment needs whose outcome is a metric.

    Raises:
        DeniableError: if the metric has no shares of a few values, or its answers are memoised.
    """
    if spec.type not in ("boolean", "category") or spec.mechanism.epsilon_permanent is not None:
        raise DeniableError(
            f"experiment must be left out for {spec.name}: it is planned for categories and "
            "booleans that are not memoised"
        )
    with_arms: Mechanism
    without: Mechanism
    epsilon = Fraction(spec.mechanism.epsilon).limit_denominator(1_000_000)
    if spec.segments is None:
        values, arms = max(len(spec.items), ARMS), ARMS
        with_arms, without = oracle_for(values * arms, epsilon), spec.mechanism
    else:
        values, arms = spec.segments.of.size, spec.segments.by.size
        with_arms, without = spec.mechanism, oracle_for(values, epsilon)
    return experiment(difference, values, with_arms, without, arms)


def _default_values_asked(spec: Spec) -> int:
    return 1 if spec.type in TYPES_WITH_RANGE else len(spec.items) or DEFAULT_CANDIDATES


def _collection(metric: Metric, days: int, budget: Budget | None) -> Collection:
    """What a device gives away in so many days, and when its lifetime budget ends that."""
    spec, mechanism = metric.spec, metric.spec.mechanism
    reports = most_periods(spec.every, days)
    total = reports * mechanism.epsilon
    histories = history_bounds(mechanism, reports)
    return Collection(
        days=days,
        reports=reports,
        epsilon=total if histories is None else histories.always,
        delta=reports * mechanism.delta,
        histories=histories,
        budget_days=None if budget is None else days_until_spent([spec], budget.epsilon_lifetime),
    )
