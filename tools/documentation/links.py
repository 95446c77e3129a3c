"""Links of Markdown: finding them, and giving them other targets."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LINK: Final = re.compile(r"(?P<before>\]\()(?P<path>(?![a-z]+:)[^)#\s]+)(?P<after>(?:#[^)\s]+)?\))")
FENCE: Final = re.compile(r"^ *```")


def replace_links(text: str, new: Callable[[str], str]) -> str:
    """A document with other targets of its links to files.

    Args:
        text: Markdown. Blocks of code and the number of lines stay as they are.
        new: gives the target for the path of a link; anchors stay.
    """

    def replaced(link: re.Match[str]) -> str:
        return f"{link['before']}{new(link['path'])}{link['after']}"

    lines = []
    fenced = False
    for line in text.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
        lines.append(line if fenced else LINK.sub(replaced, line))
    return "\n".join(lines)


def relative(target: str, page: str) -> str:
    """The path to a target from a page.

    Args:
        target: its path, from the folder of all pages.
        page: the path of the page, from the same folder.
    """
    return os.path.relpath(target, os.path.dirname(page) or ".")  # noqa: PTH120  pathlib has no ".."
