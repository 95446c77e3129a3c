"""Writing a file so that it takes the place of an earlier one only when it is whole."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def replaced_file(path: Path) -> Iterator[BinaryIO]:
    """Yields a file to write to, which has its name when the block succeeds.

    An existing file keeps its permissions; replacing it is refused if they forbid writing. A link
    stays, and what it leads to is replaced. What is no file, such as /dev/null or a pipe, is
    written to.

    Raises:
        OSError: if it cannot be written.
    """
    mode = path.stat().st_mode if path.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        with path.open("wb") as file:
            yield file
        return
    if mode is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    path = Path(os.path.realpath(path))  # which a link to itself does not stop
    part = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError as error:
        error.filename = str(path)  # people know nothing of the other name
        raise
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                part.chmod(stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
