"""Group commit: many uploads wait for one sync of the disk."""

from __future__ import annotations

import logging
import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from deniable_aggregator.store import Outcome, Store, StoreUnavailableError

if TYPE_CHECKING:
    from deniable_shared.wire import Upload

GROUP_UPLOADS: Final = 1_000
GROUP_BYTES: Final = 16 << 20
UPLOAD_OVERHEAD_BYTES: Final = 1_024
"""What an upload takes in memory beside its payload, roughly; it bounds their number too."""

CLOSE_SECONDS: Final = 5.0

log = logging.getLogger("deniable_aggregator")


class OverloadedError(Exception):
    """The queue is full, or the disk did not answer in time. Sending again is always safe."""


class _Waiting:
    """An upload on its way to the disk.

    The lock is held until the outcome is known: the cheapest way to wait for another thread.
    """

    __slots__ = ("abandoned", "done", "outcome", "size", "upload")

    def __init__(self, upload: Upload, size: int) -> None:
        self.upload = upload
        self.size = size
        self.outcome: Outcome | None = None
        self.abandoned = False
        self.done = threading.Lock()
        self.done.acquire()


class Writer:
    """One thread that commits whatever has come together while the last commit ran.

    Args:
        store: where uploads go.
        queue_bytes: uploads that may wait, in bytes.
        queue_seconds: how long one may wait.
    """

    def __init__(self, store: Store, *, queue_bytes: int, queue_seconds: float) -> None:
        self._store = store
        self._limit = queue_bytes
        self._seconds = queue_seconds
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._size = 0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="deniable-writer", daemon=True)
        self._thread.start()

    def write(self, upload: Upload) -> Outcome:
        """Hands an upload over and waits until it is durable.

        Raises:
            OverloadedError: if the queue is full, or nothing was heard in time. In the second case
                the upload may still be stored; sent again, it is a duplicate.
            StoreUnavailableError: if the store failed; nothing was stored.
        """
        size = UPLOAD_OVERHEAD_BYTES + sum(len(part.payload) for part in upload.parts)
        with self._lock:
            if self._closed:
                raise StoreUnavailableError("the server is shutting down")
            if self._size + size > self._limit:
                raise OverloadedError
            self._size += size
            waiting = _Waiting(upload, size)
            self._queue.put(waiting)
        if not waiting.done.acquire(timeout=self._seconds):
            waiting.abandoned = True
            raise OverloadedError
        if waiting.outcome is None:
            raise StoreUnavailableError("the commit failed")
        return waiting.outcome

    def close(self) -> None:
        """Commits what is waiting and ends the thread."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        open_ = True
        while open_:
            first = self._queue.get()
            if first is None:
                return
            group, open_ = self._gather(first)
            self._commit([waiting for waiting in group if not waiting.abandoned])
            with self._lock:
                self._size -= sum(waiting.size for waiting in group)
            for waiting in group:
                waiting.done.release()

    def _gather(self, first: _Waiting) -> tuple[list[_Waiting], bool]:
        """Everything that waits, within the bounds of a group; False at the end of the queue."""
        group = [first]
        size = first.size
        while len(group) < GROUP_UPLOADS and size < GROUP_BYTES:
            try:
                waiting = self._queue.get_nowait()
            except Empty:
                break
            if waiting is None:
                return group, False
            group.append(waiting)
            size += waiting.size
        return group, True

    def _commit(self, group: list[_Waiting]) -> None:
        if not group:
            return
        try:
            outcomes = self._store.inbox.append([waiting.upload for waiting in group])
        except StoreUnavailableError as error:
            log.error("a group of %d uploads was not stored: %s", len(group), error)
            return
        except Exception as error:  # noqa: BLE001  this thread must outlive every failure
            log.error("a group of %d uploads failed: %s", len(group), type(error).__name__)
            return
        for waiting, outcome in zip(group, outcomes, strict=True):
            waiting.outcome = outcome
