"""The thread that folds and maintains while the server runs."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from deniable_aggregator.store import StoreUnavailableError

if TYPE_CHECKING:
    from deniable_aggregator.operations.fold import InboxFold
    from deniable_aggregator.operations.maintenance import Maintenance


log = logging.getLogger("deniable_aggregator")

MAX_BUSY_SHARE: Final = 0.25
"""The thread is busy for at most this share of the time: adding a few reports to a large tally is
dear, so they wait until there are more."""

FOLD_LIMIT_SECONDS: Final = 5.0
"""After so long in one fold the thread goes on to maintenance."""

LOOK_SECONDS: Final = 10.0
"""The thread looks so often whether there is something to do."""


class BackgroundWorker:
    """A thread that folds the inbox and maintains the store while the server runs.

    Args:
        maintenance: what the store needs besides.
        look_seconds: how often to look whether there is something to do.
    """

    def __init__(
        self, inbox_fold: InboxFold, maintenance: Maintenance, *, look_seconds: float = LOOK_SECONDS
    ) -> None:
        self._inbox_fold = inbox_fold
        self._maintenance = maintenance
        self._pause = look_seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="deniable-fold", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread after the batch and the task that it is working on."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        pause = self._pause
        while not self._stop.wait(pause):
            start = time.monotonic()
            self._fold()
            # Maintenance runs also if the fold failed: days must be closed.
            with suppress(Exception):  # maintenance has logged what failed
                self._maintenance.run(self._stop.is_set)
            pause = max(self._pause, (time.monotonic() - start) / MAX_BUSY_SHARE)

    def _fold(self) -> None:
        try:
            if self._inbox_fold.is_worth_it():
                self._inbox_fold.fold(seconds=FOLD_LIMIT_SECONDS)
        except Exception as error:  # noqa: BLE001  this thread must outlive every failure
            self._inbox_fold.failures += 1
            reason = error if isinstance(error, StoreUnavailableError) else type(error).__name__
            log.error("counting reports failed and will be tried again: %s", reason)
