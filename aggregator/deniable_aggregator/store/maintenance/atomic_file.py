"""Files that are there whole, or not at all."""

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
    """A file to be written under another name, which gets its own when the block ends well.

    Args:
        file: must not exist; readable by its owner only.

    Raises:
        StoreRefusedError: if it exists.
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
    """Refuses a file that exists, or that SQLite would join with the log of another one.

    Raises:
        StoreRefusedError: naming the file.
    """
    for each in (file, *(Path(f"{file}{ending}") for ending in ("-wal", "-shm", "-journal"))):
        if each.exists():
            raise StoreRefusedError(f"{each}: exists, and nothing is overwritten. Name a new file.")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
