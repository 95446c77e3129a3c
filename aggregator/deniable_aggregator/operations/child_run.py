"""One run of a process beside the server: it gets a job, and says in lines how far it is."""

from __future__ import annotations

import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from deniable_aggregator.operations.child_process import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import IO


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
