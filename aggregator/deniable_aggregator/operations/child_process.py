"""What processes have in common that work beside the server, at a lower priority."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

NICENESS: Final = 10
"""Where both want the same core, the server gets nine times as much of it."""

PYTHON: Final = (sys.executable, "-P", "-m")
"""Safe path: a module of the working directory is not imported by accident."""


_MEMORY: Final = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "131072",
}
"""So that glibc gives arrays back to the system when they are freed. By default it raises these
limits to the largest array that was ever freed, and keeps a heap for each thread."""


def environment() -> Mapping[str, str]:
    """The environment of such a process: it imports from where this one does."""
    imports = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return {**_MEMORY, **os.environ, **imports}


def begin_beside_server() -> None:
    """Called first in such a process: its priority, and the signals that it ignores.

    A terminal or systemd sends signals to end to all processes at once; this one ends when the
    server does.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(NICENESS)


def begin_job() -> tuple[bytes, IO[bytes]]:
    """Called first in a process that does one job: it ends when the server does.

    Returns:
        The job, a line of input, and where to say how far it is. Whatever else is printed goes to
        the error output.
    """
    begin_beside_server()
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    job = sys.stdin.buffer.readline()
    threading.Thread(target=_end_with_server, daemon=True).start()
    return job, output


def _end_with_server() -> NoReturn:
    sys.stdin.buffer.read()  # until the server has ended
    os._exit(1)


def limit_memory(limit: int) -> None:
    """Makes an allocation fail, and so only the question that wants it, beyond a limit.

    Args:
        limit: bytes.
    """
    with suppress(ValueError, OSError):  # a lower limit is in force already
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
