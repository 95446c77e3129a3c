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
"""In the background at most this share of the time goes into folding: a large tally for a few
reports costs more than letting them wait."""


FOLD_LIMIT_SECONDS: Final = 5.0


class BackgroundWorker:
    """A thread that folds, and looks after the store, as long as the server runs.

    Args:
        inbox_fold: what folds.
        maintenance: what else is to be done.
        fold_seconds: the pause between two folds, at least.
    """

    def __init__(
        self, inbox_fold: InboxFold, maintenance: Maintenance, *, fold_seconds: float
    ) -> None:
        self._inbox_fold = inbox_fold
        self._maintenance = maintenance
        self._pause = fold_seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="deniable-fold", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread; a batch that it has begun may be repeated by the next one."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        pause = self._pause
        while not self._stop.wait(pause):
            start = time.monotonic()
            self._fold()
            # Days must be closed even where something cannot be counted.
            with suppress(Exception):  # it has said what failed
                self._maintenance.run(self._stop.is_set)
            pause = max(self._pause, (time.monotonic() - start) / MAX_BUSY_SHARE)

    def _fold(self) -> None:
        try:
            self._inbox_fold.fold(seconds=FOLD_LIMIT_SECONDS)
        except Exception as error:  # noqa: BLE001  this thread must outlive every failure
            self._inbox_fold.failures += 1
            told = error if isinstance(error, StoreUnavailableError) else type(error).__name__
            log.error("folding will be tried again: %s", told)
