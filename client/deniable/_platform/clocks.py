"""A clock that nobody sets and that goes on while the machine sleeps: Linux has one."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable


def clock_counting_sleep() -> Callable[[], float] | None:
    """Seconds since the machine was started, sleep included; None where that cannot be had.

    Of macOS and Windows the documents promise no such clock in Python.
    """
    if sys.platform != "linux":
        return None
    try:
        time.clock_gettime(time.CLOCK_BOOTTIME)
    except (AttributeError, OSError):  # an old kernel, or a sandbox forbids it
        return None
    return _boot_time


def _boot_time() -> float:
    if sys.platform != "linux":
        raise NotImplementedError
    return time.clock_gettime(time.CLOCK_BOOTTIME)
