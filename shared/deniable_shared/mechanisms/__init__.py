"""One file per mechanism: frozen integer parameters, exact epsilon, exact variance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.base import (
    MAX_EPSILON,
    MAX_EPSILON_PERMANENT,
    FreshOracle,
    Mechanism,
    MemoizedOracle,
    Oracle,
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
from deniable_shared.mechanisms.pairs import SampledCoefficients
from deniable_shared.mechanisms.pgr import ProjectiveGeometryResponse
from deniable_shared.mechanisms.rappor import Rappor
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
    oracle.name: oracle
    for oracle in (
        GeneralizedRandomizedResponse,
        HadamardResponse,
        OptimizedLocalHashing,
        OptimizedUnaryEncoding,
        ProjectiveGeometryResponse,
        RandomizedResponse,
        RecursiveHadamardResponse,
        SubsetSelection,
        SymmetricUnaryEncoding,
    )
}
"""The oracles over a known domain that memoise nothing, by their names in a registry file."""

MEMOIZED_ORACLES: Final[Mapping[str, type[MemoizedOracle]]] = {
    oracle.name: oracle for oracle in (MemoizedRandomizedResponse, MemoizedUnaryEncoding)
}
"""The oracles that draw every report from a permanent answer."""

NUMERIC: Final[Mapping[str, frozenset[str]]] = {
    "number": frozenset(
        each.name
        for each in (
            OneBitMean,
            Piecewise,
            Hybrid,
            DiscreteLaplace,
            DiscreteGaussian,
            MemoizedOneBitMean,
        )
    ),
    "distribution": frozenset({SquareWave.name, DBitFlip.name, MemoizedDBitFlip.name}),
}
"""The mechanisms of each type that has a range."""

MECHANISMS: Final[Mapping[str, type[Mechanism]]] = {
    **ORACLES,
    **MEMOIZED_ORACLES,
    DBitFlip.name: DBitFlip,
    DiscreteGaussian.name: DiscreteGaussian,
    DiscreteLaplace.name: DiscreteLaplace,
    Hybrid.name: Hybrid,
    MemoizedDBitFlip.name: MemoizedDBitFlip,
    MemoizedOneBitMean.name: MemoizedOneBitMean,
    OneBitMean.name: OneBitMean,
    Piecewise.name: Piecewise,
    Rappor.name: Rappor,
    SampledAttribute.name: SampledAttribute,
    SampledCoefficients.name: SampledCoefficients,
    Sketch.name: Sketch,
    SquareWave.name: SquareWave,
}
"""Every mechanism by its name in a canonical spec."""

MEMOIZED: Final = frozenset(
    name
    for name, mechanism in MECHANISMS.items()
    if mechanism.epsilon_permanent is not Mechanism.epsilon_permanent
)
"""The mechanisms whose reports of one value may come from a permanent answer."""


def mechanism_from_description(description: Mapping[str, Any]) -> Mechanism:
    """The mechanism that `Mechanism.described` wrote down.

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
    "MAX_EPSILON",
    "MAX_EPSILON_PERMANENT",
    "MECHANISMS",
    "MEMOIZED",
    "MEMOIZED_ORACLES",
    "NUMERIC",
    "ORACLES",
    "DBitFlip",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "FreshOracle",
    "GeneralizedRandomizedResponse",
    "GroupedBins",
    "HadamardResponse",
    "Hybrid",
    "Mechanism",
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
