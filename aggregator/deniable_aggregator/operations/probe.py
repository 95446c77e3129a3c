"""Runs a check that may block in one background thread, and waits for it with a timeout."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


class ProbeTimeoutError(Exception):
    """The check has not ended in time.

    Args:
        seconds: how long it has been running.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer for {seconds:,.0f} seconds")


class SharedProbe(Generic[Result]):
    """Runs at most one check at a time, whose result all callers share.

    A store that hangs holds one thread, however many callers there are, and no caller for long. The
    thread is a daemon, so the process can end while the check hangs.

    Args:
        check: the check; may take for ever.
        name: of the thread.
        monotonic: a clock in seconds.
    """

    def __init__(
        self,
        check: Callable[[], Result],
        name: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._check = check
        self._name = name
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._future: Future[Result] | None = None
        self._started = 0.0

    def result(self, *, timeout_seconds: float, max_age_seconds: float = 0.0) -> Result:
        """The result of the check that runs, or of one that is recent enough.

        Args:
            timeout_seconds: how long the check may take, from its start.
            max_age_seconds: a result whose check began so long ago is returned again.

        Raises:
            ProbeTimeoutError: if the check takes longer.
            Exception: whatever the check has raised.
        """
        with self._lock:
            now = self._monotonic()
            future, started = self._future, self._started
            if future is None or (future.done() and now - started >= max_age_seconds):
                future, started = Future(), now
                self._start(future)
                self._future, self._started = future, started
        try:
            return future.result(max(0.0, started + timeout_seconds - now))
        except TimeoutError:
            raise ProbeTimeoutError(self._monotonic() - started) from None

    def _start(self, future: Future[Result]) -> None:
        def run() -> None:
            try:
                future.set_result(self._check())
            except BaseException as error:  # noqa: BLE001  `result` raises it to the callers
                future.set_exception(error)

        threading.Thread(target=run, name=self._name, daemon=True).start()
