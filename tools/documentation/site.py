"""Makes the site: stages the documents, adds the pages that are made, and runs Sphinx, strictly."""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from sphinx.application import Sphinx

from tools.documentation.accessibility import accessible
from tools.documentation.api_pages import api_pages
from tools.documentation.command_pages import command_page
from tools.documentation.navigation import (
    capitalized,
    entries,
    reader_page,
    table_by_reader,
    toctree,
)
from tools.documentation.page_texts import SCRIPT, page_texts
from tools.documentation.staging import DOCS, ROOT, SiteError, Staging, name_of

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

THEME: Final = Path(__file__).parent / "theme"
PROJECT: Final = (
    ("Security", "SECURITY.md"),
    ("Changes", "CHANGELOG.md"),
    ("Contributing", "CONTRIBUTING.md"),
)


def build(site: Path) -> None:
    """Makes the site.

    Args:
        site: its folder, replaced if it exists.

    Raises:
        SiteError: something is wrong with a document; nothing was replaced.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stage(folder / "source")
        warnings = io.StringIO()
        app = Sphinx(
            srcdir=folder / "source",
            confdir=THEME,
            outdir=folder / "site",
            doctreedir=folder / "doctrees",
            buildername="html",
            status=None,
            warning=warnings,
        )
        app.build()
        if warnings.getvalue():
            text = click.unstyle(warnings.getvalue()).replace(f"{folder / 'source'}/", "docs/")
            raise SiteError(text.rstrip())
        pages = {}
        for page in sorted((folder / "site").rglob("*.html")):
            text = accessible(page.read_text(encoding="utf-8"), page.parent)
            page.write_text(text, encoding="utf-8")
            pages[page.relative_to(folder / "site").as_posix()] = text
        (folder / "site" / "_static" / SCRIPT).write_text(page_texts(pages), encoding="utf-8")
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(folder / "site", site)


def require_listed(documents: AbstractSet[Path], listed: AbstractSet[Path]) -> None:
    """Makes sure that readers find every document.

    Raises:
        SiteError: one is not listed; the message says where to list it.
    """
    if lost := sorted(name_of(path) for path in documents - listed):
        raise SiteError(
            f"{', '.join(lost)}: in no navigation; add a row to the table of docs/README.md"
        )


def stage(folder: Path) -> None:
    """Puts all documents, and the pages made from code, into a folder."""
    index = DOCS / "README.md"
    readers = entries(index.read_text(encoding="utf-8"))
    listed = {(DOCS / each.path).resolve() for every in readers.values() for each in every}
    require_listed({*DOCS.rglob("*.md")} - {index}, listed)
    staging = Staging(folder, listed | {index} | {ROOT / file for _, file in PROJECT})
    groups = []
    for reader, documents in readers.items():
        page = f"readers/{reader.replace(' ', '-').lower()}.md"
        staging.write(page, reader_page(reader, documents))
        groups.append((capitalized(reader), page))
    staging.write("commands.md", command_page())
    for page, text in api_pages().items():
        staging.write(page, text)
    project = [(title, staging.add(ROOT / file)) for title, file in PROJECT]
    staging.write("project/index.md", "# The project\n" + toctree(project))
    groups += [
        ("Commands", "commands.md"),
        ("Python interface", "api/index.rst"),
        ("The project", "project/index.md"),
    ]
    start = staging.add(index)
    text = (folder / start).read_text(encoding="utf-8")
    staging.write(start, table_by_reader(text) + toctree(groups))
