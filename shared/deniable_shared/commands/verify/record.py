"""What RECORD says: the list of hashes that came with the wheel and lies beside its files."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.commands.verify.comparison import Comparison, compare
from deniable_shared.frozen import frozen
from deniable_shared.installed import DEVICE_PACKAGES, installed_files, package_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HASH: Final = "sha256="


@frozen
class NoRecord:
    """There is no RECORD to compare with.

    Attributes:
        reason: why not, in words.
    """

    reason: str


def compared_with_record() -> Comparison | NoRecord:
    """The files of the whole installation, beside what RECORD says of them.

    Of what lies beside the packages, only what RECORD lists is compared.

    Raises:
        OSError: if a file cannot be read.
    """
    folders = import_folders()
    try:
        installation = distribution(DEVICE_PACKAGES[0])
    except PackageNotFoundError:
        return NoRecord(f"not installed; Python imports the files of {folders}")
    try:
        expected = dict(_listed(installation))
    except (ValueError, csv.Error):
        return NoRecord("RECORD is no list of files and hashes")
    packages = [path.partition("/")[0] for path in expected if path.count("/") == 1]
    packages = [name for name in dict.fromkeys(packages) if f"{name}/__init__.py" in expected]
    if DEVICE_PACKAGES[0] not in packages:
        kind = "an editable install" if _is_editable(installation) else "RECORD lists no such files"
        return NoRecord(f"{kind}; Python imports the files of {folders}")
    # A package that lost this file is no package any more: its files are looked for one by one.
    packages = [name for name in packages if any(_hash_of(installation, f"{name}/__init__.py"))]
    recorded = _plain(installation.locate_file(""))
    if recorded != import_folders(packages):
        return NoRecord(
            f"RECORD is of {recorded}, but Python imports the files of {import_folders(packages)}"
        )
    installed_hashes = dict(installed_files(packages).files)
    for path in list(expected):
        if path.partition("/")[0] not in packages:
            installed_hashes.update(_hash_of(installation, path))
            if path.startswith("../") and path not in installed_hashes:
                del expected[path]  # `pip install --target` moves scripts, and RECORD does not know
    return compare(expected, installed_hashes)


def import_folders(packages: Sequence[str] = DEVICE_PACKAGES) -> str:
    """The folder that packages lie in; several are separated by commas.

    Args:
        packages: names of installed packages.
    """
    folders = [_plain(package_folder(name)).removesuffix(name)[:-1] for name in packages]
    return ", ".join(dict.fromkeys(folders))


def _plain(folder: object) -> str:
    """A folder's path without a slash at its end, which folders in zips have."""
    return str(folder).rstrip("/")


def _is_editable(installation: Distribution) -> bool:
    """Whether an installer says so, as PEP 610 has it."""
    try:
        origin = json.loads(installation.read_text("direct_url.json") or "{}")
        return bool(origin["dir_info"]["editable"])
    except (ValueError, TypeError, KeyError):
        return False


def _listed(installation: Distribution) -> Iterator[tuple[str, str]]:
    """Paths of RECORD, with hashes in hexadecimal; bytecode and RECORD itself have none.

    Raises:
        ValueError: if it is no text.
        csv.Error: if it is no table.
    """
    text = installation.read_text("RECORD") or ""
    if "\0" in text:
        raise ValueError("RECORD must be text")
    for row in csv.reader(text.splitlines()):
        if len(row) == 3 and row[1].startswith(_HASH):
            yield row[0], _in_hexadecimal(row[1].removeprefix(_HASH))


def _in_hexadecimal(encoded: str) -> str:
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).hex()
    except ValueError:
        return encoded  # which no file has


def _hash_of(installation: Distribution, path: str) -> Iterator[tuple[str, str]]:
    """The path and hash of a file outside of the packages; nothing if it is not there."""
    file: Any = installation.locate_file(path)
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return
    yield path, hashlib.sha256(content).hexdigest()
