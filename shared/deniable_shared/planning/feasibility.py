"""Finds metrics that have too few devices to show anything, and the nearest settings that do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from deniable_shared import mechanism_choice
from deniable_shared.mechanisms import MAX_EPSILON, Mechanism, NumericMechanism, Trie
from deniable_shared.planning.candidates import worst_variance
from deniable_shared.planning.detection import devices_to_detect
from deniable_shared.planning.disclosure_figures import Z
from deniable_shared.planning.discovery import Forecast

HOPELESS_SHARE: Final = 0.1
"""A metric is refused if it could not even detect a value that this share of devices has."""

HOPELESS_PART: Final = 0.25
"""A mean is refused if its interval reaches further than this part of its range to either side."""

_EPSILON_STEPS: Final = 100
"""Suggested epsilons are multiples of 1/100."""


@dataclass(frozen=True)
class Refusal:
    """Why a metric cannot work, and the nearest settings that do.

    Attributes:
        reason: why, in a sentence.
        devices: how many devices would be enough at this epsilon.
        epsilon: the smallest epsilon that would be enough for these devices; None if none is.
    """

    reason: str
    devices: int
    epsilon: float | None


def refuse_if_hopeless(
    mechanism: Mechanism, devices: int, share: float = HOPELESS_SHARE
) -> Refusal | None:
    """Why so many devices cannot show anything, or None if they can.

    Args:
        devices: how many report, at least 1.
        share: of a value that they have to detect, in (0, 1].
    """
    enough = _enough_devices(mechanism, share)
    if enough <= devices:
        return None
    if isinstance(mechanism, NumericMechanism):
        failure = f"the mean would not be known to ± {HOPELESS_PART:.0%} of its range"
    elif isinstance(mechanism, Trie):
        failure = f"not even a short string that {share:.0%} of them hold would be found"
    else:
        failure = f"not even a value that {share:.0%} of them have would be detected"
    return Refusal(
        reason=f"with {devices:,} devices at epsilon {mechanism.epsilon:.4g} {failure}",
        devices=enough,
        epsilon=_enough_epsilon(mechanism, devices, share),
    )


def _enough_devices(mechanism: Mechanism, share: float) -> int:
    if isinstance(mechanism, NumericMechanism):
        return math.ceil(worst_variance(mechanism) * (Z / HOPELESS_PART) ** 2)
    if isinstance(mechanism, Trie):
        return Forecast(mechanism, mechanism.first_bits, 0, minimum=None).devices(share)
    return devices_to_detect(mechanism, share)


def _enough_epsilon(mechanism: Mechanism, devices: int, share: float) -> float | None:
    """The smallest epsilon, a multiple of 0.01, at which so many devices are enough.

    None if no permitted epsilon is enough, or if the mechanism has more than one epsilon.
    """
    low, high = math.floor(mechanism.epsilon * _EPSILON_STEPS), MAX_EPSILON * _EPSILON_STEPS

    def enough(steps: int) -> bool:
        stronger = mechanism.at_epsilon(Fraction(steps, _EPSILON_STEPS), mechanism_choice)
        return stronger is not None and _enough_devices(stronger, share) <= devices

    if not enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high / _EPSILON_STEPS
