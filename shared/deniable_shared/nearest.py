"""The known name that somebody probably meant who typed another."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_COMPARED: Final = 2_000
"""So many known names are looked at, so that a mistake costs milliseconds."""

LONGEST: Final = 64
"""Longer names are not guessed."""


def nearest(typed: str, names: Iterable[str]) -> str | None:
    """The most similar known name, whatever the case of its letters; None if none is similar.

    Args:
        typed: what is not known.
    """
    if len(typed) > LONGEST:
        return None
    from difflib import get_close_matches

    looked_at = islice((name for name in names if len(name) <= LONGEST), MOST_COMPARED)
    folded: dict[str, str] = {}
    for name in looked_at:
        folded.setdefault(name.casefold(), name)
    matches = get_close_matches(typed.casefold(), folded, n=1)
    return folded[matches[0]] if matches else None


def did_you_mean(typed: str, names: Iterable[str]) -> str:
    """A question that names the most similar known name, after a space; or nothing.

    Args:
        typed: what is not known.
    """
    match = nearest(typed, names)
    return "" if match is None else f" Did you mean '{match}'?"
