"""Looking at what may not answer, without waiting for it longer than a moment."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


class ProbeTimeoutError(Exception):
    """The look that is under way has not ended.

    Args:
        seconds: for how long it has been.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer for {seconds:,.0f} seconds")


class SharedProbe(Generic[Result]):
    """One look at a time in a thread of its own, which all who ask wait for together.

    A store that hangs so keeps one thread, however many ask, and nobody for long. The thread is a
    daemon: no process waits for it to end.

    Args:
        look: finds something out; may take for ever.
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
        """What is found now, or was a moment ago.

        Args:
            timeout_seconds: how long a look may take, since it began.
            max_age_seconds: how old a look may be.

        Raises:
            ProbeTimeoutError: if it takes longer.
            Exception: what the look has raised.
        """
        with self._lock:
            now = self._monotonic()
            answer, began = self._future, self._started
            if answer is None or (answer.done() and now - began >= max_age_seconds):
                answer, began = Future(), now
                self._start(answer)
                self._future, self._started = answer, began
        try:
            return answer.result(max(0.0, began + timeout_seconds - now))
        except TimeoutError:
            raise ProbeTimeoutError(self._monotonic() - began) from None

    def _start(self, answer: Future[Result]) -> None:
        def find() -> None:
            try:
                answer.set_result(self._check())
            except BaseException as error:  # noqa: BLE001  it is for whoever asks
                answer.set_exception(error)

        threading.Thread(target=find, name=self._name, daemon=True).start()
