"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


LONGEST_PAUSE = 0.1
"""At most 600 questions a minute: half of what a server answers one key."""


def wait_until(condition: Callable[[], object], seconds: float = 120.0) -> None:
    """Returns when the condition holds; fails if it does not in a time that is ample."""
    deadline, pause = time.monotonic() + seconds, 0.005
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(pause)
        pause = min(1.25 * pause, LONGEST_PAUSE)
