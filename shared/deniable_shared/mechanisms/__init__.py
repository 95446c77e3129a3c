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
from deniable_shared.mechanisms.dbitflip import DBitFlip, GroupedBins
from deniable_shared.mechanisms.duchi import OneBitMean
from deniable_shared.mechanisms.grr import GeneralizedRandomizedResponse
from deniable_shared.mechanisms.ht import HadamardResponse
from deniable_shared.mechanisms.hybrid import Hybrid
from deniable_shared.mechanisms.ldbitflip import MemoizedDBitFlip
from deniable_shared.mechanisms.lduchi import MemoizedOneBitMean
from deniable_shared.mechanisms.lgrr import MemoizedRandomizedResponse
from deniable_shared.mechanisms.losue import MemoizedUnaryEncoding
from deniable_shared.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from deniable_shared.mechanisms.numeric import NumericMechanism
from deniable_shared.mechanisms.olh import OptimizedLocalHashing
from deniable_shared.mechanisms.oracle import (
    DecodedReport,
    FreshOracle,
    ItemOracle,
    MemoizedOracle,
    Oracle,
)
from deniable_shared.mechanisms.pairs import SampledCoefficients
from deniable_shared.mechanisms.pgr import ProjectiveGeometryResponse
from deniable_shared.mechanisms.rappor import Rappor
from deniable_shared.mechanisms.request import MechanismRequest
from deniable_shared.mechanisms.rhr import RecursiveHadamardResponse
from deniable_shared.mechanisms.rr import RandomizedResponse
from deniable_shared.mechanisms.sketch import Sketch
from deniable_shared.mechanisms.smp import SampledAttribute
from deniable_shared.mechanisms.ss import SubsetSelection
from deniable_shared.mechanisms.unary import OptimizedUnaryEncoding, SymmetricUnaryEncoding
from deniable_shared.mechanisms.window import Piecewise, SquareWave

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
    parameters = {key: value for key, value in description.items() if key != "name"}
    if "inner" in parameters:
        inner = parameters["inner"]
        several = isinstance(inner, list)
        parameters["inner"] = (
            tuple(map(mechanism_from_description, inner))
            if several
            else mechanism_from_description(inner)
        )
    return MECHANISMS[description["name"]].from_parameters(parameters)


__all__ = [
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
    "ProjectiveGeometryResponse",
    "RandomizedResponse",
    "Rappor",
    "RecursiveHadamardResponse",
    "SampledAttribute",
    "SampledCoefficients",
    "Sketch",
    "SquareWave",
    "SubsetSelection",
    "Support",
    "SymmetricUnaryEncoding",
    "mechanism_from_description",
]
