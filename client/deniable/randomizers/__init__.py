"""One file per mechanism: how a device turns a value into a report.

A randomizer draws every random choice from the `Randomness` it is given, in whole and exact
steps, so a test can walk through all choices of the shipped code and add up P(report | value).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from deniable.randomizers.grr import GeneralizedRandomizedResponseRandomizer
from deniable.randomizers.rappor import RapporRandomizer
from deniable.randomizers.rr import RandomizedResponseRandomizer
from deniable.randomizers.sketch import SketchRandomizer
from deniable.randomizers.unary import UnaryEncodingRandomizer
from deniable_shared.mechanisms import Oracle, Sketch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable._randomness import Randomness
    from deniable.randomizers.base import Randomizer
    from deniable_shared.mechanisms import Mechanism
    from deniable_shared.spec import Spec

_ORACLES: Final[Mapping[str, Callable[[Any, Randomness], Randomizer]]] = {
    "grr": GeneralizedRandomizedResponseRandomizer,
    "oue": UnaryEncodingRandomizer,
    "rr": RandomizedResponseRandomizer,
    "sue": UnaryEncodingRandomizer,
}


def randomizer_for(spec: Spec, randomness: Randomness) -> Randomizer:
    """The randomizer of a spec's mechanism.

    Args:
        spec: the metric.
        randomness: where every random choice comes from.
    """
    mechanism = spec.mechanism
    if isinstance(mechanism, Oracle):
        return _oracle(mechanism, randomness)
    if isinstance(mechanism, Sketch):
        inner = _oracle(mechanism.inner, randomness)
        return SketchRandomizer(mechanism, inner, spec.salt, randomness)
    return RapporRandomizer(spec, randomness)


def _oracle(mechanism: Mechanism, randomness: Randomness) -> Randomizer:
    return _ORACLES[mechanism.name](mechanism, randomness)
