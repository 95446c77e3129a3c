"""What a device sends in so many days, as independent draws that compose."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_shared.accounting.profile import (
    LossProfile,
    profile_of,
    profile_of_round,
    pure_profile,
)
from deniable_shared.periods import most_periods

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deniable_shared.spec import Spec


@dataclass(frozen=True)
class Component:
    """Reports of one metric that are independent draws of one kind.

    Attributes:
        name: the metric's.
        draws: how many, of all devices of a person.
        epsilon: of one draw, in nats; may be infinite.
        delta: of one draw; see `Bound`.
        profile: the loss of one draw.
        permanent: whether the metric has permanent answers. Devices do not count its draws, but
            its reports, and only until these have paid for the answers.
    """

    name: str
    draws: int
    epsilon: float
    delta: float
    profile: LossProfile
    permanent: bool = False


def components_of(
    specs: Iterable[Spec], days: int, devices: int = 1, *, changing: bool = True
) -> tuple[Component, ...]:
    """The draws of so many consecutive days, if every metric reports as often as it may.

    Reports with fresh noise are as many draws. Of reports that come from permanent answers the
    first is a draw, and each later one the draws of its second round: that holds for any two
    histories of values, see `deniable_shared.mechanisms.second_round`.

    Args:
        days: at least 1.
        devices: how many devices of one person hold the same values; at least 1.
        changing: whether values of memoised metrics may change. If not, all reports of one are the
            draw of its permanent answer.
    """
    return tuple(
        component for spec in specs for component in _components(spec, days, devices, changing)
    )


def _components(spec: Spec, days: int, devices: int, changing: bool) -> Iterator[Component]:
    mechanism, reports = spec.mechanism, most_periods(spec.every, days)
    permanent, second = mechanism.epsilon_permanent, mechanism.second_round
    profile = profile_of(mechanism)
    if permanent is None or second is None:
        yield Component(spec.name, reports * devices, mechanism.epsilon, mechanism.delta, profile)
        return
    if not changing:
        epsilon = min(reports * mechanism.epsilon, permanent)
        yield Component(spec.name, devices, epsilon, 0.0, pure_profile(epsilon), permanent=True)
        return
    yield Component(spec.name, devices, mechanism.epsilon, 0.0, profile, permanent=True)
    if reports > 1:
        draws = (reports - 1) * second.draws * devices
        yield Component(
            spec.name, draws, second.epsilon, 0.0, profile_of_round(second), permanent=True
        )


def counted_epsilon(specs: Iterable[Spec], days: int, devices: int = 1) -> float:
    """What devices count if every metric reports as often as it may, in nats.

    An epsilon for each report; those of a memoised metric until they have paid for every permanent
    answer that a device can ever give. Of memoised metrics that is no bound for histories that
    change, see `deniable_shared.accounting.histories`.

    Args:
        days: how many in a row, at least 1.
        devices: of one person.
    """
    return devices * math.fsum(
        min(
            spec.mechanism.epsilon * most_periods(spec.every, days),
            spec.mechanism.epsilon_total or math.inf,
        )
        for spec in specs
    )
