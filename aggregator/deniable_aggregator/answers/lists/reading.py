"""Values of a list that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_shared.characters import visible_constraint
from deniable_shared.errors import ParameterError
from deniable_shared.hashing import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_VALUE: Final = 1_000
"""In characters, of a list that is kept."""


def checked_values(values: Iterable[str]) -> tuple[str, ...]:
    """Values for a list that is kept: all different, in Unicode's form NFC.

    Args:
        values: any texts.

    Raises:
        ParameterError: if there are none, or one is empty, too long, or has a control, direction or
            invisible character.
    """
    found: dict[str, None] = {}
    for number, value in enumerate(values, 1):
        if not 0 < len(value) <= LONGEST_VALUE:
            constraint = f"1 to {LONGEST_VALUE:,} characters long"
            raise ParameterError(f"value {number:,}", constraint, f"{len(value):,} characters")
        text = normalize(value)
        constraint_ = visible_constraint(text)
        if constraint_ is not None:
            raise ParameterError(f"value {number:,}", constraint_, text)
        found[text] = None
    if not found:
        raise ParameterError("values", "at least one", "none")
    return tuple(found)
