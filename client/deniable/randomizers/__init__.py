"""One file per mechanism: how a device turns a value into a report.

A randomizer draws every random choice from the `Randomness` it is given, in whole and exact
steps, so a test can walk through all choices of the shipped code and add up P(report | value).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable.randomizers.cms import CountMeanSketchRandomizer
from deniable.randomizers.grr import GeneralizedRandomizedResponseRandomizer
from deniable.randomizers.rappor import RapporRandomizer
from deniable.randomizers.rr import RandomizedResponseRandomizer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable._randomness import Randomness
    from deniable.randomizers.base import Randomizer
    from deniable_shared.spec import Spec

_RANDOMIZERS: Final[Mapping[str, Callable[[Spec, Randomness], Randomizer]]] = {
    "cms": CountMeanSketchRandomizer,
    "grr": GeneralizedRandomizedResponseRandomizer,
    "rappor": RapporRandomizer,
    "rr": RandomizedResponseRandomizer,
}


def randomizer_for(spec: Spec, randomness: Randomness) -> Randomizer:
    """The randomizer of a spec's mechanism.

    Args:
        spec: the metric.
        randomness: where every random choice comes from.
    """
    return _RANDOMIZERS[spec.mechanism.name](spec, randomness)
