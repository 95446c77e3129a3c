"""A question names a value or a segment that a metric does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_shared.errors import ParameterError
from deniable_shared.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection

MOST_LISTED: Final = 8
"""Of the names that there are; `deniable metrics show` has all of them."""


class UnknownNameError(ParameterError):
    """A value or segment that a question names is none of the metric's.

    Args:
        name: of the parameter: value, combined or segment.

    Attributes:
        next_step: what may be meant, and how to see what there is; one or two sentences.
    """

    def __init__(self, name: str, metric: str, known_names: Collection[str], value: str) -> None:
        few = len(known_names) <= MOST_LISTED
        listed = ", ".join(known_names) if few else f"the {len(known_names):,} of {metric}"
        super().__init__(name, f"one of {listed}", value)
        self._arguments = name, metric, tuple(known_names), value
        self.next_step = (
            f"{did_you_mean(value, known_names)} deniable metrics show {metric} lists them."
        ).strip()

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), self._arguments
