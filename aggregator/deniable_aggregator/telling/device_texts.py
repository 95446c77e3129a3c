"""Texts that devices sent, as people can tell them apart."""

from __future__ import annotations

import re
from typing import Final

from deniable_shared.characters import visible

EMPTY: Final = "<empty>"
ELLIPSIS: Final = "…"
"""Stands after the first letters of longer strings."""

_JOINERS: Final = "\u200c\u200d"
_SELECTORS: Final = "\ufe00-\ufe0f\U000e0020-\U000e007f\U000e0100-\U000e01ef"
_OTHER: Final = r"[^\x00-\x7f]"

# Between letters of other scripts, and after signs, they do what they are for.
_UNSEEN: Final = re.compile(
    f"(?<!{_OTHER})[{_JOINERS}{_SELECTORS}]|[{_JOINERS}](?!{_OTHER})|^\\s|\\s$"
)


def displayed(text: str, *, whole: bool) -> str:
    """A text for people: what acts on a terminal, or cannot be seen, has its name.

    Args:
        text: any.
        whole: whether it is all of a string, or the first letters of longer ones.
    """
    named = _UNSEEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)
    return (visible(named) or EMPTY) + ("" if whole else ELLIPSIS)
