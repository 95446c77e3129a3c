"""Work beside the server: processes of a lower priority, which end with their parent."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
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


class ChildRun:
    """A process that does one job. It ends when the server does: its input stays open until then.

    Args:
        command: starts it.
        job: its first line of input, without the end of the line.
        on_line: called with each line that it prints, in a thread; returns False to read no more.

    Raises:
        OSError: if it cannot be started.
    """

    def __init__(
        self, command: Sequence[str], job: bytes, on_line: Callable[[bytes], bool]
    ) -> None:
        self._on_line = on_line
        self._popen = subprocess.Popen(  # noqa: S603  this program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"OMP_NUM_THREADS": "1", **environment()},
        )
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self._popen.stdout,), daemon=True)
        self._reader.start()
        # On a pipe, as others could read a password in arguments.
        with suppress(OSError):  # it has ended already
            self._popen.stdin.write(job + b"\n")
            self._popen.stdin.flush()

    def _read(self, lines: IO[bytes]) -> None:
        for line in lines:
            if not self._on_line(line):
                return

    def has_ended(self, seconds: float) -> bool:
        """Waits for the end of the process, at most for some time."""
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self) -> None:
        """Ends the process; all that it has said was read then."""
        self._popen.kill()
        self._popen.wait()
        self._reader.join()
        for pipe in (self._popen.stdin, self._popen.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()

    @property
    def how_it_ended(self) -> str:
        """Such as "was killed by signal 9"."""
        status = self._popen.returncode
        return f"was killed by signal {-status}" if status < 0 else f"ended with {status}"
