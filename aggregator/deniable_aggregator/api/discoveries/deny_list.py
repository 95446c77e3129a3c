"""Strings that must not be shown: words, and patterns with * and ?."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable_shared.characters import without_refused
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

_WILD: Final = frozenset("*?")

_UNSEEN: Final = re.compile("[\u200c\u200d\ufe00-\ufe0f\U000e0020-\U000e007f\U000e0100-\U000e01ef]")
"""Joiners, variation selectors and tags: allowed in texts, and not seen in most."""


def read_deny_list(path: str) -> list[str]:
    """The lines of a deny list, without those that are empty or begin with #.

    Args:
        path: of a UTF-8 file; empty for no list.

    Raises:
        ParameterError: if it cannot be read.
    """
    if not path:
        return []
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ParameterError("deny_list", "a UTF-8 file that can be read", path) from error
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


class DenyList:
    """Tells which strings must not be shown.

    A line is a whole string; * in it stands for any characters, also none, and ? for one. Upper and
    lower case do not matter, nor do the compatible forms of letters (NFKC), white space around them
    and characters that cannot be seen.

    Args:
        lines: words and patterns.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        folded = {_folded(line) for line in lines}
        self._words = sorted(line for line in folded if not _WILD & set(line))
        self._patterns = [
            (line, max(re.split(r"[*?]", line), key=len)) for line in folded.difference(self._words)
        ]
        """Each with the longest text in it, which most strings do not have."""

    def denies(self, text: str, *, whole: bool) -> bool:
        """Whether a string must not be shown.

        Args:
            text: a string, or the first letters of longer ones.
            whole: which of the two; a prefix is denied, too, where a denied string begins with it.
        """
        text = _folded(text)
        place = bisect_left(self._words, text)
        if place < len(self._words):
            word = self._words[place]
            if word == text or (not whole and word.startswith(text)):
                return True
        return any(
            (needed in text and _matches(line if whole else f"{line}*", text))
            or (not whole and _begins(line, text))
            for line, needed in self._patterns
        )


def _begins(pattern: str, prefix: str) -> bool:
    """Whether what fits a pattern can begin with a prefix, before the pattern's first *.

    After that anything would do: "*ing" could fit what any prefix goes on with.
    """
    start = pattern.partition("*")[0][: len(prefix)]
    return len(start) == len(prefix) and _matches(start, prefix)


def _matches(pattern: str, text: str) -> bool:
    """Whether a pattern fits a whole text, in time at most proportional to both lengths."""
    place = at = 0
    star, resumed = -1, 0
    while at < len(text):
        if place < len(pattern) and pattern[place] == "*":
            star, resumed = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in ("?", text[at]):
            place, at = place + 1, at + 1
        elif star >= 0:
            place, resumed = star + 1, resumed + 1
            at = resumed
        else:
            return False
    return not pattern[place:].strip("*")


def _folded(text: str) -> str:
    seen = _UNSEEN.sub("", without_refused(text))
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold()).strip()
