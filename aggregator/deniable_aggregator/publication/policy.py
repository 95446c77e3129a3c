"""What is shown of a metric."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

MINIMUM: Final = 100
REPORTS_MINIMUM: Final = 1_000


@dataclass(frozen=True)
class Policy:
    """What is shown. This is policy, not privacy: reports are randomized before they are sent.

    Attributes:
        minimum: a value is shown if so many devices of a period surely hold it; at least 1.
        reports_minimum: with fewer reports nothing is published; at least 1.
        population: how many people each value could be true of.
    """

    minimum: int = MINIMUM
    reports_minimum: int = REPORTS_MINIMUM
    population: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("minimum", "reports_minimum"):
            if not getattr(self, name) >= 1:
                raise ParameterError(name, "at least 1", getattr(self, name))
