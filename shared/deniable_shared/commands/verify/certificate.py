"""The installed files that a certificate covers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deniable_shared.commands.mistakes import read_file
from deniable_shared.errors import ParameterError
from deniable_shared.installed import InstalledFiles, digest_of

if TYPE_CHECKING:
    from pathlib import Path


def certified_files(path: Path) -> InstalledFiles:
    """The files of the installation that a certificate was made with.

    Args:
        path: of a certificate that ``deniable audit`` wrote.

    Raises:
        ParameterError: if it is no certificate, or its digest is not that of its files.
        FileProblemError: if it cannot be read.
    """
    try:
        content: Any = json.loads(read_file(path))
        installed = content["installed"]
        version, files, digest = (installed[name] for name in ("version", "files", "digest"))
        is_valid = isinstance(version, str) and all(
            isinstance(file_hash, str) for file_hash in files.values()
        )
        digest_found = digest_of(files)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        is_valid = False
    if not is_valid:
        raise ParameterError(
            "certificate", "a file that deniable audit --certificate wrote", str(path)
        )
    if digest_found != digest:
        raise ParameterError("the certificate's digest", "that of the files it lists", digest)
    return InstalledFiles(version, files, digest)
