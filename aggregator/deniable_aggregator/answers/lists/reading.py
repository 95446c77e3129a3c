"""Values of a list that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_shared.characters import visible_constraint
from deniable_shared.errors import ParameterError
from deniable_shared.hashing import normalize
from deniable_shared.value_lists import ALL_DIFFERENT, first_repeated

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_VALUE: Final = 1_000
"""In characters, of a list that is kept."""


def checked_values(values: Sequence[str]) -> tuple[str, ...]:
    """Values for a list that is kept: all different, in Unicode's form NFC.

    Args:
        values: any texts.

    Raises:
        ParameterError: if there are none, or one is empty, too long, or has a control, direction or
            invisible character, or stands there twice.
    """
    found: list[str] = []
    for number, value in enumerate(values, 1):
        if not 0 < len(value) <= LONGEST_VALUE:
            constraint = f"1 to {LONGEST_VALUE:,} characters long"
            raise ParameterError(f"value {number:,}", constraint, f"{len(value):,} characters")
        text = normalize(value)
        constraint_ = visible_constraint(text)
        if constraint_ is not None:
            raise ParameterError(f"value {number:,}", constraint_, text)
        found.append(text)
    if not found:
        raise ParameterError("values", "at least one", "none")
    if (repeated := first_repeated(values)) is not None:
        raise ParameterError("values", ALL_DIFFERENT, repeated)
    return tuple(found)
