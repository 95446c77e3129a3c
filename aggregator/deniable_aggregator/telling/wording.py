"""Small words of sentences and tables: counts, lists, values, days, keys, quantiles, verdicts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.common import Mark, runs
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from deniable_aggregator.answers.words import Verdict

MARK_WORDS: Final[Mapping[Mark, str]] = {
    "missing": "days missing",
    "left_out": "left out",
    "none_due": "none due",
    "incomplete": "not over",
    "suspicious": "suspicious",
    "uneven": "keys differ",
    "surge": "unusual volume",
    "release": "new version",
    "unlike": "not comparable with the one before",
}
"""What marks of periods are called in a table."""

VERDICT_WORDS: Final[Mapping[Verdict, str]] = {
    "ok": "honest",
    "surge": "unusual volume",
    "uneven": "keys differ",
    "suspicious": "suspicious",
    "unknown": "not checked",
}
"""How reports look, as people are told."""

POSTPROCESS_LABELS: Final[Mapping[str, str]] = {"norm-sub": "adjusted to add up to 100%"}
"""What post-processing is called where people read it, if not by its name."""

MOST_DAYS: Final = 4
"""Of days in a line; the JSON has all of them."""

SHOWN_OF_IDS: Final = 4
"""So many letters of the id of a key stand beside its label."""

EMPTY: Final = "<empty>"
ELLIPSIS: Final = "…"
"""Stands after the first letters of longer strings."""

LEAST_P: Final = 1e-6
"""Smaller p-values are written as "<1e-06"."""

MOST_LETTERS: Final = 60
"""Of a value in a sentence; longer ones are cut."""

_PLAIN: Final = re.compile(r"[^\W\d_][\w.=-]*")
"""Values that can stand in a sentence as they are; all others are quoted."""

OWN_WORDS: Final = frozenset({
    "a", "all", "also", "and", "another", "any", "but", "clear", "down", "false", "in", "mean",
    "median", "more", "most", "no", "none", "not", "nothing", "of", "off", "on", "other", "others",
    "reports", "some", "test", "the", "then", "there", "together", "true", "unknown", "up", "value",
    "values", "with", "within", "yes",
})  # fmt: skip
"""Words of sentences; a value that is one of them is quoted."""

_MEDIAN: Final = 0.5
_TEENS: Final = range(11, 14)

_JOINERS: Final = "\u200c\u200d"
_SELECTORS: Final = "\ufe00-\ufe0f\U000e0020-\U000e007f\U000e0100-\U000e01ef"
_OTHER: Final = r"[^\x00-\x7f]"

# Between letters of other scripts, and after signs, they do what they are for.
_UNSEEN: Final = re.compile(
    f"(?<!{_OTHER})[{_JOINERS}{_SELECTORS}]|[{_JOINERS}](?!{_OTHER})|^\\s|\\s$"
)


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


def shown_text(text: str, *, whole: bool) -> str:
    """A text that devices sent, for people: what acts, or cannot be seen, has its name.

    Args:
        text: any.
        whole: whether it is all of a string, or the first letters of longer ones.
    """
    named = _UNSEEN.sub(lambda unseen: f"<U+{ord(unseen[0]):04X}>", text)
    return (visible(named) or EMPTY) + ("" if whole else ELLIPSIS)


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


def renamed_in_words(renamed: Mapping[str, str]) -> str:
    """Values with new names, such as "system is auto now".

    Args:
        renamed: the earlier names, each with the one by which answers tell it.
    """
    return listed([f"{shown_value(old)} is {shown_value(new)} now" for old, new in renamed.items()])


def days_between(since: date, until: date) -> str:
    """Days of a period, such as "2026-10-01 to 2026-10-07".

    Args:
        since: the first.
        until: the last.
    """
    return str(since) if since == until else f"{since} to {until}"


def days_shortly(days: Sequence[date]) -> str:
    """Some days for a sentence, such as "2026-09-01 to 2026-09-07, 2026-09-12".

    Args:
        days: in their order.
    """
    return named_shortly([days_between(run.since, run.until) for run in runs(days)])


def named_shortly(names: Sequence[str], most: int = MOST_DAYS) -> str:
    """The first of some names, and how many more there are.

    Args:
        names: in their order.
        most: so many are named.
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def key_in_words(key: str, label: str) -> str:
    """A key as people know it: its label, and the first letters of its id.

    Args:
        key: its id; empty for reports that were stored before reports were kept by key.
        label: its label, which may be empty.
    """
    if not key:
        return "of an earlier version"
    return f"{visible(label)} ({key[:SHOWN_OF_IDS]}..)" if label else key


def p_value_in_words(p_value: float) -> str:
    """A p-value, to three digits.

    Args:
        p_value: in [0, 1].
    """
    return f"{p_value:.3g}" if p_value >= LEAST_P else f"<{LEAST_P:g}"


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


def with_full_stop(text: str) -> str:
    """A text with a full stop, unless it has one.

    Args:
        text: not empty.
    """
    return text if text[-1] in ".!?" else f"{text}."


def as_sentence(text: str) -> str:
    """A text with a full stop, and a capital letter unless a value begins it, which stays as it is.

    Args:
        text: not empty.
    """
    ended = with_full_stop(text)
    own = ended.partition(" ")[0].rstrip(":") in OWN_WORDS
    return ended[0].upper() + ended[1:] if own else ended
