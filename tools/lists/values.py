"""Emoji, tags of locales and codes of countries, in the form in which applications record them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SKIN_TONES: Final = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_AS_PICTURE: Final = "\ufe0f"
"""The variation selector that asks for the colourful form of the character before it."""

_HANDSHAKE: Final = "\U0001f91d"
"""By itself it has skin tones; between two people only these have."""

_UNIONS_AND_TESTS: Final = ("EU", "EZ", "QO", "UN", "XA", "XB", "ZZ")
_ISLANDS_OF_COUNTRIES: Final = ("AC", "CP", "CQ", "DG", "EA", "IC", "TA")
NOT_COUNTRIES: Final = frozenset(_UNIONS_AND_TESTS + _ISLANDS_OF_COUNTRIES)
"""Codes that CLDR has beside those of ISO 3166-1."""


def with_skin_tones(emoji: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Each emoji of people in each of the five skin tones; of several people, all have the same.

    A tone stands behind the character that it colours, instead of the variation selector.

    Args:
        emoji: by itself, whether it has skin tones.
    """
    toned = [each for each, about in emoji.items() if about["skin_tone_support"]]
    coloured = {each.removesuffix(_AS_PICTURE) for each in toned}
    coloured = {each for each in coloured if len(each) == 1}
    if not all(coloured & set(each) for each in toned):
        raise ValueError("an emoji has skin tones, but none of its characters has")
    people = "".join(sorted(coloured - {_HANDSHAKE}))
    letters = re.compile(f"([{people}]|^{_HANDSHAKE}$){_AS_PICTURE}?")
    return [letters.sub(rf"\g<1>{tone}", each) for each in toned for tone in _SKIN_TONES]


def locales(available: Iterable[str], likely: Mapping[str, str]) -> list[str]:
    """Tags of languages, of languages in countries, and these with their script.

    Args:
        available: tags that name a script wherever a language has several.
        likely: the whole tag that a shortened one stands for.
    """
    found = set(available) - {"und"}
    for tag in list(found):
        language, _, rest = tag.partition("-")
        script, _, country = rest.partition("-")
        if not re.fullmatch("[A-Z][a-z]{3}", script):
            continue
        short = f"{language}-{country}" if country else language
        usual = likely.get(short) or likely.get(language, "")
        if usual.startswith(f"{language}-{script}"):
            found.add(short)
    return sorted(found)


def countries(territories: Iterable[str]) -> list[str]:
    """The codes of two letters, as in ISO 3166-1, with XK for Kosovo.

    Args:
        territories: codes of countries and of larger regions, some with a variant.
    """
    return sorted(
        code for code in territories if re.fullmatch("[A-Z]{2}", code) and code not in NOT_COUNTRIES
    )
