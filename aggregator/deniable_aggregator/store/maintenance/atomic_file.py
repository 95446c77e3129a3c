"""Writing a file so that it is complete or does not exist."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from deniable_aggregator.store.errors import StoreRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def atomic_file(file: Path) -> Iterator[Path]:
    """Yields a temporary file, which gets its final name when the block succeeds.

    Args:
        file: the final name; must not exist. Only its owner may read the file.

    Raises:
        StoreRefusedError: if the name exists.
    """
    require_absent(file)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=f".{file.name}.") as folder:
        part = Path(folder, "part")
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        yield part
        _sync(part)
        require_absent(file)
        part.rename(file)
        _sync(file.absolute().parent)


def require_absent(file: Path) -> None:
    """Checks that neither a file exists nor a log that SQLite would take for its own.

    Raises:
        StoreRefusedError: if one of them exists.
    """
    for path in (file, *(Path(f"{file}{ending}") for ending in ("-wal", "-shm", "-journal"))):
        if path.exists():
            raise StoreRefusedError(f"{path}: exists, and nothing is overwritten. Name a new file.")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
