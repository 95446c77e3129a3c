"""One file per mechanism: frozen integer parameters, exact epsilon, exact variance.

A mechanism is registered by importing its file here; nothing else lists it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.base import (
    FRESH,
    MAX_EPSILON,
    MAX_EPSILON_PERMANENT,
    MECHANISMS,
    MEMOIZE,
    REPEAT,
    Mechanism,
    PairSupport,
    Support,
)
from deniable_shared.mechanisms.numbers.dbitflip import DBitFlip, GroupedBins
from deniable_shared.mechanisms.numbers.duchi import OneBitMean
from deniable_shared.mechanisms.numbers.hybrid import Hybrid
from deniable_shared.mechanisms.numbers.ldbitflip import MemoizedDBitFlip
from deniable_shared.mechanisms.numbers.lduchi import MemoizedOneBitMean
from deniable_shared.mechanisms.numbers.noise import DiscreteGaussian, DiscreteLaplace
from deniable_shared.mechanisms.numbers.numeric import EXTREME_PLACES, FreshMean, NumericMechanism
from deniable_shared.mechanisms.numbers.window import Piecewise, SquareWave
from deniable_shared.mechanisms.oracle import (
    DecodedReport,
    FreshOracle,
    ItemOracle,
    MemoizedOracle,
    Oracle,
)
from deniable_shared.mechanisms.oracles.grr import GeneralizedRandomizedResponse
from deniable_shared.mechanisms.oracles.ht import HadamardResponse
from deniable_shared.mechanisms.oracles.lgrr import MemoizedRandomizedResponse
from deniable_shared.mechanisms.oracles.losue import MemoizedUnaryEncoding
from deniable_shared.mechanisms.oracles.olh import OptimizedLocalHashing
from deniable_shared.mechanisms.oracles.pgr import ProjectiveGeometryResponse
from deniable_shared.mechanisms.oracles.rhr import RecursiveHadamardResponse
from deniable_shared.mechanisms.oracles.rr import RandomizedResponse
from deniable_shared.mechanisms.oracles.ss import SubsetSelection
from deniable_shared.mechanisms.oracles.unary import OptimizedUnaryEncoding, SymmetricUnaryEncoding
from deniable_shared.mechanisms.pairs import SampledCoefficients
from deniable_shared.mechanisms.rappor import Rappor
from deniable_shared.mechanisms.request import MechanismRequest
from deniable_shared.mechanisms.sets.base import SetMechanism
from deniable_shared.mechanisms.sets.privset import PrivSet
from deniable_shared.mechanisms.sets.wheel import Wheel
from deniable_shared.mechanisms.sketch import Sketch
from deniable_shared.mechanisms.smp import SampledAttribute
from deniable_shared.mechanisms.trie import Trie

if TYPE_CHECKING:
    from collections.abc import Mapping

ORACLES: Final[Mapping[str, type[FreshOracle]]] = {
    name: kind for name, kind in sorted(MECHANISMS.items()) if issubclass(kind, FreshOracle)
}
"""The oracles over a known domain that memoise nothing, by their names in a registry file."""

MEMOIZED_ORACLES: Final[Mapping[str, type[MemoizedOracle]]] = {
    name: kind for name, kind in sorted(MECHANISMS.items()) if issubclass(kind, MemoizedOracle)
}
"""The oracles that draw every report from a permanent answer."""


def mechanism_from_description(description: Mapping[str, Any]) -> Mechanism:
    """The mechanism that `Mechanism.description` describes.

    Raises:
        ParameterError: if the name is unknown or a parameter is refused.
    """
    if not isinstance(description, dict) or description.get("name") not in MECHANISMS:
        raise ParameterError("mechanism", "a known mechanism with its parameters", description)
    parameters = {key: _from_data(value) for key, value in description.items() if key != "name"}
    return MECHANISMS[description["name"]].from_parameters(parameters)


def _from_data(value: Any) -> Any:
    """A parameter: an integer as it is, or the mechanisms that stand inside another one."""
    if isinstance(value, list):
        return tuple(map(_from_data, value))
    return mechanism_from_description(value) if isinstance(value, dict) else value


__all__ = [
    "EXTREME_PLACES",
    "FRESH",
    "MAX_EPSILON",
    "MAX_EPSILON_PERMANENT",
    "MECHANISMS",
    "MEMOIZE",
    "MEMOIZED_ORACLES",
    "ORACLES",
    "REPEAT",
    "DBitFlip",
    "DecodedReport",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "FreshMean",
    "FreshOracle",
    "GeneralizedRandomizedResponse",
    "GroupedBins",
    "HadamardResponse",
    "Hybrid",
    "ItemOracle",
    "Mechanism",
    "MechanismRequest",
    "MemoizedDBitFlip",
    "MemoizedOneBitMean",
    "MemoizedOracle",
    "MemoizedRandomizedResponse",
    "MemoizedUnaryEncoding",
    "NumericMechanism",
    "OneBitMean",
    "OptimizedLocalHashing",
    "OptimizedUnaryEncoding",
    "Oracle",
    "PairSupport",
    "Piecewise",
    "PrivSet",
    "ProjectiveGeometryResponse",
    "RandomizedResponse",
    "Rappor",
    "RecursiveHadamardResponse",
    "SampledAttribute",
    "SampledCoefficients",
    "SetMechanism",
    "Sketch",
    "SquareWave",
    "SubsetSelection",
    "Support",
    "SymmetricUnaryEncoding",
    "Trie",
    "Wheel",
    "mechanism_from_description",
]
