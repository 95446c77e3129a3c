"""The thread that folds and maintains while the server runs."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from deniable_aggregator.store import StoreUnavailableError

if TYPE_CHECKING:
    from deniable_aggregator.operations.fold import Folder
    from deniable_aggregator.operations.maintenance import Upkeep


log = logging.getLogger("deniable_aggregator")

BUSY_SHARE: Final = 0.25
"""In the background at most this share of the time goes into folding: a large tally for a few
reports costs more than letting them wait."""


BACKGROUND_SECONDS: Final = 5.0


class Background:
    """A thread that folds, and looks after the store, as long as the server runs.

    Args:
        folder: what folds.
        upkeep: what else is to be done.
        fold_seconds: the pause between two folds, at least.
    """

    def __init__(self, folder: Folder, upkeep: Upkeep, *, fold_seconds: float) -> None:
        self._folder = folder
        self._upkeep = upkeep
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
                self._upkeep.tend(self._stop.is_set)
            pause = max(self._pause, (time.monotonic() - start) / BUSY_SHARE)

    def _fold(self) -> None:
        try:
            self._folder.fold(seconds=BACKGROUND_SECONDS)
        except Exception as error:  # noqa: BLE001  this thread must outlive every failure
            self._folder.failed += 1
            told = error if isinstance(error, StoreUnavailableError) else type(error).__name__
            log.error("folding will be tried again: %s", told)
