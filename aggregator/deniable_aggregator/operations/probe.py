"""Looking at what may not answer, without waiting for it longer than a moment."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Found = TypeVar("Found")


class SilentError(Exception):
    """The look that is under way has not ended.

    Args:
        seconds: for how long it has been.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer for {seconds:,.0f} seconds")


class Lookout(Generic[Found]):
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
        look: Callable[[], Found],
        name: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look = look
        self._name = name
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._answer: Future[Found] | None = None
        self._began = 0.0

    def ask(self, *, patience_seconds: float, fresh_seconds: float = 0.0) -> Found:
        """What is found now, or was a moment ago.

        Args:
            patience_seconds: how long a look may take, since it began.
            fresh_seconds: how old a look may be.

        Raises:
            SilentError: if it takes longer.
            Exception: what the look has raised.
        """
        with self._lock:
            now = self._monotonic()
            answer, began = self._answer, self._began
            if answer is None or (answer.done() and now - began >= fresh_seconds):
                answer, began = Future(), now
                self._begin(answer)
                self._answer, self._began = answer, began
        try:
            return answer.result(max(0.0, began + patience_seconds - now))
        except TimeoutError:
            raise SilentError(self._monotonic() - began) from None

    def _begin(self, answer: Future[Found]) -> None:
        def find() -> None:
            try:
                answer.set_result(self._look())
            except BaseException as error:  # noqa: BLE001  it is for whoever asks
                answer.set_exception(error)

        threading.Thread(target=find, name=self._name, daemon=True).start()
