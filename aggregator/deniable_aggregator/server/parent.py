"""Ending with the process that started this one."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import signal

POLL_SECONDS: Final = 0.25


def end_with_parent(parent: int, how: signal.Signals) -> None:
    """Sends this process a signal once another process is no longer its parent.

    Args:
        parent: the id of the process that started this one.
        how: the signal.
    """
    watch = threading.Thread(target=_watch, args=(parent, how), name="deniable-parent", daemon=True)
    watch.start()


def _watch(parent: int, how: signal.Signals) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), how)
