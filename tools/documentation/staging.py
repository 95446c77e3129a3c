"""The documents as Sphinx reads them: a copy of ``docs/``, and pages for what it links to."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.documentation.code_pages import (
    DOWNLOADED,
    NOT_IN_NAVIGATION,
    code_page,
    folder_page,
    readable_files,
)
from tools.documentation.links import relative, replace_links

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
OUTSIDE: Final = "project"
"""The folder of pages for what is not in ``docs/``."""

PICTURES: Final = {".png", ".svg"}


class SiteError(Exception):
    """The site cannot be made; the message says what to change."""


class Staging:
    """Puts documents into a folder, and with each all that it links to.

    Args:
        folder: empty, or not there yet.
        listed: the documents that the navigation has.
    """

    def __init__(self, folder: Path, listed: AbstractSet[Path] = frozenset()) -> None:
        self.folder = folder
        self._listed = listed
        self._done: dict[Path, str] = {}

    def write(self, page: str, text: str) -> None:
        """Writes a page that was made from something else than a document."""
        path = self.folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def add(self, path: Path) -> str:
        """Adds a document, a file or a folder of the project.

        Args:
            path: where it is.

        Returns:
            The page, picture or file that a link to it leads to, from the folder of all pages.
        """
        if path in self._done:
            return self._done[path]
        place = place_of(path)
        if path.suffix == ".md":
            self._done[path] = place
            text = replace_links(
                path.read_text(encoding="utf-8"),
                lambda link: self.link(link, path),
            )
            self.write(place, text if path in self._listed else NOT_IN_NAVIGATION + text)
        elif path.is_dir():
            page = self._done[path] = f"{place}/index.md"
            files = [(str(file.relative_to(path)), self.add(file)) for file in readable_files(path)]
            links = [(name, relative(target, page)) for name, target in files]
            self.write(page, folder_page(name_of(path), links))
        elif path.suffix in PICTURES | DOWNLOADED:
            self._done[path] = place
            copy = self.folder / place
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        else:
            page = self._done[path] = f"{place}.md"
            text = path.read_text(encoding="utf-8")
            self.write(page, code_page(name_of(path), text, path.suffix))
        return self._done[path]

    def link(self, link: str, document: Path) -> str:
        """Adds what a document links to.

        Args:
            link: the path in the link, from the folder of the document.
            document: where it is.

        Returns:
            The path that leads there from the document's page.

        Raises:
            SiteError: there is nothing, or it is not of the project.
        """
        path = (document.parent / link).resolve()
        if not path.exists() or not path.is_relative_to(ROOT):
            raise SiteError(f"{name_of(document)}: the link to {link} leads nowhere")
        return relative(self.add(path), place_of(document))


def name_of(path: Path) -> str:
    """What people call a file: its path from the root of the project."""
    return path.relative_to(ROOT).as_posix()


def place_of(path: Path) -> str:
    """Where the site has a file, from the folder of all pages."""
    if path == DOCS / "README.md":
        return "index.md"
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    return f"{OUTSIDE}/{name_of(path)}"
