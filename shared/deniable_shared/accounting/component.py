"""What a device sends in so many days, as independent draws that compose."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_shared.accounting.profile import LossProfile, profile_of, pure_profile
from deniable_shared.periods import most_periods

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_shared.spec import Spec


@dataclass(frozen=True)
class Component:
    """All reports of one metric.

    Reports with fresh noise are as many draws. Reports that a device draws from permanent answers
    are one draw, the answers', whose epsilon is pure.

    Attributes:
        name: the metric's.
        reports: how many one device sends at most.
        draws: how many independent draws they are, of all devices of a person.
        epsilon: of one draw, in nats.
        delta: of one draw; see `Bound`.
        profile: the loss of one draw.
        permanent: whether it stands for permanent answers.
        epsilon_unchanged: of a draw while the value never changes; as `epsilon` without permanent
            answers.
    """

    name: str
    reports: int
    draws: int
    epsilon: float
    delta: float
    profile: LossProfile
    permanent: bool
    epsilon_unchanged: float


def components_of(specs: Iterable[Spec], days: int, devices: int = 1) -> tuple[Component, ...]:
    """The draws of so many consecutive days, if every metric reports as often as it may.

    Args:
        days: at least 1.
        devices: how many devices of one person hold the same values; at least 1.
    """
    return tuple(_component(spec, days, devices) for spec in specs)


def _component(spec: Spec, days: int, devices: int) -> Component:
    mechanism, reports = spec.mechanism, most_periods(spec.every, days)
    if mechanism.epsilon_permanent is None:
        return Component(
            name=spec.name,
            reports=reports,
            draws=reports * devices,
            epsilon=mechanism.epsilon,
            delta=mechanism.delta,
            profile=profile_of(mechanism),
            permanent=False,
            epsilon_unchanged=mechanism.epsilon,
        )
    every_report = reports * mechanism.epsilon
    epsilon = min(every_report, mechanism.epsilon_total or math.inf)
    return Component(
        name=spec.name,
        reports=reports,
        draws=devices,
        epsilon=epsilon,
        delta=0.0,
        profile=pure_profile(epsilon),
        permanent=True,
        epsilon_unchanged=min(epsilon, mechanism.epsilon_permanent),
    )
