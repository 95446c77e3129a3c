"""Values for trying a metric: a legitimate one, drawn at random, and a wrong one."""

from __future__ import annotations

import math
import secrets
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_shared.letters.alphabets import ALPHABETS, TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.attributes import Attribute
    from deniable_shared.numbers import Range
    from deniable_shared.spec import Spec

    Value = bool | float | str | dict[str, bool | str] | list[str]

WORDS: Final = ("weather", "music", "recipe", "holiday", "bicycle", "garden", "news", "train")
"""Strings that anybody may hold."""

MOST_ITEMS: Final = 3
"""So many items a set has at most."""

_DIGITS: Final = 3
"""Of the numbers that are drawn, in a range of any width."""


class Sample(NamedTuple):
    """A value to record.

    Attributes:
        value: what a metric takes.
        segment: the device's, for a metric with segments; else None.
    """

    value: Value
    segment: str | None = None


def draw_sample(spec: Spec) -> Sample:
    """A legitimate value of a metric; all that are listed are equally likely."""
    if spec.segments is not None:
        return Sample(_draw(spec.segments.of), str(_draw(spec.segments.by)))
    if spec.type == "boolean":
        return Sample(secrets.choice([True, False]))
    if spec.type == "attributes":
        return Sample({each.name: _draw(each) for each in spec.attributes})
    if spec.type == "category":
        return Sample(secrets.choice([each for each in spec.values if each != spec.absent]))
    if spec.type == "set":
        items = list(spec.values or WORDS)
        secrets.SystemRandom().shuffle(items)
        return Sample(items[: secrets.randbelow(min(MOST_ITEMS, len(items)) + 1)])
    if spec.range is not None:
        return Sample(_draw_number(spec.range))
    return Sample(_draw_text(spec))


def wrong_value(spec: Spec) -> Value:
    """A value that a metric refuses: one that is not listed, or of the wrong type."""
    if spec.type == "category":
        own = spec.values if spec.segments is None else spec.segments.of.values
        other = spec.other if spec.segments is None else spec.segments.of.other
        if other is not None or not own:  # takes any text, or flags alone
            return 7
        unlisted = "no such value"
        while unlisted in own:
            unlisted += "!"
        return unlisted
    return 7 if spec.type == "string" else "no such value"


def _draw(attribute: Attribute) -> bool | str:
    domain: Sequence[bool | str] = attribute.values or (False, True)
    return secrets.choice(domain)


def _draw_number(ends: Range) -> float:
    low, high = ends
    drawn = low + (high - low) * Fraction(secrets.randbelow(10**6), 10**6)
    places = _DIGITS - 1 - math.floor(math.log10(high - low))
    rounded = min(max(round(drawn, places), low), high)
    return int(rounded) if places <= 0 and rounded.denominator == 1 else float(rounded)


def _draw_text(spec: Spec) -> str:
    if spec.letters is None:
        return secrets.choice(WORDS)
    alphabet, longest = spec.letters.alphabet, spec.letters.longest
    if alphabet == TEXT or longest is None:
        return secrets.choice(WORDS)[:longest]
    characters = ALPHABETS.get(alphabet, alphabet)
    return "".join(secrets.choice(characters) for _ in range(longest))
