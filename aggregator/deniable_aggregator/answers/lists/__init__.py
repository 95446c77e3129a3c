"""Lists of values that come with Deniable: what to look for in a metric of strings.

They are text files beside this module, read when they are asked for; `LICENSES.txt` says what they
were made of, and `tools/lists` makes them.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

DESCRIPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "browsers": "names of browsers, as libraries that read user agents give them",
        "countries": "codes of countries, such as DE (ISO 3166-1) and XK",
        "emoji": "emoji of Unicode 17, without skin tones",
        "emoji-skin-tones": "emoji of people in each of the five skin tones",
        "locales": "languages, by themselves and in countries, such as de, de-AT and zh-Hant-TW",
    }
)
"""What each list holds, by name."""


def names() -> tuple[str, ...]:
    """The names of all lists, in their order."""
    return tuple(DESCRIPTIONS)


@cache
def load(name: str) -> tuple[str, ...]:
    """The values of a list: all different, none empty, in Unicode's form NFC.

    Emoji come in the order of keyboards, browsers by family, and all else alphabetically.

    Args:
        name: one of `names`.

    Raises:
        ParameterError: if there is no such list.
    """
    if name not in DESCRIPTIONS:
        raise ParameterError("list", f"one of {', '.join(DESCRIPTIONS)}", name)
    from importlib.resources import files

    text = files(__package__).joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())


__all__ = ["DESCRIPTIONS", "load", "names"]
