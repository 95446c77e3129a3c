"""Pages that show a file of the project, or list the files of a folder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LANGUAGES: Final = {
    ".html": "html",
    ".js": "javascript",
    ".py": "python",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
}
"""How code is coloured, by the ending of its file's name."""

DOWNLOADED: Final = {".ipynb", ".json"}
"""Endings of files that programs read: a link to one leads to the file itself."""

NOT_SHOWN: Final = {"__pycache__", "secrets"}
"""Folders with what belongs to one machine."""

NOT_IN_NAVIGATION: Final = "---\norphan: true\n---\n\n"


def code_page(name: str, text: str, suffix: str) -> str:
    """A page that shows a file.

    Args:
        name: of the file, from the root of the project.
        text: its content.
        suffix: how its name ends, such as ".py".
    """
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    language = LANGUAGES.get(suffix, "text")
    return f"{NOT_IN_NAVIGATION}# {name}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"


def folder_page(name: str, links: Iterable[tuple[str, str]]) -> str:
    """A page that lists files.

    Args:
        name: of the folder, from the root of the project.
        links: name and target of each file.
    """
    lines = [f"- [{file}]({target})" for file, target in links]
    return "\n".join([f"{NOT_IN_NAVIGATION}# {name}", "", *lines, ""])


def readable_files(folder: Path) -> list[Path]:
    """The files in a folder and below it that people read."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.stat().st_size and not NOT_SHOWN & set(path.parts)
    )
