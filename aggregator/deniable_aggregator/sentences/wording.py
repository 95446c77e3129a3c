"""Small words of sentences: counts, lists, values, days and quantiles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

MOST_LETTERS: Final = 60
"""Of a value in a sentence; longer ones are cut."""

_PLAIN: Final = re.compile(r"[^\W\d_][\w.=-]*")
"""Values that can stand in a sentence as they are; all others are quoted."""

OWN_WORDS: Final = frozenset({
    "a", "all", "also", "and", "another", "any", "but", "clear", "down", "false", "in", "mean",
    "median", "more", "no", "none", "not", "nothing", "of", "off", "on", "other", "others",
    "reports", "test", "the", "then", "there", "together", "true", "unknown", "up", "value",
    "values", "with", "within", "yes",
})  # fmt: skip
"""Words of sentences; a value that is one of them is quoted."""

_MEDIAN: Final = 0.5
_TEENS: Final = range(11, 14)


def shown_value(value: str) -> str:
    """A value for a sentence: quoted unless it is one word, cut, and with no character that acts.

    Args:
        value: whatever devices or registries hold.
    """
    shown = visible(value)
    if len(shown) > MOST_LETTERS:
        shown = shown[: MOST_LETTERS - 1] + "…"
    plain = _PLAIN.fullmatch(shown) and shown.lower() not in OWN_WORDS
    return shown if plain else f'"{shown}"'


def together(values: Sequence[str]) -> str:
    """Values whose share together is meant, such as "light + dark".

    Args:
        values: these.
    """
    return " + ".join(shown_value(value) for value in values)


def counted(number: int, what: str, plural: str = "") -> str:
    """A number of things, such as "1 report" or "200,024 reports".

    Args:
        number: how many.
        what: one of them.
        plural: more of them, if not with an s.
    """
    return f"{number:,} {what if number == 1 else plural or what + 's'}"


def listed(parts: Sequence[str]) -> str:
    """Parts of a sentence in a row, such as "a, b and c".

    Args:
        parts: at least one.
    """
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def days_between(since: date, until: date) -> str:
    """Days of a period, such as "2026-10-01 to 2026-10-07".

    Args:
        since: the first.
        until: the last.
    """
    return str(since) if since == until else f"{since} to {until}"


def quantile_in_words(quantile: float) -> str:
    """What a quantile is called, such as "median" or "99.9th percentile".

    Args:
        quantile: the share that is below it, between 0 and 1.
    """
    if quantile == _MEDIAN:
        return "median"
    percent = f"{100 * quantile:g}"
    ending = "th"
    if percent.isdigit() and int(percent) not in _TEENS:
        ending = {"1": "st", "2": "nd", "3": "rd"}.get(percent[-1], "th")
    return f"{percent}{ending} percentile"


def as_sentence(text: str) -> str:
    """A text with a full stop, and a capital letter unless a value begins it, which stays as it is.

    Args:
        text: not empty.
    """
    ended = text if text[-1] in ".!?" else f"{text}."
    own = ended.partition(" ")[0].rstrip(":") in OWN_WORDS
    return ended[0].upper() + ended[1:] if own else ended
