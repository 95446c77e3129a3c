"""Whether a process runs, and what is called when one forks."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

if sys.platform == "win32":
    _QUERY: Final = 0x1000  # PROCESS_QUERY_LIMITED_INFORMATION
    _SYNCHRONIZE: Final = 0x0010_0000
    _NO_SUCH_PROCESS: Final = 87  # ERROR_INVALID_PARAMETER
    _STILL_RUNS: Final = 258  # WAIT_TIMEOUT

    def is_running(process: int) -> bool:
        """As below, by a handle of the process: `os.kill` would end it."""
        import ctypes

        if not 0 < process < 1 << 32:
            return True
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.OpenProcess.restype = ctypes.c_void_p
        handle = kernel.OpenProcess(_QUERY | _SYNCHRONIZE, 0, ctypes.c_uint32(process))
        if handle is None:
            return ctypes.get_last_error() != _NO_SUCH_PROCESS
        try:
            return int(kernel.WaitForSingleObject(ctypes.c_void_p(handle), 0)) == _STILL_RUNS
        finally:
            kernel.CloseHandle(ctypes.c_void_p(handle))

    def call_at_fork(**functions: Callable[[], object]) -> None:
        """Does nothing: no process forks."""

else:

    def is_running(process: int) -> bool:
        """Whether there is a process with this number, as far as can be known.

        Everywhere, processes of other containers are not seen, and numbers are used again.

        Returns:
            True if it runs, or nobody can tell.
        """
        try:
            os.kill(process, 0)  # sends no signal
        except ProcessLookupError:
            return False
        except (OSError, OverflowError):
            pass  # a process of another user; or a number that no process can have
        return True

    def call_at_fork(**functions: Callable[[], object]) -> None:
        """Has functions called before Python forks and after it.

        Args:
            functions: ``before``, ``after_in_parent`` and ``after_in_child``.
        """
        if hasattr(os, "register_at_fork"):  # iOS has none either
            os.register_at_fork(**functions)
