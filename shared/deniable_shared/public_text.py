"""What must not be in texts that everybody gets, such as hints and the examples of a model.

Devices carry models, and servers hints: whoever has them reads them. Sources hold more than is
meant to be read: addresses of persons, numbers of customers, folders of whoever wrote them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

MOST_SHOWN: Final = 3
"""So many examples of a kind are shown."""
LONGEST: Final = 40
"""So many of the longest texts are to be read by whoever publishes them."""

_SHAPES: Final[dict[str, re.Pattern[str]]] = {
    "an e-mail address": re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w"),
    "a number of six or more digits": re.compile(r"\d{6}"),
    "a folder of a user": re.compile(r"(?i:/home/|/users/|\\users\\)[^/\\\s]"),
}


def private_shapes(texts: Collection[str]) -> Iterator[str]:
    """A sentence for each shape of personal data that some texts have, with examples.

    Args:
        texts: what everybody would get.
    """
    for shape, pattern in _SHAPES.items():
        having = [text for text in texts if pattern.search(text)]
        if having:
            shown = ", ".join(f"'{visible(text)}'" for text in having[:MOST_SHOWN])
            more = f" and {len(having) - MOST_SHOWN:,} more" if having[MOST_SHOWN:] else ""
            holds = "holds" if len(having) == 1 else "hold"
            count = f"{len(having):,} text{'s' * (len(having) != 1)}"
            yield f"{count} {holds} what looks like {shape}: {shown}{more}."


def outermost(texts: Collection[str]) -> list[str]:
    """Those that are no part of another one: whoever reads these has read all."""
    return [text for text in texts if not any(text in other and text != other for other in texts)]


def longest_texts(texts: Collection[str]) -> list[str]:
    """The longest ones, to be read: a secret is seldom short.

    Args:
        texts: what everybody would get.
    """
    return sorted(texts, key=lambda text: (-len(text), text))[:LONGEST]
