"""One file per mechanism: how a device turns a value into a report.

A randomizer draws every random choice from the `Randomness` it is given, in whole and exact
steps, so a test can walk through all choices of the shipped code and add up P(report | value).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from deniable import _randomness
from deniable.randomizers.dbitflip import DBitFlipRandomizer
from deniable.randomizers.grr import GeneralizedRandomizedResponseRandomizer
from deniable.randomizers.ht import HadamardResponseRandomizer
from deniable.randomizers.ldbitflip import MemoizedDBitFlipRandomizer
from deniable.randomizers.lduchi import MemoizedOneBitMeanRandomizer
from deniable.randomizers.lgrr import MemoizedRandomizedResponseRandomizer
from deniable.randomizers.losue import MemoizedUnaryEncodingRandomizer
from deniable.randomizers.numbers import (
    GaussianRandomizer,
    HybridRandomizer,
    LaplaceRandomizer,
    OneBitMeanRandomizer,
    PiecewiseRandomizer,
    SquareWaveRandomizer,
)
from deniable.randomizers.olh import OptimizedLocalHashingRandomizer
from deniable.randomizers.pairs import SampledCoefficientsRandomizer
from deniable.randomizers.permanent import PermanentChoices
from deniable.randomizers.pgr import ProjectiveGeometryResponseRandomizer
from deniable.randomizers.rappor import RapporRandomizer
from deniable.randomizers.rhr import RecursiveHadamardResponseRandomizer
from deniable.randomizers.rr import RandomizedResponseRandomizer
from deniable.randomizers.sketch import MemoizedSketchRandomizer, SketchRandomizer
from deniable.randomizers.smp import SampledAttributeRandomizer
from deniable.randomizers.ss import SubsetSelectionRandomizer
from deniable.randomizers.unary import UnaryEncodingRandomizer
from deniable_shared.mechanisms import (
    DBitFlip,
    MemoizedDBitFlip,
    MemoizedOneBitMean,
    MemoizedOracle,
    MemoizedRandomizedResponse,
    NumericMechanism,
    Oracle,
    SampledAttribute,
    SampledCoefficients,
    Sketch,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable._randomness import Randomness
    from deniable.randomizers.base import Randomizer
    from deniable.randomizers.permanent import Keyed
    from deniable_shared.mechanisms import Mechanism, MemoizedUnaryEncoding, Rappor
    from deniable_shared.spec import Spec

_ORACLES: Final[Mapping[str, Callable[[Any, Randomness], Randomizer]]] = {
    "grr": GeneralizedRandomizedResponseRandomizer,
    "ht": HadamardResponseRandomizer,
    "olh": OptimizedLocalHashingRandomizer,
    "oue": UnaryEncodingRandomizer,
    "pgr": ProjectiveGeometryResponseRandomizer,
    "rhr": RecursiveHadamardResponseRandomizer,
    "rr": RandomizedResponseRandomizer,
    "ss": SubsetSelectionRandomizer,
    "sue": UnaryEncodingRandomizer,
}

_NUMBERS: Final[Mapping[str, Callable[[Any, Randomness], Randomizer]]] = {
    "duchi": OneBitMeanRandomizer,
    "gaussian": GaussianRandomizer,
    "hybrid": HybridRandomizer,
    "laplace": LaplaceRandomizer,
    "piecewise": PiecewiseRandomizer,
    "sw": SquareWaveRandomizer,
}


def randomizer_for(
    spec: Spec, randomness: Randomness, keyed: Keyed = _randomness.keyed_randomness
) -> Randomizer:
    """The randomizer of a spec's mechanism.

    Args:
        spec: the metric.
        randomness: where every fresh random choice comes from.
        keyed: makes the permanent randomness of (secret, label, length); tests enumerate it.
    """
    mechanism = spec.mechanism
    permanent = PermanentChoices(mechanism, spec.digest, keyed)
    if isinstance(mechanism, MemoizedOracle):
        return _memoized(mechanism, permanent, randomness)
    if isinstance(mechanism, Oracle):
        return _oracle(mechanism, randomness)
    if isinstance(mechanism, Sketch) and isinstance(mechanism.inner, MemoizedOracle):
        answers = PermanentChoices(mechanism.inner, spec.digest, keyed)
        inner = _memoized(mechanism.inner, answers, randomness)
        return MemoizedSketchRandomizer(mechanism, inner, spec.salt, permanent, randomness)
    if isinstance(mechanism, Sketch):
        inner = _oracle(mechanism.inner, randomness)
        return SketchRandomizer(mechanism, inner, spec.salt, randomness)
    if isinstance(mechanism, MemoizedOneBitMean):
        return MemoizedOneBitMeanRandomizer(mechanism, permanent, randomness)
    if isinstance(mechanism, NumericMechanism):
        return _NUMBERS[mechanism.name](mechanism, randomness)
    if isinstance(mechanism, DBitFlip):
        return DBitFlipRandomizer(mechanism, permanent, randomness)
    if isinstance(mechanism, MemoizedDBitFlip):
        return MemoizedDBitFlipRandomizer(mechanism, permanent, randomness)
    if isinstance(mechanism, SampledAttribute):
        several = [_oracle(oracle, randomness) for oracle in mechanism.inner]
        return SampledAttributeRandomizer(mechanism, several, randomness)
    if isinstance(mechanism, SampledCoefficients):
        inner = _oracle(mechanism.inner, randomness)
        return SampledCoefficientsRandomizer(mechanism, inner, randomness)
    return RapporRandomizer(cast("Rappor", mechanism), spec.salt, permanent, randomness)


def _memoized(
    mechanism: MemoizedOracle, permanent: PermanentChoices, randomness: Randomness
) -> Randomizer:
    if isinstance(mechanism, MemoizedRandomizedResponse):
        return MemoizedRandomizedResponseRandomizer(mechanism, permanent, randomness)
    unary = cast("MemoizedUnaryEncoding", mechanism)
    return MemoizedUnaryEncodingRandomizer(unary, permanent, randomness)


def _oracle(mechanism: Mechanism, randomness: Randomness) -> Randomizer:
    return _ORACLES[mechanism.name](mechanism, randomness)
