"""A public page as a folder of static files, the same wherever it is made of the same export."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from typing import TYPE_CHECKING, Any, Final

import msgspec

from deniable_aggregator.media.pictures.svg import svg
from deniable_aggregator.publication.document import document_of
from deniable_aggregator.publication.formats import csv_text, json_text, page, style_sheet
from deniable_shared import __version__
from deniable_shared.errors import ParameterError
from deniable_shared.installed import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from deniable_aggregator.publication.export import OpenedExport

HISTORY: Final = "history.json"
"""What ``deniable metrics history --from`` reads."""

EXPORT: Final = "export.json"
"""The export itself, from which all other files were made."""


def folder_files(opened: OpenedExport) -> Mapping[str, bytes]:
    """The files of a public page by their names, which depend on nothing but the export.

    No clock, locale, directory or order of a set enters them.

    Args:
        opened: the export.
    """
    texts = {"index.html": page(opened, __version__), "style.css": style_sheet()}
    for made in opened.export.metrics:
        texts[f"data/{made.metric}.csv"] = csv_text([made])
        texts[f"data/{made.metric}.json"] = json_text([made])
        figure = document_of(made).figure
        if figure is not None:
            texts[f"pictures/{made.metric}.svg"] = svg(figure)
    history: Any = msgspec.to_builtins(opened.export.history)
    texts[HISTORY] = json.dumps(history, indent=2) + "\n"
    files = {name: text.encode() for name, text in texts.items()}
    return dict(sorted({**files, EXPORT: opened.document}.items()))


def digest_of_folder(contents: Mapping[str, bytes]) -> str:
    """One digest of all files: SHA-256 over the sorted lines of ``sha256sum``.

    Args:
        contents: as of `folder_files`.
    """
    return digest_of(
        {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    )


def write_folder(contents: Mapping[str, bytes], path: Path) -> None:
    """Writes the files of a public page into a folder that appears whole, or not at all.

    Args:
        contents: as of `folder_files`.
        path: of the folder, which must not be there yet, or be empty.

    Raises:
        ParameterError: if there is something at the path.
        OSError: if a file cannot be written.
    """
    path = path.resolve()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ParameterError("folder", "a new or an empty folder", str(path))
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        for name, content in contents.items():
            file = part / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        if path.exists():  # empty: not every system replaces it
            path.rmdir()
        part.rename(path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
