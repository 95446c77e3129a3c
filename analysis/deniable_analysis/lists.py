"""The lists of values that come with Deniable: ``p["emoji"].estimate(candidates=lists.emoji)``.

`deniable_aggregator.answers.lists` has their licences; ``lists.load("emoji-skin-tones")`` reads
one by its name, which an attribute has with underscores.
"""

from __future__ import annotations

from deniable_aggregator.answers.lists import load, names

browsers: tuple[str, ...]
"""Names of browsers."""

countries: tuple[str, ...]
"""Codes of countries, such as DE."""

emoji: tuple[str, ...]
"""Emoji without skin tones."""

emoji_skin_tones: tuple[str, ...]
"""Emoji of people in each of the five skin tones."""

locales: tuple[str, ...]
"""Languages, by themselves and in countries, such as de and de-AT."""


def __getattr__(name: str) -> tuple[str, ...]:
    if name.replace("_", "-") not in names():
        raise AttributeError(f"there is no list {name!r}; there are {', '.join(__dir__())}")
    return load(name.replace("_", "-"))


def __dir__() -> list[str]:
    return [name.replace("-", "_") for name in names()]


__all__ = ["load", "names"]
