"""What is installed: the files of the packages that run on a device, each by its SHA-256.

The digest of all of them needs no code of this project to check. In the folder of the packages:

    find deniable deniable_shared ! -type d ! -path '*/__pycache__/*' -exec sha256sum {} + \
        | LC_ALL=C sort | sha256sum
"""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable_shared import __version__
from deniable_shared.errors import ParameterError
from deniable_shared.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from importlib.resources.abc import Traversable

DEVICE_PACKAGES: Final = ("deniable", "deniable_shared")
"""The packages of this project that run on a device."""

NOT_A_FILE: Final = "not a regular file"
"""Stands for the hash of what cannot be read as a file: a linked folder, a pipe, a broken link."""

_BYTECODE: Final = "__pycache__"
_GROUP: Final = 4
_READ_OUT: Final = 16


@frozen
class InstalledFiles:
    """The files of installed packages.

    Attributes:
        version: of this project.
        files: SHA-256, in hexadecimal, by path below the folder of the packages, such as
            "deniable/_client.py"; in the order of paths.
        digest: SHA-256 of all of them, see `digest_of`.
    """

    version: str
    files: Mapping[str, str]
    digest: str

    @property
    def digest_to_read_out(self) -> str:
        """The first 16 of the digest's 64 digits, in groups of four."""
        return " ".join(self.digest[at : at + _GROUP] for at in range(0, _READ_OUT, _GROUP))


def installed_files(packages: Sequence[str] = DEVICE_PACKAGES) -> InstalledFiles:
    """The files of packages as this process imports them, whether or not they belong there.

    Bytecode that Python keeps in ``__pycache__`` is left out. Characters of paths that are not
    printable ASCII are escaped, so that each path stays on one line.

    Args:
        packages: names of installed packages, which are not imported.

    Raises:
        ParameterError: if a package is not installed, or has no files of source, as in a program
            that is one file.
        OSError: if a file cannot be read.
    """
    hashes = {
        path: file_hash
        for package in packages
        for path, file_hash in _hashes_in(package_folder(package), package)
    }
    return InstalledFiles(__version__, dict(sorted(hashes.items())), digest_of(hashes))


def is_packed() -> bool:
    """Whether this is a program whose packer left out the files of source, as PyInstaller does."""
    return any(_source_folder(_spec(package), package) is None for package in DEVICE_PACKAGES)


def package_folder(package: str) -> Traversable:
    """The folder that a package is imported from, which may be in a zip.

    Raises:
        ParameterError: if it is not installed, or has no files of source.
    """
    spec = _spec(package)
    folder = _source_folder(spec, package)
    if folder is None:
        raise ParameterError(
            package, "installed as files of source (a packed program has none)", spec.origin
        )
    return folder


def _spec(package: str) -> ModuleSpec:
    spec = find_spec(package)
    if spec is None:
        raise ParameterError("package", "the name of an installed one", package)
    return spec


def _source_folder(spec: ModuleSpec, package: str) -> Traversable | None:
    reader = getattr(spec.loader, "get_resource_reader", lambda _: None)(package)
    if reader is None or not reader.files().joinpath("__init__.py").is_file():
        return None
    folder: Traversable = reader.files()
    return folder


def digest_of(hashes: Mapping[str, str]) -> str:
    r"""SHA-256, in hexadecimal, of the sorted lines "hash  path\n"."""
    lines = sorted(f"{file_hash}  {path}\n" for path, file_hash in hashes.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _hashes_in(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        below = f"{path}/{_in_ascii(entry.name)}"
        # A link may lead back to where it is, and no installer makes one of a folder in a package.
        linked = isinstance(entry, Path) and entry.is_symlink()
        if entry.name == _BYTECODE:
            continue
        if entry.is_dir() and not linked:
            yield from _hashes_in(entry, below)
        elif entry.is_file():
            yield below, hashlib.sha256(entry.read_bytes()).hexdigest()
        else:
            yield below, NOT_A_FILE


def _in_ascii(name: str) -> str:
    return name.encode("unicode_escape").decode("ascii")
