"""How many devices an experiment needs: to tell a difference between two arms from none.

The arm may be the metric's segment, randomized with the value: then a report is about one of all
cells of a value and an arm, and the share of a value within an arm is a ratio of estimates,
r = v / s. With noise V(c) of a cell c and k values, v - r s has the variance

    (1 - r)^2 V(v) + r^2 (k - 1) V(o) + s r (1 - r) / n,

where o is any other cell of the arm, and r that over s^2. Or each arm has a write key of its own:
then it is known in the clear, and only the value has noise.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_shared.errors import DeniableError
from deniable_shared.mechanisms import NumericMechanism
from deniable_shared.planning.detection import POWER

if TYPE_CHECKING:
    from deniable_shared.mechanisms import Mechanism

POINTS: Final = 0.02
"""The difference of two shares, if nothing else is said."""

HALF: Final = 0.5
"""The share that a value is expected to have in either arm."""

ALPHA: Final = 0.05
"""Of the test, two-sided."""

ARMS: Final = 2


class Experiment(NamedTuple):
    """How many devices tell a difference in 8 of 10 experiments.

    Attributes:
        difference: of the shares of a value that half of the devices hold.
        cells: of a value and an arm.
        by_segment: devices, of both arms, if the arm is the metric's segment.
        by_key: devices, of both arms, if each has a key of its own.
    """

    difference: float
    cells: int
    by_segment: int
    by_key: int

    def as_dict(self) -> dict[str, float]:
        """JSON data."""
        return dict(self._asdict())


def experiment(
    difference: float, values: int, with_arms: Mechanism, without: Mechanism, arms: int = ARMS
) -> Experiment:
    """What it needs.

    Args:
        difference: of the shares, in (0, 0.5).
        values: how many the metric has; at least 2.
        with_arms: the mechanism over all cells of a value and an arm.
        without: the mechanism over the values alone.
        arms: how many segments the metric has, of the same size; two of them are compared.

    Raises:
        DeniableError: if the metric has no shares of values.
    """
    if isinstance(with_arms, NumericMechanism) or isinstance(without, NumericMechanism):
        raise DeniableError("experiment must be left out for numbers and distributions")
    if not 0 < difference < HALF:
        raise DeniableError(f"experiment must be a difference in (0, 0.5), got {difference!r}")
    # Of two values both differ, and a step-up test takes both p-values as they are.
    tests = 1 if values == ARMS else values
    normal = NormalDist()
    reach = normal.inv_cdf(1 - ALPHA / 2 / tests) + normal.inv_cdf(POWER)
    size = 1 / arms
    own = with_arms.variance(HALF * size, 1)
    others = with_arms.variance(HALF * size / (values - 1), 1)
    within = (HALF**2 * own + HALF**2 * (values - 1) * others + size * HALF * (1 - HALF)) / size**2
    # Of n devices half are in either arm.
    alone = ARMS * (without.variance(HALF, 1) + HALF * (1 - HALF))
    return Experiment(
        difference,
        values * arms,
        *(math.ceil(2 * variance * (reach / difference) ** 2) for variance in (within, alone)),
    )
