"""One file per mechanism: frozen integer parameters, exact epsilon, exact variance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_shared.mechanisms.base import (
    MAX_EPSILON,
    MAX_EPSILON_PERMANENT,
    Mechanism,
    Support,
)
from deniable_shared.mechanisms.cms import CountMeanSketch
from deniable_shared.mechanisms.grr import GeneralizedRandomizedResponse
from deniable_shared.mechanisms.rappor import Rappor
from deniable_shared.mechanisms.rr import RandomizedResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

MECHANISMS: Final[Mapping[str, type[Mechanism]]] = {
    mechanism.name: mechanism
    for mechanism in (
        CountMeanSketch,
        GeneralizedRandomizedResponse,
        RandomizedResponse,
        Rappor,
    )
}
"""Every mechanism by its name in a registry file."""

__all__ = [
    "MAX_EPSILON",
    "MAX_EPSILON_PERMANENT",
    "MECHANISMS",
    "CountMeanSketch",
    "GeneralizedRandomizedResponse",
    "Mechanism",
    "RandomizedResponse",
    "Rappor",
    "Support",
]
