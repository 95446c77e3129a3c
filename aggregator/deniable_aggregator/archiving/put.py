"""Writing a file to any file system so that it is complete or does not exist."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fsspec.implementations.local import LocalFileSystem

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


def put(files: AbstractFileSystem, path: str, content: bytes) -> None:
    """Writes a file, in the place of one that has this name. Nobody ever sees a part of it.

    Args:
        files: a file system of fsspec. On the local one the file is durable when this returns;
            object stores make a file visible when all of it has arrived.
    """
    if isinstance(files, LocalFileSystem):
        _put_here(Path(path), content)
        return
    with files.transaction, files.open(path, "wb") as stream:
        stream.write(content)


def _put_here(file: Path, content: bytes) -> None:
    missing = [folder for folder in (file.parent, *file.parent.parents) if not folder.exists()]
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.part")
    with part.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(file)
    for folder in (file.parent, *(folder.parent for folder in missing)):
        _sync(folder)


def _sync(folder: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
