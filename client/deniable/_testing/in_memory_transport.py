"""A transport for tests, which answers uploads as the aggregator would."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from deniable._transport.http import Response
from deniable_shared import wire

if TYPE_CHECKING:
    from deniable_shared.wire import Part


class InMemoryTransport:
    """Collects uploads instead of sending them. Safe for threads.

    ::

        transport = InMemoryTransport()
        client = deniable.Client(
            "metrics.toml", directory=tmp_path / "device", transport=transport, consent=True
        )
        client.record("theme", "dark")
        client.flush()
        assert len(transport.reports) == 1

    It acknowledges every upload, unless `answer`, `fail` or `hang` was called; the latest call
    applies. After a fork, parent and child have an object each, and collect what they send.

    Attributes:
        bodies: the body of every attempt to send an upload, in order.
        closings: how often the client has called `close`, having nothing more to send for now.
    """

    sealed = True
    """Nothing leaves, so clients of a registry with a relay may use it, too."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.closings = 0
        self._acknowledged: dict[bytes, tuple[Part, ...]] = {}
        self._answer: Response | Exception = Response(wire.ACCEPTED)
        self._free = threading.Event()
        self._free.set()
        self._lock = threading.Lock()

    @property
    def reports(self) -> list[Part]:
        """The acknowledged reports, each once, however often it was sent.

        A report has its spec's ``digest``, its ``epoch`` (UTC day, in days since 1970-01-01) and
        its ``payload``, the randomized answer.
        """
        with self._lock:
            return [part for parts in self._acknowledged.values() for part in parts]

    def answer(self, status: int, retry_after_seconds: float | None = None) -> None:
        """Answers every upload from now on with this status; 204 acknowledges."""
        self._set(Response(status, retry_after_seconds))

    def fail(self, error: Exception | None = None) -> None:
        """Raises this error for every upload from now on; ConnectionRefusedError if it is None."""
        self._set(error or ConnectionRefusedError("the transport was told to fail"))

    def hang(self) -> None:
        """Makes every upload wait until `release` is called or its timeout ends."""
        self._free.clear()

    def release(self) -> None:
        """Ends `hang`; waiting uploads get the answer that was set before."""
        self._free.set()

    def send(self, body: bytes, timeout_seconds: float) -> Response:
        """Takes an upload.

        Raises:
            TimeoutError: after `hang`, if it is not released in time.
            Exception: the error that was passed to `fail`.
            WireError: if the body is not an upload.
        """
        with self._lock:
            self.bodies.append(body)
        if not self._free.wait(timeout_seconds):
            raise TimeoutError("timed out")
        with self._lock:
            answer = self._answer
            if isinstance(answer, Exception):
                raise answer
            if answer.status == wire.ACCEPTED:
                upload = wire.decode(body)
                self._acknowledged.setdefault(upload.id, upload.parts)
            return answer

    def close(self) -> None:
        """Counts the call."""
        with self._lock:
            self.closings += 1

    def __repr__(self) -> str:
        with self._lock:
            return f"InMemoryTransport({len(self._acknowledged)} uploads acknowledged, for tests)"

    def _set(self, answer: Response | Exception) -> None:
        with self._lock:
            self._answer = answer
        self._free.set()
